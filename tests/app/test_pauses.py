"""Pauses of the hooks as the library keeps them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.samples import START
from wellkept.api.pause import Pauses, parse_duration
from wellkept.core.errors import StoreError, UsageError
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("C4", "H6")


def test_a_pause_replaces_the_one_of_its_place(tmp_path: Path) -> None:
    clock = ManualClock(START)
    pauses = Pauses(tmp_path / "state", clock=clock)
    pauses.add(duration="1h")
    pauses.add(duration="2d", capture=True)
    pauses.add(folder=tmp_path)
    everywhere, here = pauses.list()
    assert (everywhere.folder, everywhere.until) == (None, START + timedelta(days=2))
    assert everywhere.capture
    assert (here.folder, here.until, here.capture) == (tmp_path.resolve(), None, False)
    clock.advance(days=3)
    assert pauses.list() == (here,)


def test_pauses_that_hold_in_a_folder(tmp_path: Path) -> None:
    pauses = Pauses(tmp_path / "state")
    pauses.add(folder=tmp_path / "a")
    assert pauses.list(folder=tmp_path / "a/b")
    assert not pauses.list(folder=tmp_path / "ab")
    pauses.add()
    assert len(pauses.list(folder=tmp_path / "a")) == 2
    assert [one.folder for one in pauses.end(folder=tmp_path / "a/b")] == [tmp_path / "a"]
    assert [one.folder for one in pauses.list()] == [None]
    assert len(pauses.end()) == 1
    assert not (tmp_path / "state" / "off").exists()
    assert pauses.end() == ()


def test_words_say_what_where_and_until_when(tmp_path: Path) -> None:
    pauses = Pauses(tmp_path, clock=ManualClock(START))
    assert pauses.add().text == "Hooks say nothing; `wellkept on` ends that."
    text = pauses.add(folder=tmp_path, duration="30m", capture=True).text
    assert text.startswith(f"Hooks say and capture nothing in {tmp_path} until 20")


@pytest.mark.parametrize("text", ["", "1", "h", "0m", "-1h", "1.5h", "1y", "99999999h", "１h x"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a duration"):
        parse_duration(text)


def test_durations() -> None:
    assert parse_duration(" 90 S") == timedelta(seconds=90)
    assert parse_duration("2w") == timedelta(weeks=2)


def test_what_cannot_be_kept_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="Cannot"):
        Pauses(tmp_path / "file" / "state").add()
    with pytest.raises(UsageError, match="no home folder"):
        Pauses(None).add()
    assert Pauses(None).list() == ()
    with pytest.raises(UsageError, match="line break"):
        Pauses(tmp_path).add(folder=tmp_path / "a\nb")
