"""Which planted secrets reach the disk, by every way into the memory.

`python -m bench.ways_in [--each 6] [--part development] [--way prompt] [--json] [--show]` plants
the secrets of `bench.planted` by each way in, then searches the raw bytes of every file in the
home: database, log, spool, exports, indexes. Nothing of any secret may be there.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import wellkept
from bench.agent_ways_in import (
    agent_compaction,
    agent_plan,
    agent_session,
    agent_state,
    chat_history,
)
from bench.planted import PARTS, Plant, beyond, leaked, plants
from wellkept.api.learning import drain_and_learn
from wellkept.clients.hook_spec import ClientFolders
from wellkept.clients.registry import transcripts, translate_spooled
from wellkept.core.errors import WellkeptError
from wellkept.core.memory import MemoryDraft
from wellkept.core.types import MemoryType
from wellkept.memory.exchange.passages import Passage
from wellkept.observe.imports.notes import ProjectNote, import_notes
from wellkept.observe.imports.transcripts import TranscriptFilter, import_transcripts
from wellkept.store import spool
from wellkept.text.secrets.redaction import redact

_LABEL_CHARS = 400


@dataclass
class Scene:
    """A home, a project and an open memory in it."""

    folder: Path
    notes: list[str] = field(default_factory=list[str])
    now_ms: int = 1_780_000_000_000

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True)
        self.work.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.work)], check=True)
        self.environment = {"HOME": str(self.home), "WELLKEPT_HOME": str(self.home)}

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def open(self) -> wellkept.Wellkept:
        """The memory of the project."""
        return wellkept.open(cwd=self.work, embedder="none", environment=self.environment)

    def hook(self, session: str, event: str, **payload: object) -> None:
        """Catch an event as the hook process does."""
        self.now_ms += 1000
        whole = {"session_id": session, "cwd": str(self.work), "hook_event_name": event, **payload}
        spool.append(
            str(self.home / spool.FOLDER_NAME),
            client="claude-code",
            session=session,
            event=event,
            payload=json.dumps(whole).encode(),
            now_ms=self.now_ms,
        )

    def tool(self, session: str, name: str, given: object, answer: object) -> None:
        """A tool call that worked."""
        self.hook(
            session,
            "PostToolUse",
            tool_name=name,
            tool_input=given,
            tool_response=answer,
            tool_use_id=f"t{self.now_ms}",
        )

    def drain(self) -> None:
        """Take in what was caught."""
        with self.open() as wk:
            report = drain_and_learn(wk, translate=translate_spooled, environment=self.environment)
        self.notes.extend(report.problems)
        self.notes.extend(f"{one.event} {one.reason}" for one in report.set_aside)

    def files(self) -> list[Path]:
        """Everything on disk that Wellkept wrote."""
        log = self.home / "notes.log"
        log.write_text("\n".join(self.notes), encoding="utf-8", errors="replace")
        return [path for path in self.home.rglob("*") if path.is_file() and path.name != ".env"]


Way = Callable[[Scene, Sequence[Plant]], None]


def _groups(planted: Sequence[Plant], size: int = 10) -> Iterator[tuple[str, Sequence[Plant]]]:
    for start in range(0, len(planted), size):
        yield f"session-{start}", planted[start : start + size]


def prompt(scene: Scene, planted: Sequence[Plant]) -> None:
    """What a person types."""
    for session, some in _groups(planted):
        for plant in some:
            scene.hook(session, "UserPromptSubmit", prompt=f"Please look at this: {plant.text}")
        scene.hook(session, "Stop", last_assistant_message=f"I saw {some[0].text}")
        scene.hook(session, "SessionEnd", reason="exit")
    scene.drain()


def title(scene: Scene, planted: Sequence[Plant]) -> None:
    """The first prompt of a session, which names it, and what is remembered by command."""
    for index, plant in enumerate(planted):
        scene.hook(f"s{index}", "UserPromptSubmit", prompt=plant.text)
        scene.hook(f"s{index}", "UserPromptSubmit", prompt=f"Remember that {plant.text}")
        scene.hook(f"s{index}", "SessionEnd", reason="exit")
    scene.drain()


def tool_input(scene: Scene, planted: Sequence[Plant]) -> None:
    """Commands, edits and new files."""
    for session, some in _groups(planted):
        scene.hook(session, "UserPromptSubmit", prompt="Set up the service")
        for plant in some:
            scene.tool(session, "Bash", {"command": plant.text}, {"stdout": "ok", "stderr": ""})
            path = f"{scene.work}/settings.py"
            edit = {"file_path": path, "old_string": "x = 1", "new_string": plant.text}
            scene.tool(session, "Edit", edit, {"filePath": path})
            new = {"file_path": f"{scene.work}/conf.txt", "content": plant.text}
            scene.tool(session, "Write", new, {"filePath": path})
        scene.hook(session, "SessionEnd", reason="exit")
    scene.drain()


def tool_output(scene: Scene, planted: Sequence[Plant]) -> None:
    """What commands print, also when they fail."""
    for session, some in _groups(planted):
        scene.hook(session, "UserPromptSubmit", prompt="Run the service")
        for plant in some:
            scene.tool(session, "Bash", {"command": "make run"}, {"stdout": plant.text})
            scene.tool(
                session, "Read", {"file_path": f"{scene.work}/a.txt"}, {"content": plant.text}
            )
            scene.hook(
                session,
                "PostToolUseFailure",
                tool_name="Bash",
                tool_input={"command": "make test"},
                tool_use_id=f"f{scene.now_ms}",
                error=f"Exit code 1\nE   ValueError: {plant.text}",
            )
        scene.hook(session, "PostCompact", trigger="auto", compact_summary=some[-1].text)
        scene.hook(session, "SubagentStop", last_assistant_message=some[0].text)
        scene.hook(session, "SessionEnd", reason="exit")
    scene.drain()


def labels(scene: Scene, planted: Sequence[Plant]) -> None:
    """Paths of files, names of tools and agents, folders, sessions."""
    some = [plant for plant in planted if _is_label(plant)]
    for session, group in _groups(some):
        scene.hook(session, "UserPromptSubmit", prompt="Look around")
        for plant in group:
            path = plant.text if "://" in plant.text else f"{scene.work}/{plant.text}"
            scene.tool(session, "Read", {"file_path": path}, {"content": "x"})
            scene.tool(
                session, "Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, {}
            )
            scene.tool(session, "Grep", {"pattern": plant.text}, {"matches": 1})
            scene.tool(session, f"mcp__{plant.text}", {"query": plant.text}, "done")
        scene.hook(session, "SessionEnd", reason=group[0].text)
    for plant in some[:100]:
        scene.hook(plant.text, "UserPromptSubmit", prompt="Hello there")
    scene.drain()


def _is_label(plant: Plant) -> bool:
    return len(plant.text) <= _LABEL_CHARS and "\n" not in plant.text and "\\n" not in plant.text


def fields(scene: Scene, planted: Sequence[Plant]) -> None:
    """Every field of a memory: tags, key, author, session, files, modules, citation."""
    with scene.open() as wk:
        for number, plant in enumerate(planted):
            with contextlib.suppress(WellkeptError):
                wk.remember(f"Fact {number}: {plant.text}", citation=plant.text)
            if not _is_label(plant):
                continue
            for name in ("tags", "files", "modules", "key", "author", "session"):
                value = [plant.text] if name in ("tags", "files", "modules") else plant.text
                with contextlib.suppress(WellkeptError):
                    wk.remember(f"Fact {number} about {name}", **{name: value})  # type: ignore[arg-type]


def scratchpad(scene: Scene, planted: Sequence[Plant]) -> None:
    """Notes of an agent, and values of the state."""
    scene.hook("pad", "UserPromptSubmit", prompt="Hello")
    scene.drain()
    with scene.open() as wk:
        session = wk.engine.store.get_session("pad")
        assert session is not None
        state = wk.state(session="pad")
        for number, plant in enumerate(planted):
            with contextlib.suppress(WellkeptError):
                wk.observer.note(session, plant.text)
            with contextlib.suppress(WellkeptError):
                state.put(f"k{number}", {"note": plant.text, "list": [plant.text]})
    scene.hook("pad", "SessionEnd", reason="exit")
    scene.drain()


def skills(scene: Scene, planted: Sequence[Plant]) -> None:
    """Skills made of sessions, and written by hand."""
    for session, some in _groups(planted, 5):
        scene.hook(session, "UserPromptSubmit", prompt=f"Deploy the shop with {some[0].text}")
        for plant in some:
            scene.tool(session, "Bash", {"command": plant.text}, {"stdout": "ok"})
        path = f"{scene.work}/deploy.py"
        edit = {"file_path": path, "old_string": "a", "new_string": "b"}
        scene.tool(session, "Edit", edit, {"filePath": path})
        scene.tool(session, "Bash", {"command": "pytest -q"}, {"stdout": "3 passed in 0.1s"})
        commit = {"stdout": "[main abc1234] Deploy"}
        scene.tool(session, "Bash", {"command": 'git commit -m "Deploy"'}, commit)
        scene.hook(session, "Stop", last_assistant_message="Done.")
        scene.hook(session, "SessionEnd", reason="exit")
    scene.drain()
    with scene.open() as wk:
        for session, _ in _groups(planted, 5):
            with contextlib.suppress(WellkeptError):
                wk.skills.generate(session)


def transcript(scene: Scene, planted: Sequence[Plant]) -> None:
    """Transcripts of earlier sessions."""
    folder = scene.folder / "transcripts"
    folder.mkdir()
    for session, some in _groups(planted):
        rows = _transcript_rows(session, some, cwd=str(scene.work))
        path = folder / f"{session}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with scene.open() as wk:
        folders = ClientFolders(home=folder, project=folder, environment={})
        found = transcripts("claude-code", folders=folders, paths=(folder,))
        report = import_transcripts(
            wk.services, "claude-code", found, wanted=TranscriptFilter(), environment={}
        )
        scene.notes.extend(report.problems)


def _transcript_rows(session: str, some: Sequence[Plant], *, cwd: str) -> list[dict[str, object]]:
    said: list[tuple[str, object]] = []
    for number, plant in enumerate(some):
        use = {"type": "tool_use", "id": f"t{number}", "name": "Bash"}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": plant.text}
        said += [
            ("user", f"Please use {plant.text}"),
            ("assistant", [{**use, "input": {"command": plant.text}}]),
            ("user", [result]),
            ("assistant", [{"type": "text", "text": f"It said {plant.text}"}]),
        ]
    return [
        {
            "type": kind,
            "uuid": f"{session}-{number}",
            "timestamp": f"2026-03-02T08:{number // 60:02}:{number % 60:02}.000Z",
            "cwd": cwd,
            "sessionId": session,
            "message": {"role": kind, "content": content},
        }
        for number, (kind, content) in enumerate(said)
    ]


def repository(scene: Scene, planted: Sequence[Plant]) -> None:
    """Documents, commits and instruction files of a repository."""
    for number, plant in enumerate(planted):
        body = f"# Part {number}\n\nTo set it up:\n\n{plant.text}\n\nThat is all there is to it.\n"
        (scene.work / f"part{number}.md").write_text(body, encoding="utf-8")
    _git(scene, "add", "-A")
    for plant in planted[:200]:
        _git(scene, "commit", "-q", "--allow-empty", "-m", f"Use it\n\nBecause of {plant.text}.")
    with scene.open() as wk:
        wk.import_repository()


def code_search(scene: Scene, planted: Sequence[Plant]) -> None:
    """The index of the words of source files and commits."""
    for number, plant in enumerate(planted):
        (scene.work / f"part{number}.py").write_text(f"# {number}\n{plant.text}\n", "utf-8")
    _git(scene, "add", "-A")
    for plant in planted[:100]:
        _git(scene, "commit", "-q", "--allow-empty", "-m", f"Use {plant.text}")
    with scene.open() as wk:
        wk.code.find("service")


def _git(scene: Scene, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@a.local")
    subprocess.run(["git", "-C", str(scene.work), *who, *arguments], check=True)


def notes(scene: Scene, planted: Sequence[Plant]) -> None:
    """Notes of other tools and instruction files."""
    with scene.open() as wk:
        found = [
            ProjectNote(wk.project, Passage(f"notes/{number}.md", _draft(number, plant)))
            for number, plant in enumerate(planted)
        ]
        import_notes(wk.engine, "notes", found)


def _draft(number: int, plant: Plant) -> MemoryDraft:
    said = f"Note: {plant.text}"
    return MemoryDraft(content=said, type=MemoryType.FACT, key=f"note:{number}")


def command_line(scene: Scene, planted: Sequence[Plant]) -> None:
    """`wellkept remember`, and the errors of commands that fail."""
    from wellkept.api.cli.root import run

    before, folder = dict(os.environ), Path.cwd()
    os.environ.update(scene.environment, WELLKEPT_EMBEDDING_PROVIDER="none")
    os.chdir(scene.work)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            for plant in planted:
                run(["remember", plant.text])
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)
    scene.notes.append(printed.getvalue())


def servers(scene: Scene, planted: Sequence[Plant]) -> None:
    """`memory_store` of the MCP and HTTP servers: one checker of arguments."""
    from wellkept.api.verbs.check import read
    from wellkept.api.verbs.table import find, run

    verb = find("remember")
    with scene.open() as wk:
        for plant in planted:
            with contextlib.suppress(WellkeptError, ValueError):
                tags = [plant.text] if _is_label(plant) else []
                own, _ = read(verb, {"content": plant.text, "tags": tags})
                scene.notes.append(str(run(verb, wk, own)))


def exports(scene: Scene, planted: Sequence[Plant]) -> None:
    """Exports, backups, and imports of what others exported."""
    with scene.open() as wk:
        wk.remember("The parser is slow")
        wk.export(scene.folder / "out.jsonl")
        header, line = (scene.folder / "out.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [header]
        for number, plant in enumerate(planted):
            record = json.loads(line)
            record |= {"content": f"Told {number}: {plant.text}", "citation": plant.text}
            record |= {"id": f"{record['id'][:-4]}{number:04x}"}
            rows.append(json.dumps(record))
        (scene.folder / "in.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
        report = wk.import_jsonl(scene.folder / "in.jsonl")
        scene.notes.append(str(report))
        wk.export(scene.home / "export.jsonl")
        wk.export_markdown(scene.home / "markdown")
        wk.backup(scene.home / "backup.db")


def aside(scene: Scene, planted: Sequence[Plant]) -> None:
    """Payloads that no client sends: they are set aside."""
    for index, plant in enumerate(planted):
        spool.append(
            str(scene.home / spool.FOLDER_NAME),
            client="claude-code",
            session=f"bad-{index % 7}",
            event="UserPromptSubmit",
            payload=f"no json: {plant.text}".encode(),
            now_ms=scene.now_ms,
        )
    scene.drain()


WAYS: dict[str, Way] = {
    way.__name__: way
    for way in (
        prompt, title, tool_input, tool_output, labels, fields, scratchpad, skills, transcript,
        repository, code_search, notes, command_line, servers, exports, aside,
        agent_session, agent_compaction, agent_plan, agent_state, chat_history,
    )
}  # fmt: skip


def run_way(way: Way, planted: Sequence[Plant]) -> list[Plant]:
    """The secrets that reach the disk by one way in."""
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(Path(folder).resolve())
        known = [needle for plant in planted if plant.known for needle in plant.needles]
        lines = (f"SERVICE{n}_PASSWORD='{value}'\n" for n, value in enumerate(known))
        (scene.work / ".env").write_text("".join(lines), encoding="utf-8")
        way(scene, planted)
        return leaked(planted, scene.files())


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=6, help="how many of each kind")
    parser.add_argument("--part", choices=PARTS, help="one part only")
    parser.add_argument("--way", choices=sorted(WAYS), help="one way only")
    parser.add_argument("--json", action="store_true", help="only the JSON object")
    parser.add_argument("--show", action="store_true", help="print what got through")
    options = parser.parse_args()
    parts = [options.part] if options.part else PARTS
    planted = [plant for part in parts for plant in plants(part, each=options.each)]
    figures: dict[str, int] = {}
    everything: set[str] = set()
    for name, way in WAYS.items():
        if options.way and name != options.way:
            continue
        start = time.perf_counter()
        through = run_way(way, planted)
        figures[name] = len(through)
        everything |= {plant.text for plant in through}
        if not options.json:
            kinds = Counter(plant.kind for plant in through)
            told = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common(12))
            seconds = time.perf_counter() - start
            print(f"{name:14} {len(through):5} of {len(planted)}  {seconds:5.1f} s  {told}")
        if options.show:
            for plant in through[:20]:
                print(f"    {plant.kind}: {plant.text[:160]!r}")
    hard = [plant for part in PARTS for plant in beyond(part)]
    left = sum(plant.left_in(redact(plant.text).text.lower()) for plant in hard)
    result = {"bench": "ways_in", "planted": len(planted), "reached": len(everything), **figures}
    result |= {"beyond_forms": len(hard), "beyond_left": left}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
