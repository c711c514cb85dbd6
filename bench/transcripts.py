"""Transcripts as Claude Code writes them, made up from a seed.

Shapes of records and the fields in them are those of recorded sessions. What tools return comes
from this repository's own files, so its text is as real programs and documents are; how often each
tool is used, and how much it returns, follows sessions of daily work: most bytes are what files and
commands returned, told twice in each record, as the client does.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

Fields: TypeAlias = Mapping[str, object]

ROOT = Path(__file__).parent.parent
FOLDER = "/home/dev/shop"
_START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
_PROMPTS = (
    "The tests of the {name} module fail since the last merge. Find out why and fix it.",
    "Add an option to {name} that limits how many rows are returned, with tests and docs.",
    "Please refactor {name}: the function is too long and hard to read. Keep the behaviour.",
    "Why does {name} read the whole file? We should stream it, because large inputs run out of"
    " memory on the build machines. Look at how the importer does it and do the same here.",
    "Review what you did in {name} and commit it with a message that says why.",
    "Let's go with the second design for {name} instead of the first, because it needs no lock.",
)
_TELLING = (
    "I'll look at {name} first, and at where it is called from.",
    "The failure comes from {name}: it takes the offset of the last line rather than of its end. I"
    " changed it to count from the end, so that a torn line is read again.",
    "Done. {name} now streams its input; the tests pass. Next steps: measure it on a large file,"
    " and remove the old reader once nothing uses it.",
)
# tool, share of calls
_TOOLS = (
    ("Read", 34), ("Bash", 22), ("Test", 7), ("Commit", 2), ("Edit", 18), ("Write", 3),
    ("Grep", 8), ("Todo", 3), ("Mcp", 2), ("Agent", 1),
)  # fmt: skip


@dataclass(slots=True)
class Mix:
    """What was made: bytes and records by kind."""

    bytes_by_kind: dict[str, int] = field(default_factory=dict[str, int])
    records_by_kind: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, kind: str, size: int) -> None:
        """Count a record."""
        self.bytes_by_kind[kind] = self.bytes_by_kind.get(kind, 0) + size
        self.records_by_kind[kind] = self.records_by_kind.get(kind, 0) + 1

    def shares(self) -> dict[str, float]:
        """The share of each kind in all bytes, largest first."""
        whole = sum(self.bytes_by_kind.values())
        ordered = sorted(self.bytes_by_kind.items(), key=lambda pair: -pair[1])
        return {kind: round(size / whole, 3) for kind, size in ordered}


def write_transcripts(folder: Path, *, megabytes: float, seed: int = 3) -> Mix:
    """Write sessions of some two megabytes each until there is enough."""
    folder.mkdir(parents=True, exist_ok=True)
    rng, mix = random.Random(seed), Mix()
    sources = _Sources.load()
    left = megabytes * 1e6
    number = 0
    while left > 0:
        number += 1
        size = min(left, rng.uniform(1.2e6, 2.8e6))
        session = _Session(rng, sources, number)
        with (folder / f"{session.id}.jsonl").open("w", encoding="utf-8") as file:
            for kind, line in session.lines(size):
                mix.add(kind, len(line.encode()))
                file.write(line)
                left -= len(line)
    return mix


@dataclass(frozen=True, slots=True)
class _Sources:
    """Text to quote: whole files of this repository."""

    files: tuple[tuple[str, str], ...]

    @classmethod
    def load(cls) -> _Sources:
        found = sorted(
            [
                *ROOT.glob("packages/*/src/**/*.py"),
                *ROOT.glob("tests/**/*.py"),
                *ROOT.glob("docs/*.md"),
            ]
        )
        read = ((p.relative_to(ROOT).as_posix(), p.read_text(encoding="utf-8")) for p in found)
        return cls(tuple((name, text) for name, text in read if len(text) > 1500))


@dataclass(frozen=True, slots=True)
class _Used:
    """A tool that was used: its input, what the model sees and what the client keeps of it."""

    name: str
    given: Fields
    shown: object
    kept: object
    failed: bool = False


class _Session:
    """One session, record by record."""

    def __init__(self, rng: random.Random, sources: _Sources, number: int) -> None:
        self._rng = rng
        self._sources = sources
        self.id = self._uuid()
        self._at = _START + timedelta(hours=9 * number)
        self._parent: str | None = None

    def lines(self, size: float) -> Iterator[tuple[str, str]]:
        """Records until the session is of that size."""
        written = 0
        while written < size:
            for kind, line in self._turn():
                written += len(line)
                yield kind, line

    def _turn(self) -> Iterator[tuple[str, str]]:
        name = Path(self._file()[0]).stem
        said = self._rng.choice(_PROMPTS).format(name=name)
        yield "prompt", self._user({"role": "user", "content": said})
        yield (
            "snapshot",
            _line(
                {
                    "type": "file-history-snapshot",
                    "messageId": self._uuid(),
                    "snapshot": {"trackedFileBackups": {}},
                    "isSnapshotUpdate": False,
                }
            ),
        )
        for _ in range(self._rng.randint(6, 22)):
            yield from self._call()
        telling = self._rng.choice(_TELLING).format(name=name)
        yield "said", self._assistant([{"type": "text", "text": telling}], "end_turn")
        yield (
            "system",
            _line(
                {
                    **self._common(),
                    "type": "system",
                    "subtype": "turn_duration",
                    "durationMs": self._rng.randint(9_000, 400_000),
                    "isMeta": False,
                }
            ),
        )

    def _call(self) -> Iterator[tuple[str, str]]:
        if self._rng.random() < 0.3:
            thought = self._quoted(200, 1_500)
            signature = self._rng.randbytes(240).hex()
            block: Fields = {
                "type": "thinking",
                "thinking": thought,
                "signature": signature,
            }
            yield "thinking", self._assistant([block], None)
        tool = self._rng.choices([t for t, _ in _TOOLS], [w for _, w in _TOOLS])[0]
        used: _Used = getattr(self, f"_{tool.lower()}")()
        call_id = "toolu_" + self._rng.randbytes(12).hex()
        block = {"type": "tool_use", "id": call_id, "name": used.name, "input": used.given}
        yield f"{tool} call", self._assistant([block], "tool_use")
        answer: dict[str, object] = {
            "tool_use_id": call_id,
            "type": "tool_result",
            "content": used.shown,
        }
        if used.failed:
            answer["is_error"] = True
        yield f"{tool} result", self._user({"role": "user", "content": [answer]}, used.kept)

    # -- Tools ------------------------------------------------------------------------------------

    def _read(self) -> _Used:
        path, text = self._file()
        lines = text.splitlines()[: self._rng.randint(60, 700)]
        shown = "\n".join(f"{n:6}\t{line}" for n, line in enumerate(lines, 1))
        kept: Fields = {
            "type": "text",
            "file": {
                "filePath": f"{FOLDER}/{path}",
                "content": "\n".join(lines),
                "numLines": len(lines),
                "startLine": 1,
                "totalLines": len(text.splitlines()),
            },
        }
        return _Used("Read", {"file_path": f"{FOLDER}/{path}"}, shown, kept)

    def _bash(self) -> _Used:
        path, _ = self._file()
        command = self._rng.choice(
            (
                f"grep -rn import {path}",
                f"sed -n '1,80p' {path}",
                "git status",
                "git diff --stat HEAD~3",
                f"python -m shop.{Path(path).stem} --help",
            )
        )
        failed = self._rng.random() < 0.08
        out = self._quoted(100, 9_000)
        if failed:
            return _Used(
                "Bash",
                _bash_input(command),
                f"Exit code 1\n{out}",
                f"Error: Exit code 1\n{out}",
                True,
            )
        kept: Fields = {"stdout": out, "stderr": "", "interrupted": False, "isImage": False}
        return _Used("Bash", _bash_input(command), out, kept)

    def _test(self) -> _Used:
        path, _ = self._file()
        stem = Path(path).stem
        count = self._rng.randint(12, 160)
        rows = [
            f"tests/test_{stem}.py::test_case_{n} PASSED [{100 * n // count:3}%]"
            for n in range(count)
        ]
        failed = self._rng.random() < 0.35
        if failed:
            rows += [
                "=" * 30 + " FAILURES " + "=" * 30,
                self._quoted(800, 5_000),
                f"FAILED tests/test_{stem}.py::test_case_3 - AssertionError: assert 3 == 4",
                f"1 failed, {count - 1} passed in 3.21s",
            ]
            shown = "Exit code 1\n" + "\n".join(rows)
            return _Used(
                "Bash",
                _bash_input(f"pytest tests/test_{stem}.py -v"),
                shown,
                f"Error: {shown}",
                failed=True,
            )
        out = "\n".join([*rows, f"{count} passed in 2.85s"])
        kept: Fields = {"stdout": out, "stderr": "", "interrupted": False, "isImage": False}
        return _Used("Bash", _bash_input(f"pytest tests/test_{stem}.py -v"), out, kept)

    def _commit(self) -> _Used:
        stem = Path(self._file()[0]).stem
        told = f"Stream {stem} rather than reading it whole"
        sha = self._rng.randbytes(4).hex()[:7]
        out = f"[main {sha}] {told}\n 2 files changed, 31 insertions(+), 12 deletions(-)"
        kept: Fields = {"stdout": out, "stderr": "", "interrupted": False, "isImage": False}
        command = f'git add -A && git commit -m "{told}"'
        return _Used("Bash", _bash_input(command), out, kept)

    def _edit(self) -> _Used:
        path, text = self._file()
        lines = text.splitlines()
        at = self._rng.randrange(max(1, len(lines) - 30))
        before = "\n".join(lines[at : at + self._rng.randint(3, 25)])
        after = before.replace("return", "yield").replace("self", "this") + "\n    # checked"
        kept: Fields = {
            "filePath": f"{FOLDER}/{path}",
            "oldString": before,
            "newString": after,
            "originalFile": text[:40_000],
            "userModified": False,
            "replaceAll": False,
            "structuredPatch": [{"oldStart": at, "newStart": at, "lines": after.splitlines()}],
        }
        shown = f"The file {FOLDER}/{path} has been updated. Here's the result:\n{after}"
        given = {"file_path": f"{FOLDER}/{path}", "old_string": before, "new_string": after}
        return _Used("Edit", given, shown, kept)

    def _write(self) -> _Used:
        path, text = self._file()
        body = text[: self._rng.randint(1_500, 9_000)]
        kept: Fields = {
            "type": "create",
            "filePath": f"{FOLDER}/new/{path}",
            "content": body,
            "structuredPatch": [],
        }
        given = {"file_path": f"{FOLDER}/new/{path}", "content": body}
        return _Used("Write", given, f"File created successfully at: {FOLDER}/new/{path}", kept)

    def _grep(self) -> _Used:
        out = self._quoted(200, 3_000)
        kept: Fields = {
            "mode": "content",
            "numFiles": 0,
            "filenames": [],
            "content": out,
            "numLines": out.count("\n"),
        }
        return _Used("Grep", {"pattern": r"def \w+_rows", "output_mode": "content"}, out, kept)

    def _todo(self) -> _Used:
        todos = [
            {"content": self._quoted(30, 80), "status": "pending", "activeForm": "x"}
            for _ in range(5)
        ]
        return _Used("TodoWrite", {"todos": todos}, "Todos have been modified", {"newTodos": todos})

    def _mcp(self) -> _Used:
        out = self._quoted(300, 4_000)
        return _Used(
            "mcp__tracker__get_issue",
            {"id": "SHOP-17"},
            [{"type": "text", "text": out}],
            out,
        )

    def _agent(self) -> _Used:
        out = self._quoted(600, 3_000)
        kept: Fields = {
            "status": "completed",
            "agentId": self._rng.randbytes(4).hex(),
            "totalTokens": 9_000,
            "content": [{"type": "text", "text": out}],
        }
        given = {
            "description": "Look around",
            "prompt": self._quoted(200, 900),
            "subagent_type": "Explore",
        }
        return _Used("Task", given, [{"type": "text", "text": out}], kept)

    # -- Records ----------------------------------------------------------------------------------

    def _user(self, message: Fields, result: object = None) -> str:
        told = {**self._common(), "type": "user", "message": message}
        return _line(told if result is None else {**told, "toolUseResult": result})

    def _assistant(self, blocks: Sequence[Fields], stop: str | None) -> str:
        usage = {
            "input_tokens": 4,
            "cache_creation_input_tokens": 812,
            "output_tokens": 187,
            "cache_read_input_tokens": self._rng.randint(9_000, 120_000),
            "service_tier": "standard",
        }
        message = {
            "id": f"msg_{self._rng.randbytes(12).hex()}",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": blocks,
            "stop_reason": stop,
            "usage": usage,
        }
        return _line(
            {
                **self._common(),
                "type": "assistant",
                "message": message,
                "requestId": f"req_{self._rng.randbytes(12).hex()}",
            }
        )

    def _common(self) -> Fields:
        self._at += timedelta(seconds=self._rng.uniform(0.5, 9))
        parent, self._parent = self._parent, self._uuid()
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": FOLDER,
            "sessionId": self.id,
            "version": "2.1.0",
            "gitBranch": "main",
            "uuid": self._parent,
            "timestamp": self._at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }

    def _file(self) -> tuple[str, str]:
        return self._rng.choice(self._sources.files)

    def _quoted(self, least: int, most: int) -> str:
        text = self._file()[1]
        size = self._rng.randint(least, most)
        at = self._rng.randrange(max(1, len(text) - size))
        return text[at : at + size]

    def _uuid(self) -> str:
        return str(UUID(bytes=self._rng.randbytes(16), version=4))


def _bash_input(command: str) -> Fields:
    return {"command": command, "description": "Run it"}


def _line(fields: Fields) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"
