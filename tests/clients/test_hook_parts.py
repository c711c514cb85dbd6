"""The parts of an answer: questions, what was shown, and the measures that make it fast."""

from __future__ import annotations

import dataclasses
import marshal
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.clients import bundle, light_dataclasses
from holdfast.clients.lazy_patterns import LazyPattern
from holdfast.clients.question import MAX_QUERY_CHARS, question_of
from holdfast.clients.shown import ShownBook
from holdfast.core.events import (
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    SubagentStarted,
    ToolCalled,
    ToolKind,
)

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
            (SubagentStarted(origin=ORIGIN, agent_type="x"), "session", "", ()),
            (PromptSubmitted(origin=ORIGIN, text=" why? "), "prompt", "why?", ()),
            (tool(ToolKind.READ, files=("a.py",)), "file", "", ("a.py",)),
            (tool(ToolKind.EDIT, files=("a.py", "b.py")), "file", "", ("a.py", "b.py")),
            (tool(ToolKind.SHELL, command="make", error="no"), "prompt", "make\nno", ()),
        ],
    )
    def test_an_event_asks_for_its_moment(
        self, event: Event, moment: str, query: str, files: tuple[str, ...]
    ) -> None:
        asked = question_of(event)
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
        ],
    )
    def test_other_events_ask_nothing(self, event: Event) -> None:
        assert question_of(event) is None

    def test_the_end_of_a_long_output_is_asked_about(self) -> None:
        output = "x" * 50_000 + "Connection refused"
        asked = question_of(tool(ToolKind.SHELL, error="Exit code 1", output=output))
        assert asked is not None
        assert asked.query.endswith("Connection refused")
        assert len(asked.query) <= MAX_QUERY_CHARS

    @pytest.mark.parametrize(
        ("source", "fresh"),
        [("startup", True), ("clear", True), ("compact", True), ("resume", False), ("fork", False)],
    )
    def test_a_session_that_forgot_starts_afresh(self, source: str, fresh: bool) -> None:
        asked = question_of(SessionStarted(origin=ORIGIN, source=source))
        assert asked is not None
        assert asked.fresh is fresh

    def test_a_sub_agent_has_a_session_of_its_own(self) -> None:
        origin = dataclasses.replace(ORIGIN, agent="a-1")
        asked = question_of(SubagentStarted(origin=origin, agent_type="x"))
        assert asked is not None
        assert asked.session == "s/a-1"


class TestShown:
    def test_what_was_shown_is_known_to_every_process(self, tmp_path: Path) -> None:
        ShownBook(tmp_path).add("c", "s", ["1", "2"])
        ShownBook(tmp_path).add("c", "s", ["3"])
        assert ShownBook(tmp_path).ids("c", "s") == {"1", "2", "3"}
        assert ShownBook(tmp_path).ids("c", "other") == frozenset()

    def test_a_session_that_starts_over_has_shown_nothing(self, tmp_path: Path) -> None:
        book = ShownBook(tmp_path)
        book.add("c", "s", ["1"])
        book.forget("c", "s")
        book.forget("c", "s")
        assert book.ids("c", "s") == frozenset()

    def test_a_folder_that_cannot_be_used_is_passed_over(self, tmp_path: Path) -> None:
        place = tmp_path / "file"
        place.write_text("in the way")
        book = ShownBook(place)
        book.add("c", "s", ["1"])
        book.forget("c", "s")
        assert book.ids("c", "s") == frozenset()


# -- Records without the standard module ----------------------------------------------------------


def both_kinds() -> list[tuple[ModuleType, type[Any]]]:
    """The same record made by the standard module and by the light one."""
    made: list[tuple[ModuleType, type[Any]]] = []
    for module in (dataclasses, light_dataclasses):

        @module.dataclass(frozen=True, slots=module is dataclasses)
        class Thing:
            limit: ClassVar[int] = 3
            name: str
            size: int = 1
            tags: tuple[str, ...] = module.field(default=())
            seen: list[int] = module.field(default_factory=list[int], compare=False)
            note: str = module.field(default="", kw_only=True)

        made.append((module, Thing))
    return made


