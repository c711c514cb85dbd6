"""Throws damaged input at everything that reads what others wrote: `python -m bench.fuzz`.

Each target takes bytes from seeds that are cut, doubled, flipped and joined, the same for the same
seed. Nothing may raise anything but the errors it documents, or take longer than a second of
processor time. `--count 1000000` is the nightly run (`make fuzz`); the suite runs a short one. An
input that failed is written to `bench/data/fuzz/TARGET/`, where later runs begin with it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from random import Random
from time import process_time
from traceback import format_exception
from typing import Any, cast
from zlib import crc32

import anyio

import wellkept
from bench.report import finish, machine, parser, say, table
from tests.support.samples import Samples
from wellkept.clients.hook_spec import ClientFolders
from wellkept.clients.install import jsonc
from wellkept.clients.registry import CLIENTS, SOURCES, transcripts, translate
from wellkept.core.chat.transcripts import ReadStats, Transcript
from wellkept.core.codec import Json, record_to_json
from wellkept.core.errors import WellkeptError
from wellkept.core.git.config import parse_config, read_remote
from wellkept.core.settings.model import Settings
from wellkept.core.settings.toml_file import read_entries
from wellkept.core.skills import SkillFormat, SkillKind, SkillSource
from wellkept.memory.exchange.jsonl import FORMAT, VERSION
from wellkept.memory.exchange.markdown_document import memory_from_markdown
from wellkept.memory.recall.retrievers import plan_query
from wellkept.skills.documents.reader import read_skill
from wellkept.text.dates import parse_window
from wellkept.text.events.sanitize import cleaned
from wellkept.text.secrets.redaction import redact
from wellkept.text.shell import reader as shell

SEEDS = Path(__file__).parent / "data" / "fuzz"
LIMIT_S = 1.0
MAX_BYTES = 4_000
_RECORDED = Path(__file__).parents[1] / "tests" / "clients" / "payloads"
_EVENTS = (
    "PostToolUse", "UserPromptSubmit", "Stop", "SessionStart", "SessionEnd", "PreToolUse",
    "PostToolUseFailure", "SubagentStop", "PreCompact", "notify", "afterFileEdit", "AfterTool",
    "BeforeAgent", "tool.execute.after", "chat.message", "beforeSubmitPrompt", "stop",
)  # fmt: skip
_SKILLS = SkillSource(next(iter(SkillKind)), "fuzz", 1)
_NOW = datetime(2026, 3, 5, 12, tzinfo=UTC)
_BITS = (
    b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\xf0\x9f\x92\xa9", b"'" * 40, b'"', b"\\", b"{" * 60,
    b"[" * 60, b"(" * 60, b"\r\n", b"\n---\n", b"```", b"$(", b"`", b"<<EOF\n", b"9" * 40, b"-1",
    b"1e999", b"NaN", b"null", b"true", b"../" * 12, b"\xe2\x80\xae", b"%s%n", b"NEAR(", b"*",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that broke its target."""

    target: str
    data: bytes
    why: str
    is_slow: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """What is called, with what it may raise, and what inputs look like."""

    name: str
    call: Callable[[bytes], object]
    seeds: tuple[bytes, ...]
    allowed: tuple[type[Exception], ...] = (WellkeptError,)


