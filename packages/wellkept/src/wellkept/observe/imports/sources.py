"""Import sources besides transcripts: git, instruction files, other memory tools.

Each source finds its files when none are named, and yields statements with keys. Tools that know a
project only by its folder name match this project by that name.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.memory import MemoryDraft, Relation
from wellkept.core.query import Filter
from wellkept.core.records import record, replace
from wellkept.core.types import MemoryType, RelationType, Scope, Source
from wellkept.graph.history.git_log import read_past
from wellkept.memory.exchange.markdown_document import read_front_matter
from wellkept.memory.exchange.passages import Passage
from wellkept.observe.imports.notes import (
    CLIENT_NOTES,
    NotesReport,
    ProjectNote,
    close_gone,
    has_notes,
    import_notes,
    readable,
)
from wellkept.observe.imports.repository import history_passages
from wellkept.observe.imports.repository_docs import Skipped, passages, read_document
from wellkept.observe.learning.linked_files import history_links, link_history
from wellkept.store.other_tools import DamagedRow, Notes, ToolNote, moment
from wellkept.text.contradictions.supersedes import supersedes

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.core.ports.store import Store
    from wellkept.core.types import Progress
    from wellkept.memory.engine import Engine
    from wellkept.memory.workspace import Workspace

MAX_COMMITS: Final = 10_000
_LINKED_COMMITS: Final = 5_000
_INSTRUCTIONS: Final = (
    "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules",
    ".windsurfrules", ".clinerules", "CONVENTIONS.md", ".github/copilot-instructions.md",
)  # fmt: skip
_RULE_FOLDERS: Final = (".cursor/rules", ".github/instructions", ".claude/rules", ".windsurf/rules")
_PERSONAL: Final = (".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md")
_TYPES: Final[Mapping[str, MemoryType]] = MappingProxyType(
    {
        "observation": MemoryType.OBSERVATION,
        "summary": MemoryType.TIMELINE,
        "prompt": MemoryType.PROMPT,
        "decision": MemoryType.DECISION,
        "preference": MemoryType.PREFERENCE,
        "convention": MemoryType.CONVENTION,
        "pattern": MemoryType.PATTERN,
        "requirement": MemoryType.REQUIREMENT,
        "error": MemoryType.GOTCHA,
    }
)
_MAX_JSON_BYTES: Final = 256 << 20
_MAX_TAGS: Final = 20
_NOTED: Final = "client-notes"


@record(kw_only=True)
class SourceRequest:
    """What to import. `everything` includes the memories of other projects."""

    services: Workspace
    project_name: str
    home: Path
    environment: Mapping[str, str]
    paths: tuple[Path, ...] = ()
    everything: bool = False


def import_source(
    name: str,
    request: SourceRequest,
    *,
    since: datetime | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> NotesReport:
    """Import one of `SOURCES`."""
    engine, project = request.services.engine, request.services.project
    notes = SOURCES[name](request)
    if name == _NOTED:
        notes = list(doubted(engine, project, notes))
    report = import_notes(engine, name, notes, since=since, dry_run=dry_run, progress=progress)
    if name == _NOTED and not (dry_run or request.paths or report.skipped):
        report.changed += close_gone(engine, project, notes)
    if name == "git" and not dry_run:
        _link_files(request)
    return report


# -- git and instruction files --------------------------------------------------------------------


def _roots(request: SourceRequest) -> tuple[Path, ...]:
    for path in request.paths:
        if not path.is_dir():
            raise NotFoundError(f"There is no folder {path}.")
    return request.paths or (request.services.root,)


def _git(request: SourceRequest) -> Iterator[ProjectNote | Skipped]:
    """Decisions and reverts with their reasons, never every message."""
    for root in _roots(request):
        found = history_passages(root, limit=MAX_COMMITS)
        if found is None:
            yield Skipped(root.as_posix(), "is no git checkout with commits, or git is missing")
            continue
        for passage in found:
            yield ProjectNote(request.services.project, passage)


def _link_files(request: SourceRequest) -> None:
    links = [
        link
        for root in _roots(request)
        for link in history_links(read_past(root, limit=_LINKED_COMMITS) or [])
    ]
    if links:
        link_history(request.services.engine, request.services.project, links)


def _instructions(request: SourceRequest) -> Iterator[ProjectNote | Skipped]:
    """Instruction files of the project, and the user's own."""
    for root in _roots(request):
        rules = (p for folder in _RULE_FOLDERS for p in sorted((root / folder).glob("**/*.md*")))
        names = [*_INSTRUCTIONS, *(path.relative_to(root).as_posix() for path in rules)]
        for name in names:
            if (root / name).is_file():
                yield from _document(request, root, name, personal=False)
    for name in () if request.paths else _PERSONAL:
        if (request.home / name).is_file():
            yield from _document(request, request.home, name, personal=True)


