"""Questions answered by what they ask for: commands, traps, decisions, people, places, what is left."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.app.opening import open_in
from wellkept.api import Wellkept
from wellkept.context.pages.answers import read_question

pytestmark = pytest.mark.feature("H4")
_LOCALES = Path(__file__).parents[2] / "web" / "src" / "locales"


@pytest.fixture
def wk(tmp_path: Path) -> Generator[Wellkept]:
    (tmp_path / "Makefile").write_text("test:\n\tpytest -q\nlint:\n\truff check\n")
    (tmp_path / "src" / "billing").mkdir(parents=True)
    (tmp_path / "src" / "billing" / "invoices.py").write_text(
        '"""Draft and send invoices."""\n\n\ndef draft():\n    return 1\n'
    )
    with open_in(tmp_path) as opened:
        opened.import_repository()
        for text, kind in (
            ("We keep tides for one hour because they publish hourly", "decision"),
            ("We settled on cents for all amounts", "decision"),
            ("The tide service answers 429 after ten requests", "gotcha"),
            ("Always round half up", "convention"),
        ):
            opened.remember(text, type=kind, said_by_person=True)
        yield opened


@pytest.mark.parametrize("locale", sorted(path.stem for path in _LOCALES.glob("*.json")))
def test_every_question_that_the_page_suggests_is_answered(wk: Wellkept, locale: str) -> None:
    chat = json.loads((_LOCALES / f"{locale}.json").read_text("utf-8"))["chat"]
    wanted = {"check": "`make test`", "traps": "429", "decided": "one hour"}
    assert set(chat["example"]) == set(wanted)
    for name, question in chat["example"].items():
        answer = wk.ask(question)
        assert answer.known, question
        assert wanted[name] in answer.answer
        assert answer.citations


def test_a_subject_chooses_among_the_lines(wk: Wellkept) -> None:
    answer = wk.ask("What was decided about tides?").answer
    assert "1 decision:" in answer
    assert "one hour" in answer
    assert "cents" not in answer
    both = wk.ask("What was decided lately?")
    assert both.answer.startswith("2 decisions:")
    assert {one.memory.content[:7] for one in both.citations} == {"We keep", "We sett"}
    assert not wk.ask("What was decided about the mobile app?").known


def test_a_command_is_told_by_what_it_is_for(wk: Wellkept) -> None:
    assert "`make test`" in wk.ask("How do I run the tests?").answer
    lint = wk.ask("How do I lint the code?").answer
    assert "`make lint`" in lint
    assert "make test" not in lint
    assert not wk.ask("How do I publish to the app store?").known


def test_an_empty_page_says_what_fills_it(tmp_path: Path) -> None:
    with open_in(tmp_path) as empty:
        answer = empty.ask("What goes wrong often?")
        assert not answer.known
        assert answer.answer.startswith("Nothing known about that.")
        assert "known issues" in answer.answer


def test_places_and_people_are_told_from_the_files(wk: Wellkept) -> None:
    assert "src/billing" in wk.ask("Where are invoices drafted?").answer
    assert not wk.ask("Who designed the logo?").known


@pytest.mark.parametrize(
    ("question", "kind", "subject"),
    [
        ("What is left to do?", "left", set[str]()),
        ("Why do we keep tides for an hour?", "why", {"tid", "hour", "keep"}),
        ("Was ist noch offen?", "left", set[str]()),
        ("Which rules are there about rounding?", "rules", {"round"}),
        ("Qu’est-ce qui échoue souvent ?", "traps", set[str]()),
        ("よく失敗するのは何ですか？", "traps", set[str]()),
    ],
)
def test_what_a_question_asks_for(question: str, kind: str, subject: set[str]) -> None:
    asked = read_question(question)
    assert asked is not None
    assert asked.kind == kind
    assert asked.subject == subject


def test_other_questions_are_left_to_recall(wk: Wellkept) -> None:
    assert read_question("In which unit are amounts?") is None
    assert "429" in wk.ask("the tide service answers 429").answer