class TestLightRecords:
    @pytest.mark.parametrize(("module", "thing"), both_kinds(), ids=["standard", "light"])
    def test_records_are_made_compared_and_replaced_alike(
        self, module: Any, thing: type[Any]
    ) -> None:
        one = thing("a", 2, note="n")
        assert (one.name, one.size, one.tags, one.seen, one.note) == ("a", 2, (), [], "n")
        assert one == thing(name="a", size=2, seen=[7], note="n")
        assert hash(one) == hash(thing("a", 2, note="n"))
        assert one != thing("b", 2, note="n")
        assert one != "a"
        assert module.replace(one, size=5) == thing("a", 5, note="n")
        assert [f.name for f in module.fields(one)] == ["name", "size", "tags", "seen", "note"]
        assert thing.__match_args__ == ("name", "size", "tags", "seen")
        assert module.is_dataclass(thing)
        assert not module.is_dataclass(5)
        assert thing("a").seen is not thing("a").seen

    @pytest.mark.parametrize(("module", "thing"), both_kinds(), ids=["standard", "light"])
    @pytest.mark.parametrize(
        ("values", "named"),
        [((), {}), (("a", 1, (), None, "n"), {}), (("a",), {"nope": 1})],
        ids=["missing", "too many", "unknown"],
    )
    def test_wrong_arguments_are_refused_alike(
        self, module: Any, thing: type[Any], values: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        with pytest.raises(TypeError):
            thing(*values, **named)

    def test_a_record_can_check_itself_and_inherit(self) -> None:
        @light_dataclasses.dataclass(kw_only=True)
        class Base:
            left: int

            def __post_init__(self) -> None:
                if self.left < 0:
                    raise ValueError

        @light_dataclasses.dataclass
        class Derived(Base):
            right: int = 2

        made: Any = Derived
        assert (made(left=1).left, made(5, left=1).right) == (1, 5)
        with pytest.raises(ValueError):  # noqa: PT011
            made(left=-1)

    def test_every_record_of_the_core_is_made_alike_by_both(self) -> None:
        script = (
            "import sys\n"
            "from holdfast.clients import light_dataclasses\n"
            "if sys.argv[1] == 'light': light_dataclasses.install()\n"
            "from dataclasses import fields, is_dataclass\n"
            "import holdfast.core.memory, holdfast.core.query, holdfast.core.ports\n"
            "import holdfast.core.events, holdfast.memory.context, holdfast.memory.recall\n"
            "import holdfast.store.sqlite.store, holdfast.app.settings\n"
            "for name, module in sorted(sys.modules.items()):\n"
            "    if not name.startswith('holdfast.') or 'light' in name: continue\n"
            "    for key, value in sorted(vars(module).items()):\n"
            "        if isinstance(value, type) and is_dataclass(value):\n"
            "            known = [(f.name, f.kw_only, f.compare) for f in fields(value)]\n"
            "            print(name, key, known, value.__match_args__)\n"
        )
        out = [
            subprocess.run(
                [sys.executable, "-c", script, kind], capture_output=True, text=True, check=True
            ).stdout
            for kind in ("standard", "light")
        ]
        assert out[0] == out[1]
        assert out[0].count("\n") > 60


class TestLazyPatterns:
    @given(st.text(max_size=50))
    def test_a_lazy_pattern_does_what_the_pattern_does(self, text: str) -> None:
        lazy: Any = LazyPattern(r"[a-z]+|\d", re.IGNORECASE)
        real = re.compile(r"[a-z]+|\d", re.IGNORECASE)
        assert lazy.findall(text) == real.findall(text)
        assert lazy.sub("-", text) == real.sub("-", text)
        assert (lazy.search(text) is None) == (real.search(text) is None)
        assert (lazy.pattern, lazy.flags) == (real.pattern, real.flags)


class TestLightModules:
    def test_the_stand_ins_do_what_the_modules_do(self) -> None:
        script = (
            "import sys\n"
            "from holdfast.clients import light_modules\n"
            "light_modules.install()\n"
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
        "from holdfast.clients import bundle\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "made = bundle.install(sys.argv[1])\n"
        "import mine\n"
        "print(mine.VALUE, mine.__file__, type(mine.__spec__.loader).__name__)\n"
        "bundle.refresh(sys.argv[1], made)\n"
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
            bundle.FILE_NAME,
            "mine.py",
        ]

    @pytest.mark.parametrize("entry", [("x",), 5, ("/nowhere.py", 1, 1, False, b""), None])
    def test_an_entry_that_makes_no_sense_is_passed_over(
        self, tmp_path: Path, entry: object
    ) -> None:
        source = tmp_path / "mine.py"
        source.write_text("VALUE = 1\n")
        self.run(tmp_path, tmp_path)
        path = tmp_path / bundle.FILE_NAME
        key, entries = marshal.loads(path.read_bytes())
        damaged: Any = (key, dict.fromkeys(entries, entry))
        path.write_bytes(marshal.dumps(damaged))
        assert self.run(tmp_path, tmp_path) == ["1", str(source), "SourceFileLoader"]
        assert self.run(tmp_path, tmp_path) == ["1", str(source), "Bundle"]

    def test_code_that_is_cut_short_is_passed_over(self, tmp_path: Path) -> None:
        source = tmp_path / "mine.py"
        source.write_text("VALUE = 1\n")
        self.run(tmp_path, tmp_path)
        path = tmp_path / bundle.FILE_NAME
        key, entries = marshal.loads(path.read_bytes())
        damaged: Any = (key, {name: (*e[:4], e[4][:20]) for name, e in entries.items()})
        path.write_bytes(marshal.dumps(damaged))
        assert self.run(tmp_path, tmp_path) == ["1", str(source), "SourceFileLoader"]

    def test_what_a_killed_process_left_is_cleared_after_a_while(self, tmp_path: Path) -> None:
        (tmp_path / "mine.py").write_text("VALUE = 1\n")
        left = tmp_path / f"{bundle.FILE_NAME}.new"
        left.write_bytes(b"half")
        self.run(tmp_path, tmp_path)
        assert left.exists()
        os.utime(left, (1, 1))
        self.run(tmp_path, tmp_path)
        assert not left.exists()
        assert self.run(tmp_path, tmp_path)[2] == "SourceFileLoader"
        assert self.run(tmp_path, tmp_path)[2] == "Bundle"
