"""Right and wrong answers to each exercise. Every wrong one says what its message must hold.

A bank holds RIGHT (name -> code), WRONG (name -> (how, words)) where `how` is a list of edits (find, put) of
one plain answer, or code of its own; UNNAMED, the wrong answers whose message only says where the difference is.
"""


def edited(plain: str, how: str | list[tuple[str, str]]) -> str:
    """The plain answer with the edits made, each of which must find its text."""
    if isinstance(how, str):
        return how
    for find, put in how:
        if find not in plain:
            raise LookupError(f"{find!r} is not in the plain answer")
        plain = plain.replace(find, put)
    return plain
