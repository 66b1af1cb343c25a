"""Frames of plain data between the judge and a sandbox: a JSON tree, then the arrays' raw bytes.

No pickle, no code, bounded sizes. Both sides import this file, so it needs nothing but NumPy.
An object of another kind crosses as its type's name alone, and a function that the judge passes
crosses as a number by which the sandbox calls it back.
"""

import json
import re
import struct

import numpy as np

LARGEST_TREE, LARGEST_BODY = 1 << 20, 16 << 20  # bytes
DEEPEST = 20
DTYPES = {"<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1"}
DTYPES |= {"<c16", "<c8"}


class BadFrame(Exception):
    """What came is no frame of plain data, or is too large."""


def send(sock, message: dict, value=None, callables: list | None = None) -> None:
    """Send `message` (JSON) with `value`; functions inside `value` are appended to `callables`."""
    buffers: list[bytes] = []
    tree = json.dumps(message | {"value": encode(value, buffers, callables)}).encode()
    body = b"".join(buffers)
    if len(tree) > LARGEST_TREE or len(body) > LARGEST_BODY:
        raise BadFrame("more than 16 MiB in one value")
    sock.sendall(struct.pack("<II", len(tree), len(body)) + tree + body)


def receive(sock, make_callable=None) -> tuple[dict, object]:
    """The next (message, value); EOFError at the end, BadFrame for anything but plain data."""
    tree_size, body_size = struct.unpack("<II", read(sock, 8))
    if tree_size > LARGEST_TREE or body_size > LARGEST_BODY:
        raise BadFrame("more than 16 MiB in one value")
    tree, body = read(sock, tree_size), read(sock, body_size)
    try:
        message = json.loads(tree)
        return message, Decoder(body, make_callable).decode(message.pop("value"))
    except BadFrame:
        raise
    except Exception as error:  # whatever a forged tree provokes
        raise BadFrame(f"no plain data ({type(error).__name__})") from None


def read(sock, size: int) -> bytes:
    out = bytearray()
    while len(out) < size:
        piece = sock.recv(min(size - len(out), 1 << 20))
        if not piece:
            raise EOFError
        out += piece
    return bytes(out)


def encode(value, buffers: list[bytes], callables: list | None = None, depth: int = 0):
    """A JSON tree; arrays leave their bytes in `buffers`."""
    if depth > DEEPEST:
        raise BadFrame("lists within lists, more than 20 deep")
    if value is None or type(value) in (bool, int, float, str):
        return value

    def inner(v):
        return encode(v, buffers, callables, depth + 1)

    if isinstance(value, (np.ndarray, np.generic)) and little(value.dtype) in DTYPES:
        return encode_array(value, buffers)
    if isinstance(value, tuple):
        return {"tuple": [inner(v) for v in value]}
    if isinstance(value, list):
        return {"list": [inner(v) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[inner(k), inner(v)] for k, v in value.items()]}
    if callables is not None and callable(value):
        callables.append(value)
        return {"callable": len(callables) - 1}
    return {"object": [str(type(value).__module__)[:100], str(type(value).__name__)[:100]]}


def little(dtype) -> str:
    return dtype.newbyteorder("<").str


def encode_array(value, buffers: list[bytes]) -> dict:
    array = np.asarray(value)
    by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
    flat = np.ascontiguousarray(array.T if by_columns else array, little(array.dtype))
    buffers.append(flat.tobytes())
    kind = "scalar" if isinstance(value, np.generic) else "columns" if by_columns else "array"
    return {kind: [little(array.dtype), list(array.shape), len(buffers[-1])]}


class Decoder:
    """Decodes one tree; every size is checked before memory is taken for it."""

    def __init__(self, body: bytes, make_callable=None):
        self.body, self.at, self.make_callable = body, 0, make_callable

    def decode(self, tree):
        if tree is None or type(tree) in (bool, int, float, str):
            return tree
        ((kind, content),) = tree.items()
        if kind in ("array", "columns", "scalar"):
            return self.array(kind, *content)
        if kind == "tuple":
            return tuple(self.decode(v) for v in content)
        if kind == "list":
            return [self.decode(v) for v in content]
        if kind == "dict":
            return {self.key(k): self.decode(v) for k, v in content}
        if kind == "object":
            return stand_in(*content)
        if kind == "callable" and self.make_callable and type(content) is int:
            return self.make_callable(content)
        raise BadFrame("an unknown kind of value")

    def key(self, tree):
        if tree is not None and type(tree) not in (bool, int, float, str):
            raise BadFrame("a dictionary key that is no number or string")
        return tree

    def array(self, kind: str, dtype: str, shape: list[int], size: int):
        if dtype not in DTYPES or len(shape) > 16:
            raise BadFrame("an array of unknown kind")
        count = 1
        for length in shape:
            if type(length) is not int or not 0 <= length <= LARGEST_BODY:
                raise BadFrame("an impossible shape")
            count *= length
        if size != count * np.dtype(dtype).itemsize or self.at + size > len(self.body):
            raise BadFrame("an array shorter than its shape says")
        flat = np.frombuffer(self.body, dtype, count, self.at).copy()
        self.at += size
        if kind == "scalar":
            return flat.reshape(())[()]
        return flat.reshape(shape[::-1]).T if kind == "columns" else flat.reshape(shape)


def stand_in(module: str, name: str):
    """An inert object whose type is named like the one that could not cross."""
    if not re.fullmatch(r"[\w.]{1,100}", module) or not re.fullmatch(r"\w{1,100}", name):
        module, name = "unknown", "object"
    return type(name, (), {"__module__": module})()


# ---- arguments that were changed in place --------------------------------------------------


def copies(arguments) -> list:
    """A copy of each array argument, None for the others: what `changes` compares with."""
    return [a.copy() if isinstance(a, np.ndarray) else None for a in arguments]


def changes(arguments, before) -> list:
    """Each array argument that differs from its copy, None for the others."""
    return [
        None if b is None or np.array_equal(a, b, equal_nan=True) else a
        for a, b in zip(arguments, before, strict=True)
    ]


def carry_back(arguments, changed) -> None:
    """Write what the other side made of the arguments into them, where it is an array that fits."""
    for old, new in zip(arguments, changed, strict=False):
        if isinstance(new, np.ndarray) and isinstance(old, np.ndarray) and new.shape == old.shape:
            old[...] = new
