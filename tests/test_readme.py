"""README's first screen runs."""

import re

from .conftest import ROOT

README = (ROOT / "README.md").read_text()


def test_the_first_example_runs_and_its_two_numbers_agree(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    exec(compile(code, "README.md", "exec"), {})
    backprop, difference = re.findall(r"-?\d+\.\d{6}", capsys.readouterr().out)
    assert abs(float(backprop) - float(difference)) < 2e-6


def test_each_file_that_a_page_links_to_exists():
    for page in ROOT.glob("*.md"):
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            assert (ROOT / target).exists(), f"{page.name} links to {target}"


def test_each_verb_that_a_page_names_is_in_the_makefile():
    verbs = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in [*ROOT.glob("*.md"), ROOT / "autograde" / "README.md"]:
        named = set(re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.M))
        assert named <= verbs, f"{page.name} names {named - verbs}"
