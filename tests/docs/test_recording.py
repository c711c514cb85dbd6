"""The moving picture: two recordings of the same run are the same file, and its commands are real."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from scripts.record_tour import COMMAND, PICTURE, SCRIPT, Line, Run, commands_in, draw, timed
from tests.docs.pages import words_of
from tests.docs.test_examples import understood

pytestmark = pytest.mark.feature("I4")

STEPS: list[tuple[str, str, list[tuple[Run, ...]]]] = [
    ("remark", "# A <remark> & more", []),
    (COMMAND, "wellkept recall x", [(Run(0, "one", "#fff"), Run(4, "<two>", "#abc", bold=True))]),
]


def test_the_picture_shows_the_script_and_only_commands_that_are_understood() -> None:
    shown = commands_in(PICTURE.read_text("utf-8"))
    assert shown == [text for kind, text in SCRIPT if kind == COMMAND]
    for line in shown:
        understood(words_of(line))


def test_the_picture_is_small_well_formed_and_fetches_nothing() -> None:
    text = PICTURE.read_text("utf-8")
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(text) < 60_000
    assert "<script" not in text
    assert text.count("http") == 1, "the name of the format, and no address"
    assert "prefers-reduced-motion" in text


def test_drawing_is_the_same_each_time_and_escapes_what_was_printed() -> None:
    lines, total_s = timed(STEPS)
    picture = draw(lines, total_s)
    assert picture == draw(*timed(STEPS))
    ElementTree.fromstring(picture)
    assert "&lt;two&gt;" in picture
    assert commands_in(picture) == ["wellkept recall x"]


def test_every_line_appears_after_the_one_before_and_before_the_end() -> None:
    lines, total_s = timed(STEPS * 3)
    moments = [line.at_s for line in lines]
    assert moments == sorted(moments)
    assert moments[-1] < total_s
    assert Line((), 0.0).typing_s == 0.0