def mutated(chance: Random, seeds: Sequence[bytes]) -> bytes:
    """A seed with a few things wrong with it."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.randrange(1, 8)):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(6)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << chance.randrange(8)
        elif kind == 1:
            data[at:at] = chance.choice(_BITS)
        elif kind == 2:
            del data[at : at + chance.randrange(1, 30)]
        elif kind == 3:
            end = at + chance.randrange(1, 60)
            data[at:at] = data[at:end] * chance.randrange(1, 6)
        elif kind == 4:
            data[at:at] = chance.randbytes(chance.randrange(1, 12))
        else:
            other = chance.choice(seeds)
            data[at:] = other[chance.randrange(len(other) + 1) :]
    return bytes(data[:MAX_BYTES])


def inputs(target: Target, *, count: int, seed: int) -> Iterator[bytes]:
    """What failed before, the seeds, and then damaged ones."""
    kept = sorted((SEEDS / target.name).glob("*"))
    begin = [*(path.read_bytes() for path in kept), *target.seeds, b""]
    yield from begin
    chance = Random(f"{target.name} {seed}")
    for _ in range(count - len(begin)):
        yield mutated(chance, begin)


def attempt(target: Target, data: bytes) -> Failure | None:
    """Call the target; a slow call is tried again, for the first one may have loaded something."""
    found = _attempt(target, data)
    return _attempt(target, data) if found is not None and found.is_slow else found


def _attempt(target: Target, data: bytes) -> Failure | None:
    began = process_time()
    try:
        target.call(data)
    except target.allowed:
        pass
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return Failure(target.name, data, "".join(format_exception(error)[-4:]))
    took_s = process_time() - began
    slow = took_s > LIMIT_S
    return Failure(target.name, data, f"took {took_s:.1f} s", is_slow=True) if slow else None


# -- Targets --------------------------------------------------------------------------------------


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _payload(data: bytes) -> None:
    """For every client, as one of the events; what comes of it is cleaned as a drain does."""
    chosen = crc32(data)
    for number, client in enumerate(CLIENTS):
        event = _EVENTS[(chosen + number) % len(_EVENTS)]
        for one in translate(client, event, data, event_id="0" * 26, at=_NOW):
            cleaned(one)


def _recorded_payloads() -> tuple[bytes, ...]:
    """Payloads that real clients sent."""
    found = (path.read_bytes() for path in sorted(_RECORDED.glob("*/*.json")))
    return tuple(data for data in found if len(data) < MAX_BYTES)


def _shell(data: bytes) -> None:
    commands = shell.parse_command(_text(data))
    shell.main_command(commands)
    shell.files_shown(commands)
    shell.files_written(commands)
    shell.read_commit(commands, _text(data))


def _skill(data: bytes) -> None:
    for shape in SkillFormat:
        read_skill(data, format=shape, source=_SKILLS, name="x")


def _jsonc(data: bytes) -> None:
    text = _text(data)
    jsonc.parse(text)
    jsonc.with_value(text, ("mcpServers", "wellkept"), {"command": "x"})


class Stage:
    """A memory and an HTTP application that inputs are thrown at."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self.wk = self._stack.enter_context(
            wellkept.open(
                folder / "memory.db",
                project="fuzz",
                cwd=folder,
                embedder="none",
                settings=Settings(),
                environment={},
            )
        )
        for number in range(30):
            self.wk.remember(f"The parser number {number} is slow", merge_similar=False)
        self._app: Any = None

    def close(self) -> None:
        """Close the memory."""
        self._stack.close()

    def recall(self, data: bytes) -> None:
        self.wk.recall(_text(data), count_access=False)

    def context(self, data: bytes) -> None:
        self.wk.context(_text(data))

    def jsonl(self, data: bytes) -> None:
        path = self._folder / "in.jsonl"
        path.write_bytes(data)
        self.wk.import_jsonl(path)

    def transcripts(self, data: bytes) -> None:
        """A client's own log of a session."""
        path = self._folder / "0b9e1a7c-0000-4000-8000-000000000001.jsonl"
        path.write_bytes(data)
        folders = ClientFolders(home=self._folder, project=self._folder, environment={})
        for client in SOURCES:
            for found in transcripts(client, folders=folders, paths=[path]):
                if isinstance(found, Transcript):
                    for part in found.parts:
                        for step in part.read(ReadStats()):
                            cleaned(step.event)
                    found.usage()

    def toml(self, data: bytes) -> None:
        path = self._folder / "in.toml"
        path.write_bytes(data)
        read_entries(path)

    def http(self, data: bytes) -> None:
        """A body for an operation: an error is answered, never raised."""
        from wellkept.api.http.app import guarded_app, make_http_app
        from wellkept.api.server.open_projects import OpenProjects

        if self._app is None:
            projects = OpenProjects(lambda _f, _p: self.wk, folder=self._folder)
            app = make_http_app(projects)
            self._app = guarded_app(app, token=None, hosts=frozenset({"localhost"}))
        statuses: list[int] = []

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": data, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        path = ("/api/memory_recall", "/api/inject_context", "/api/memory_store")[len(data) % 3]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
            "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
            "scheme": "http", "client": ("127.0.0.1", 1), "server": ("localhost", 80),
            "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        }  # fmt: skip
        anyio.run(self._app, scope, receive, send)
        if not statuses or statuses[0] >= 500:
            raise AssertionError(f"answered {statuses} to {data[:200]!r}")


def _recorded_transcripts() -> tuple[bytes, ...]:
    """The beginnings of logs that real clients wrote."""
    found: list[bytes] = []
    for path in sorted(_RECORDED.with_name("transcripts").glob("*.jsonl")):
        lines = [line for line in path.read_bytes().splitlines(keepends=True) if len(line) < 900]
        found += [b"".join(lines[start : start + 4]) for start in range(0, min(24, len(lines)), 4)]
    return tuple(found)


