"""A newcomer in JupyterLab: reads a lesson, meets a blank exercise, answers it."""

import re

import build
from playwright.sync_api import expect

EXERCISE = next(p for p in build.EXERCISES if p.stem == "mlp_backward")


def open_notebook(page, lab, path):
    page.goto(f"{lab}/lab/tree/lessons/{path}?reset")
    expect(page.locator(".jp-Notebook")).to_be_visible()
    expect(page.get_by_text(re.compile(r"Python 3.* \| Idle"))).to_be_visible()


def run_all(page):
    page.locator(".lm-MenuBar-itemLabel", has_text="Run").first.click()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile("^Run All Cells$")).click()


def wait_until_idle(page, cells):
    """All code cells have run when the last one shows its number."""
    page.wait_for_function(
        """(count) => document.querySelectorAll('.jp-CodeCell').length >= 1 &&
           ![...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]
             .some(e => e.textContent.includes('*')) &&
           document.querySelectorAll('.jp-OutputArea-output').length >= count""",
        arg=cells,
    )


def test_a_newcomer_opens_lesson_01_and_runs_all_of_it(page, lab):
    open_notebook(page, lab, "01_chain_rule.ipynb")
    expect(page.locator("h1").first).to_contain_text("chain rule")
    run_all(page)
    wait_until_idle(page, 5)
    expect(page.get_by_text(re.compile(r"Python 3.* \| Idle"))).to_be_visible()
    assert page.locator('[data-mime-type="application/vnd.jupyter.stderr"]').count() == 0


def test_a_blank_exercise_fails_kindly_and_passes_when_answered(page, lab):
    open_notebook(page, lab, "exercises/mlp_backward.ipynb")
    run_all(page)
    error = page.locator('[data-mime-type="application/vnd.jupyter.stderr"]').first
    expect(error).to_contain_text("blank")
    expect(error).not_to_contain_text("Traceback")

    answer = next(
        build.answer_of(c.source)
        for c in build.read(EXERCISE).cells
        if c.metadata.get("solution") == "mlp_backward"
    )
    stub = page.locator(".jp-CodeCell", has_text="def mlp_backward").first
    stub.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(answer)
    run_all(page)
    expect(page.locator(".jp-OutputArea-output", has_text="✓").last).to_be_visible()
    expect(error).to_have_count(0)