def _document(
    request: SourceRequest, root: Path, name: str, *, personal: bool
) -> Iterator[ProjectNote | Skipped]:
    text = read_document(root, name)
    if isinstance(text, Skipped):
        yield text
        return
    for passage in passages(f"~/{name}" if personal else name, text):
        scope = Scope.USER if personal else passage.draft.scope
        draft = replace(passage.draft, scope=scope, files=() if personal else passage.draft.files)
        yield ProjectNote(request.services.project, Passage(passage.ref, draft))


# -- What agents noted for themselves -------------------------------------------------------------


def keep_notes_in_step(engine: Engine, project: str, root: Path) -> int:
    """Take in what changed in memory files that were imported before; returns how much did."""
    if not has_notes(engine, project):
        return 0
    found = client_notes(project, root, home=Path.home(), environment=os.environ)
    notes = list(doubted(engine, project, found))
    report = import_notes(engine, _NOTED, notes)
    if not report.skipped:
        report.changed += close_gone(engine, project, notes)
    return report.new + report.changed


def doubted(
    engine: Engine, project: str, notes: Iterable[ProjectNote | Skipped]
) -> Iterator[ProjectNote | Skipped]:
    """The notes; one that contradicts a person is kept beside their words, and waits for review."""
    theirs = [*engine.store.iterate(Filter(project=project, sources=(Source.USER_TAUGHT,)))]
    for note in notes:
        if isinstance(note, Skipped):
            yield note
            continue
        draft = note.passage.draft
        said = [line for line in draft.content.splitlines() if line.strip()]
        against = tuple(
            Relation(RelationType.CONFLICTS_WITH, target_id=one.id)
            for one in theirs
            if any(supersedes(one.content, line) for line in said)
        )
        marked = replace(draft, relations=against, needs_review=True) if against else draft
        yield ProjectNote(note.project, Passage(note.passage.ref, marked))


def _client_notes(request: SourceRequest) -> Iterator[ProjectNote | Skipped]:
    services = request.services
    usual = _note_folders(services.root, request.home, request.environment)
    _refuse(request, any(folder.is_dir() for folder, _ in usual))
    return client_notes(
        services.project,
        services.root,
        home=request.home,
        environment=request.environment,
        paths=request.paths,
    )


def _note_folders(
    root: Path, home: Path, environment: Mapping[str, str]
) -> tuple[tuple[Path, bool], ...]:
    """Where clients keep what their agents noted; True for a folder of all projects."""
    claude = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    codex = Path(environment.get("CODEX_HOME") or home / ".codex")
    mine = claude / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root)) / "memory"
    return ((mine, False), (codex / "memories", True), (claude / "plans", True))