def _export() -> bytes:
    """Two memories as an export holds them."""
    samples = Samples()
    records = [record_to_json(samples.memory("The parser is slow", tags=("a",))) for _ in range(2)]
    return b"\n".join(_json(one) for one in ({"format": FORMAT, "version": VERSION}, *records))


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def targets(stage: Stage) -> list[Target]:
    """Everything that reads what others wrote."""
    call = {
        "session_id": "s", "cwd": "/tmp", "hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": "pytest -q", "file_path": "a.py"},
        "tool_response": {"stdout": "1 failed", "exit_code": 1}, "prompt": "Remember that",
    }  # fmt: skip
    memory = {"type": "fact", "content": "The parser is slow", "tags": ["a"], "importance": 0.5}
    front = b"---\nname: tidy-up\ndescription: Tidy up\nallowed-tools: [Read]\n---\n# Do\n\n1. x\n"
    return [
        Target("payloads", _payload, (_json(call), *_recorded_payloads())),
        Target("transcripts", stage.transcripts, _recorded_transcripts()),
        Target(
            "shell",
            _shell,
            (
                b"cd src && FOO=1 poetry run pytest -q tests/a.py | tee out.txt",
                b"cat > a.py <<'EOF'\nx = 1\nEOF\ngit commit -m \"fix: it\"",
                b'for f in *.py; do echo "$f" `date` $(ls -l); done 2>&1 >/dev/null',
            ),
        ),
        Target("skills", _skill, (front, front.replace(b"---", b"+++"), b"# only text")),
        Target(
            "markdown",
            lambda data: memory_from_markdown(_text(data)),
            (front, b"---\ntype: fact\ntags: [a, b]\n---\nThe parser is slow\n"),
        ),
        Target(
            "jsonc",
            _jsonc,
            (b'{"a": 1, // c\n "b": [1, 2,], /* x */ "c": {"d": null}}', b'{"mcpServers": {}}'),
            (WellkeptError, jsonc.ParseError, jsonc.WrongShapeError),
        ),
        Target(
            "dates",
            lambda data: parse_window(_text(data), now=_NOW),
            (
                b"what did we do last Tuesday before 5 pm",
                b"between 2025-02-30 and the third week of March 2026",
                b"three days ago, yesterday and in two years",
            ),
        ),
        Target(
            "queries",
            lambda data: plan_query(_text(data), now=_NOW),
            (b"why is src/parser.py slow since May?", b'"exact words" camelCase snake_case'),
        ),
        Target("redaction", lambda data: redact(_text(data)), (b"export TOKEN=abc", b"-----BEGIN")),
        Target(
            "git config",
            lambda data: parse_config(_text(data)),
            (b'[remote "origin"]\n\turl = git@github.com:a/b.git ; c\n', b"[a.b]\nc = \\\n d"),
        ),
        Target(
            "remotes",
            lambda data: read_remote(_text(data)),
            (b"ssh://git@host:22/a/b.git", b"git@h:a/b", b"https://u:p@dev.azure.com/o/_git/r"),
        ),
        Target("settings", stage.toml, (b"[recall]\nlimit = 3\n", b'a = """x"""\nb = [1, {c=2}]')),
        Target("jsonl", stage.jsonl, (_export(), _json(memory) + b"\n", b"[]\n{}\n")),
        Target("recall", stage.recall, (b"parser slow", b'"number 3" OR NOT -x', b"a*b NEAR(c d)")),
        Target("context", stage.context, (b"Please change the parser", b"/remember this")),
        Target("http", stage.http, (_json({"query": "x"}), _json({"content": "y", "tags": []}))),
    ]


def fuzz(
    *, count: int, seed: int, only: Sequence[str] = ()
) -> tuple[dict[str, int], list[Failure]]:
    """Call every target so many times in all; returns the calls by target and what failed."""
    done: dict[str, int] = {}
    failed: list[Failure] = []
    with tempfile.TemporaryDirectory(prefix="wellkept-fuzz-") as folder:
        stage = Stage(Path(folder))
        try:
            chosen = [one for one in targets(stage) if not only or one.name in only]
            for target in chosen:
                share = count // len(chosen)
                found = [attempt(target, data) for data in inputs(target, count=share, seed=seed)]
                done[target.name] = len(found)
                failed += [one for one in found if one is not None]
        finally:
            stage.close()
    return done, failed


def main(arguments: Sequence[str]) -> int:
    """Fuzz, keep what failed, and say so."""
    options = parser(__doc__)
    options.add_argument("--count", type=int, default=20_000, help="inputs in all")
    options.add_argument("--seed", type=int, default=13)
    options.add_argument("--only", default="", help="names of targets, with commas")
    chosen = options.parse_args(arguments)
    done, failed = fuzz(
        count=chosen.count, seed=chosen.seed, only=[name for name in chosen.only.split(",") if name]
    )
    for one in failed[:20]:
        path = SEEDS / one.target / sha256(one.data).hexdigest()[:16]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one.data)
        say(f"{one.target}: {path}\n{one.why}")
    figures: dict[str, Json] = {
        "machine": machine(),
        "seed": chosen.seed,
        "inputs": cast("dict[str, Json]", done),
        "failed": len(failed),
    }
    rows = [
        (name, f"{calls:,}", str(sum(f.target == name for f in failed)))
        for name, calls in done.items()
    ]
    finish("fuzz", figures, as_json=chosen.json, lines=table(("target", "inputs", "failed"), rows))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
