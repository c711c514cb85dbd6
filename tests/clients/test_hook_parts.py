"""The parts of an answer: questions, what was shown, and the measures that make it fast."""

from __future__ import annotations

import dataclasses
import marshal
import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.clients.answers import bytecode_bundle
from wellkept.clients.answers.injection_spool import ShownItems
from wellkept.clients.answers.responder import MAX_OUTPUT_CHARS, context_request
from wellkept.core import startup
from wellkept.core.session.events import (
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    SubagentStarted,
    ToolCalled,
    ToolKind,
)
from wellkept.core.startup import LazyPattern

pytestmark = pytest.mark.feature("C4")

ORIGIN = Origin(
    event_id="e", client="codex", session_id="s", at=datetime(2026, 1, 1, tzinfo=UTC), cwd="/p"
)


def tool(kind: ToolKind, **more: Any) -> ToolCalled:
    return ToolCalled(origin=ORIGIN, call_id=None, name="t", kind=kind, **more)


class TestQuestions:
    @pytest.mark.parametrize(
        ("event", "moment", "query", "files"),
        [
            (SessionStarted(origin=ORIGIN), "session", "", ()),
            (PromptSubmitted(origin=ORIGIN, text=" why? "), "prompt", "why?", ()),
            (tool(ToolKind.READ, files=("a.py",)), "file", "", ("a.py",)),
            (tool(ToolKind.EDIT, files=("a.py", "b.py")), "file", "", ("a.py", "b.py")),
            (tool(ToolKind.SHELL, command="make", error="no"), "failure", "make", ()),
        ],
    )
    def test_an_event_asks_for_its_moment(
        self, event: Event, moment: str, query: str, files: tuple[str, ...]
    ) -> None:
        asked = context_request(event)
        assert asked is not None
        assert (asked.moment, asked.query, asked.files) == (moment, query, files)
        assert (asked.client, asked.session, asked.cwd) == ("codex", "s", "/p")

    @pytest.mark.parametrize(
        "event",
        [
            PromptSubmitted(origin=ORIGIN, text="  \n"),
            tool(ToolKind.SHELL, command="make", output="fine"),
            tool(ToolKind.READ),
            tool(ToolKind.SEARCH, files=("a.py",)),
            SessionEnded(origin=ORIGIN, reason="other"),
            SubagentStarted(origin=ORIGIN, agent_type="x"),
        ],
    )
    def test_other_events_ask_nothing(self, event: Event) -> None:
        assert context_request(event) is None

    def test_the_end_of_a_long_output_is_asked_about(self) -> None:
        output = "x" * 50_000 + "Connection refused"
        call = tool(ToolKind.SHELL, command="make", error="Exit code 1", output=output)
        asked = context_request(call)
        assert asked is not None
        assert asked.output.endswith("Connection refused")
        assert len(asked.output) <= MAX_OUTPUT_CHARS + 1

    @pytest.mark.parametrize(
        ("source", "fresh"),
        [("startup", True), ("clear", True), ("compact", True), ("resume", False), ("fork", False)],
    )
    def test_a_session_that_forgot_starts_afresh(self, source: str, fresh: bool) -> None:
        asked = context_request(SessionStarted(origin=ORIGIN, source=source))
        assert asked is not None
        assert asked.fresh is fresh

    def test_a_sub_agent_has_a_session_of_its_own(self) -> None:
        origin = dataclasses.replace(ORIGIN, agent="a-1")
        asked = context_request(PromptSubmitted(origin=origin, text="Look at a.py"))
        assert asked is not None
        assert asked.session == "s/a-1"


class TestShown:
    def test_what_was_shown_is_known_to_every_process(self, tmp_path: Path) -> None:
        ShownItems(tmp_path).add("c", "s", ["1", "2"])
        ShownItems(tmp_path).add("c", "s", ["3"])
        assert ShownItems(tmp_path).ids("c", "s") == {"1", "2", "3"}
        assert ShownItems(tmp_path).ids("c", "other") == frozenset()

    def test_a_session_that_starts_over_has_shown_nothing(self, tmp_path: Path) -> None:
        book = ShownItems(tmp_path)
        book.add("c", "s", ["1"])
        book.forget("c", "s")
        book.forget("c", "s")
        assert book.ids("c", "s") == frozenset()

    def test_a_folder_that_cannot_be_used_is_passed_over(self, tmp_path: Path) -> None:
        place = tmp_path / "file"
        place.write_text("in the way")
        book = ShownItems(place)
        book.add("c", "s", ["1"])
        book.forget("c", "s")
        assert book.ids("c", "s") == frozenset()


# -- What makes an answer start quickly -----------------------------------------------------------