def client_notes(
    project: str,
    root: Path,
    *,
    home: Path,
    environment: Mapping[str, str],
    paths: Sequence[Path] = (),
) -> Iterator[ProjectNote | Skipped]:
    """Memory files and plans: agents' words. Of files for all projects what names this one."""
    places = [(one, False) for one in paths] or _note_folders(root, home, environment)
    named = re.compile(rf"(?<![\w/]){re.escape(str(root))}(?![\w-])")
    for folder, is_shared in places:
        for path in sorted(folder.rglob("*.md")):
            text = read_document(folder, path.relative_to(folder).as_posix())
            if isinstance(text, Skipped):
                yield text
                continue
            parts = re.split(r"(?m)^(?=# )", text) if is_shared else [text]
            kept = "".join(one for one in parts if not is_shared or named.search(one))
            for passage in passages(readable(path), kept):
                ref = f"{CLIENT_NOTES}{passage.ref}"
                noted = replace(passage.draft, key=ref, source=Source.AGENT_EXPLICIT, files=())
                yield ProjectNote(project, Passage(ref, noted))


def _refuse(request: SourceRequest, is_usual: bool) -> None:
    for path in request.paths:
        if not path.is_dir():
            raise UsageError(
                f"{readable(path)} is no folder.", hint="Name a folder of notes (*.md)."
            )
    if not request.paths and not is_usual:
        raise NotFoundError(
            "There are no notes of Claude Code or Codex about this project.", hint="Name a folder."
        )


# -- Other tools ----------------------------------------------------------------------------------


def _claude_mem(request: SourceRequest) -> Iterator[ProjectNote | Skipped]:
    from wellkept.store.other_tools import read_claude_mem

    folder = Path(request.environment.get("CLAUDE_MEM_DATA_DIR") or request.home / ".claude-mem")
    for path in _files(request, folder / "claude-mem.db", tool="claude-mem"):
        yield from _in_projects(request, read_claude_mem(path))


def _mem0(request: SourceRequest) -> Iterator[ProjectNote | Skipped]:
    from wellkept.store.other_tools import read_mem0

    folder = Path(request.environment.get("MEM0_DIR") or request.home / ".mem0")
    for path in _files(request, folder / "history.db", tool="Mem0"):
        read = _mem0_export(path) if path.suffix in (".json", ".jsonl") else read_mem0(path)
        yield from _in_projects(request, read)


def _mem0_export(path: Path) -> Notes:
    """The result of `get_all`, saved as JSON: a list, or an object with `results`."""
    for number, item in enumerate(_json_items(path)):
        text = item.get("memory") or item.get("text") or item.get("data")
        if not isinstance(text, str) or not text.strip():
            yield DamagedRow(f"{path.name}#{number}", "has no memory text")
            continue
        name = item.get("id") or number
        names = item.get("categories")
        tags = [str(tag) for tag in cast("list[object]", names)] if isinstance(names, list) else []
        yield ToolNote(
            ref=f"mem0:{name}",
            content=text,
            kind="memory",
            at=moment(item.get("updated_at")) or moment(item.get("created_at")),
            tags=tuple(tags),
        )


def _json_items(path: Path) -> list[Mapping[str, object]]:
    try:
        if path.stat().st_size > _MAX_JSON_BYTES:
            raise UsageError(f"{path} is larger than {_MAX_JSON_BYTES >> 20} MB.")
        raw = path.read_text(encoding="utf-8-sig")
        read: object = (
            [json.loads(line) for line in raw.splitlines() if line.strip()]
            if path.suffix == ".jsonl"
            else json.loads(raw)
        )
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read as JSON: {error}.") from None
    if isinstance(read, dict):
        read = cast("dict[str, object]", read).get("results")
    if not isinstance(read, list):
        raise UsageError(f"{path} has no list of memories.", hint="Save what `get_all` returns.")
    items = cast("list[object]", read)
    return [cast("Mapping[str, object]", item) for item in items if isinstance(item, dict)]


def _mcp_memory_service(request: SourceRequest) -> Iterator[ProjectNote | Skipped]:
    from wellkept.store.other_tools import read_mcp_memory_service

    given = request.environment.get("MCP_MEMORY_SQLITE_PATH")
    usual = [
        request.home / folder / "mcp-memory" / "sqlite_vec.db"
        for folder in (".local/share", "Library/Application Support", "AppData/Local")
    ]
    default = Path(given) if given else next((p for p in usual if p.is_file()), usual[0])
    for path in _files(request, default, tool="mcp-memory-service"):
        yield from _in_projects(request, read_mcp_memory_service(path))


def _basic_memory(request: SourceRequest) -> Iterator[ProjectNote | Skipped]:
    """Notes are Markdown files; the tool's database only indexes them."""
    for folder in request.paths or _basic_memory_folders(request):
        if not folder.is_dir():
            raise NotFoundError(f"There is no folder {folder}.", hint="Name the notes' folder.")
        for path in sorted(folder.rglob("*.md")):
            name = path.relative_to(folder).as_posix()
            text = read_document(folder, name)
            if isinstance(text, Skipped):
                yield text
                continue
            fields, body = read_front_matter(text)
            title = str(fields.get("title") or path.stem)
            for passage in passages(name, f"# {title}\n\n{body}" if title not in body else text):
                ref = f"basic-memory:{passage.ref}"
                draft = replace(passage.draft, key=ref, tags=("basic-memory",), files=())
                yield ProjectNote(request.services.project, Passage(ref, draft))


def _basic_memory_folders(request: SourceRequest) -> list[Path]:
    try:
        config: object = json.loads((request.home / ".basic-memory" / "config.json").read_bytes())
    except (OSError, ValueError):
        config = {}
    projects = (
        cast("dict[str, object]", config).get("projects") if isinstance(config, dict) else None
    )
    folders: list[Path] = []
    for value in cast("dict[str, object]", projects).values() if isinstance(projects, dict) else ():
        path = cast("dict[str, object]", value).get("path") if isinstance(value, dict) else value
        if isinstance(path, str):
            folders.append(Path(path).expanduser())
    return folders or [request.home / "basic-memory"]


def _files(request: SourceRequest, usual: Path, *, tool: str) -> Sequence[Path]:
    if not request.paths and not usual.is_file():
        raise NotFoundError(
            f"There is no data of {tool} in {readable(usual.parent)}.", hint="Name its file."
        )
    return request.paths or (usual,)


def _in_projects(request: SourceRequest, notes: Notes) -> Iterator[ProjectNote | Skipped]:
    services = request.services
    names = {name.casefold() for name in (services.root.name, request.project_name)}
    for note in notes:
        if isinstance(note, DamagedRow):
            yield Skipped(note.ref, note.reason)
            continue
        mine = note.project is None or note.project.rsplit("/", 1)[-1].casefold() in names
        if not mine and not request.everything:
            yield ProjectNote(None, _passage(note))
            continue
        if note.kind == "prompt" and _has_session(services.store, note.session_id):
            continue
        project = services.project if mine else f"name:{note.project}"
        yield ProjectNote(services.store.canonical_project(project), _passage(note))


def _has_session(store: Store, session_id: str | None) -> bool:
    """Whether the session, and so its prompts, were captured already."""
    return session_id is not None and store.get_session(session_id) is not None


def _passage(note: ToolNote) -> Passage:
    return Passage(
        note.ref,
        MemoryDraft(
            content=note.content,
            type=_TYPES.get(note.kind, MemoryType.FACT),
            key=note.ref,
            tags=tuple(tag[:100] for tag in note.tags[:_MAX_TAGS]),
            files=note.files[:40],
            source=Source.IMPORTED,
            session_id=note.session_id,
            payload=note.payload,
            valid_from=note.at,
        ),
    )


SOURCES: Final[Mapping[str, Callable[[SourceRequest], Iterator[ProjectNote | Skipped]]]] = (
    MappingProxyType(
        {
            "git": _git,
            "instructions": _instructions,
            "client-notes": _client_notes,
            "claude-mem": _claude_mem,
            "mem0": _mem0,
            "basic-memory": _basic_memory,
            "mcp-memory-service": _mcp_memory_service,
        }
    )
)