class TestLazyPatterns:
    @given(st.text(max_size=50))
    def test_a_lazy_pattern_does_what_the_pattern_does(self, text: str) -> None:
        lazy: Any = LazyPattern(r"[a-z]+|\d", re.IGNORECASE)
        real = re.compile(r"[a-z]+|\d", re.IGNORECASE)
        assert lazy.findall(text) == real.findall(text)
        assert lazy.sub("-", text) == real.sub("-", text)
        assert (lazy.search(text) is None) == (real.search(text) is None)
        assert (lazy.pattern, lazy.flags) == (real.pattern, real.flags)

    @pytest.mark.parametrize("kept", [None, (), (0, [1, 2], 0, {}, (None,)), ("x",) * 5])
    def test_what_is_kept_of_a_pattern_does_the_same_and_damage_does_not_matter(
        self, kept: tuple[Any, ...] | None
    ) -> None:
        pattern, text = r"(?P<word>[a-z]+)=(?P<number>\d+)|x{2,}", "a=1 b=22 xxx"
        startup.KNOWN.pop((pattern, 0), None)
        first: Any = LazyPattern(pattern)
        found = [one.groupdict() for one in first.finditer(text)]
        assert found == [one.groupdict() for one in re.finditer(pattern, text)]
        file = marshal.loads(marshal.dumps(startup.KNOWN))
        startup.KNOWN.update(file if kept is None else {(pattern, 0): kept})
        again: Any = LazyPattern(pattern)
        assert [one.groupdict() for one in again.finditer(text)] == found
        startup.KNOWN.pop((pattern, 0), None)

    def test_patterns_of_our_modules_wait_and_what_a_function_asks_for_is_checked(self) -> None:
        script = (
            "import re\n"
            "from wellkept.core import startup\n"
            "startup.install()\n"
            "from wellkept.core import text\n"
            "print(type(re.compile('a')).__name__)\n"
            "print(sum(type(one).__name__ == 'LazyPattern' for one in vars(text).values()) > 3)\n"
            "exec('def f():\\n re.compile(chr(40))', scope := {'re': re, '__name__': 'wellkept.x'})\n"
            "try:\n scope['f']()\n"
            "except re.error:\n print('refused')\n"
        )
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["Pattern", "True", "refused"]

    def test_the_stand_ins_do_what_the_modules_do(self) -> None:
        script = (
            "import sys\n"
            "from wellkept.core import startup\n"
            "startup.install_for_one_answer()\n"
            "import datetime, pathlib, urllib.parse\n"
            "print('ipaddress' in sys.modules and len(vars(sys.modules['ipaddress'])) < 10)\n"
            "print(urllib.parse.urlsplit('http://[::1]:80/x').hostname)\n"
            "print(datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC).isoformat())\n"
            "print(pathlib.Path('/a').as_uri())\n"
        )
        command = [sys.executable, "-I", "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["True", "::1", "2026-01-02T00:00:00+00:00", "file:///a"]


class TestBundle:
    SCRIPT = (
        "import sys\n"
        "from wellkept.clients.answers import bytecode_bundle as bundle\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "made = bundle.install(sys.argv[1])\n"
        "import mine\n"
        "print(mine.VALUE, mine.__file__, type(mine.__spec__.loader).__name__)\n"
        "bundle.refresh(sys.argv[1], made, {('a', 0): (1,)})\n"
    )

    def run(self, state: Path, modules: Path) -> list[str]:
        command = [sys.executable, "-c", self.SCRIPT, str(state), str(modules)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    def test_code_is_taken_from_the_bundle_until_its_source_changes(self, tmp_path: Path) -> None:
        source = tmp_path / "mine.py"
        source.write_text("VALUE = 1\n")
        assert self.run(tmp_path, tmp_path) == ["1", str(source), "SourceFileLoader"]
        assert self.run(tmp_path, tmp_path) == ["1", str(source), "Bundle"]
        source.write_text("VALUE = 22\n")
        assert self.run(tmp_path, tmp_path) == ["22", str(source), "SourceFileLoader"]
        assert self.run(tmp_path, tmp_path) == ["22", str(source), "Bundle"]
        assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == [
            bytecode_bundle.FILE_NAME,
            "mine.py",
        ]

    @staticmethod
    def change(path: Path, change: Callable[[Any], Any]) -> None:
        """Write the bundle with other entries."""
        raw = path.read_bytes()
        start = 8 + int.from_bytes(raw[:8], "little")
        key, entries, patterns = marshal.loads(raw[8:start])
        changed = {name: change(entry) for name, entry in entries.items()}
        head = marshal.dumps((key, changed, patterns))
        path.write_bytes(len(head).to_bytes(8, "little") + head + raw[start:])

    @pytest.mark.parametrize("entry", [("x",), 5, ("/nowhere.py", 1, 1, False, 0, 0), None])
    def test_an_entry_that_makes_no_sense_is_passed_over(
        self, tmp_path: Path, entry: object
    ) -> None:
        source = tmp_path / "mine.py"
        source.write_text("VALUE = 1\n")
        self.run(tmp_path, tmp_path)
        self.change(tmp_path / bytecode_bundle.FILE_NAME, lambda _: entry)
        assert self.run(tmp_path, tmp_path) == ["1", str(source), "SourceFileLoader"]
        assert self.run(tmp_path, tmp_path) == ["1", str(source), "Bundle"]

    def test_code_that_is_cut_short_is_passed_over(self, tmp_path: Path) -> None:
        source = tmp_path / "mine.py"
        source.write_text("VALUE = 1\n")
        self.run(tmp_path, tmp_path)
        self.change(tmp_path / bytecode_bundle.FILE_NAME, lambda e: (*e[:5], 20))
        assert self.run(tmp_path, tmp_path) == ["1", str(source), "SourceFileLoader"]

    def test_what_a_killed_process_left_is_cleared_after_a_while(self, tmp_path: Path) -> None:
        (tmp_path / "mine.py").write_text("VALUE = 1\n")
        left = tmp_path / f"{bytecode_bundle.FILE_NAME}.new"
        left.write_bytes(b"half")
        self.run(tmp_path, tmp_path)
        assert left.exists()
        os.utime(left, (1, 1))
        self.run(tmp_path, tmp_path)
        assert not left.exists()
        assert self.run(tmp_path, tmp_path)[2] == "SourceFileLoader"
        assert self.run(tmp_path, tmp_path)[2] == "Bundle"
