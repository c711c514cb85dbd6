"""What other places than transcripts have to tell: git, instruction files, other memory tools.

Each source finds its own files when none are named, and turns what is there into statements with
keys. A tool that knows projects by a folder's name gives this project what carries its name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from wellkept.app.graph.co_change import history_links, link_history
from wellkept.app.imports.notes import NotesReport, ProjectNote, import_notes, readable
from wellkept.app.imports.repository_docs import Skipped, passages, read_document
from wellkept.app.projects.commits import commit_draft, read_history, read_past
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.memory import MemoryDraft
from wellkept.core.records import record, replace
from wellkept.core.types import MemoryType, Scope, Source
from wellkept.memory.exchange.markdown_document import read_front_matter
from wellkept.memory.exchange.passages import Passage
from wellkept.store.other_tools.records import DamagedRow, Notes, ToolNote, moment

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.app.wellkept import Wellkept
    from wellkept.core.types import Progress

MAX_COMMITS: Final = 5_000
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


@record(kw_only=True)
class SourceRequest:
    """What a source is asked for. `everything` takes in other projects' memories as well."""

    wk: Wellkept
    home: Path
    environment: Mapping[str, str]
    paths: tuple[Path, ...] = ()
    everything: bool = False


def import_source(
    name: str,
    asked: SourceRequest,
    *,
    since: datetime | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> NotesReport:
    """Take in what one of `SOURCES` has to tell."""
    notes = SOURCES[name](asked)
    report = import_notes(asked.wk, name, notes, since=since, dry_run=dry_run, progress=progress)
    if name == "git" and not dry_run:
        _link_files(asked)
    return report


# -- git and instruction files --------------------------------------------------------------------


def _roots(asked: SourceRequest) -> tuple[Path, ...]:
    for path in asked.paths:
        if not path.is_dir():
            raise NotFoundError(f"There is no folder {path}.")
    return asked.paths or (asked.wk.root,)


def _git(asked: SourceRequest) -> Iterator[ProjectNote | Skipped]:
    for root in _roots(asked):
        past = read_history(root, limit=MAX_COMMITS)
        if past is None:
            yield Skipped(root.as_posix(), "is no git checkout with commits, or git is missing")
            continue
        for commit in reversed(past):
            draft = commit_draft(commit)
            if draft is not None:
                yield ProjectNote(asked.wk.project, Passage(commit.sha, draft))


def _link_files(asked: SourceRequest) -> None:
    links = [
        link
        for root in _roots(asked)
        for link in history_links(read_past(root, limit=MAX_COMMITS) or [])
    ]
    if links:
        link_history(asked.wk.engine, asked.wk.project, links)


def _instructions(asked: SourceRequest) -> Iterator[ProjectNote | Skipped]:
    """The instructions that a project gives its agents, and those that a person gives all."""
    for root in _roots(asked):
        rules = (p for folder in _RULE_FOLDERS for p in sorted((root / folder).glob("**/*.md*")))
        names = [*_INSTRUCTIONS, *(path.relative_to(root).as_posix() for path in rules)]
        for name in names:
            if (root / name).is_file():
                yield from _document(asked, root, name, personal=False)
    for name in () if asked.paths else _PERSONAL:
        if (asked.home / name).is_file():
            yield from _document(asked, asked.home, name, personal=True)


def _document(
    asked: SourceRequest, root: Path, name: str, *, personal: bool
) -> Iterator[ProjectNote | Skipped]:
    text = read_document(root, name)
    if isinstance(text, Skipped):
        yield text
        return
    for passage in passages(f"~/{name}" if personal else name, text):
        scope = Scope.USER if personal else passage.draft.scope
        draft = replace(passage.draft, scope=scope, files=() if personal else passage.draft.files)
        yield ProjectNote(asked.wk.project, Passage(passage.ref, draft))


# -- Other tools ----------------------------------------------------------------------------------


def _claude_mem(asked: SourceRequest) -> Iterator[ProjectNote | Skipped]:
    from wellkept.store.other_tools import claude_mem

    folder = Path(asked.environment.get("CLAUDE_MEM_DATA_DIR") or asked.home / ".claude-mem")
    for path in _files(asked, folder / "claude-mem.db", tool="claude-mem"):
        yield from _placed(asked, claude_mem.read(path))


def _mem0(asked: SourceRequest) -> Iterator[ProjectNote | Skipped]:
    from wellkept.store.other_tools import mem0

    folder = Path(asked.environment.get("MEM0_DIR") or asked.home / ".mem0")
    for path in _files(asked, folder / "history.db", tool="Mem0"):
        read = _mem0_export(path) if path.suffix in (".json", ".jsonl") else mem0.read(path)
        yield from _placed(asked, read)


def _mem0_export(path: Path) -> Notes:
    """What `get_all` gives, saved as JSON: a list, or an object with `results`."""
    for number, item in enumerate(_json_items(path)):
        text = item.get("memory") or item.get("text") or item.get("data")
        if not isinstance(text, str) or not text.strip():
            yield DamagedRow(f"{path.name}#{number}", "holds no memory")
            continue
        name = item.get("id") or number
        told = item.get("categories")
        tags = [str(tag) for tag in cast("list[object]", told)] if isinstance(told, list) else []
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
        raise UsageError(f"{path} holds no list of memories.", hint="Save what `get_all` returns.")
    items = cast("list[object]", read)
    return [cast("Mapping[str, object]", item) for item in items if isinstance(item, dict)]


def _mcp_memory_service(asked: SourceRequest) -> Iterator[ProjectNote | Skipped]:
    from wellkept.store.other_tools import mcp_memory_service

    given = asked.environment.get("MCP_MEMORY_SQLITE_PATH")
    usual = [
        asked.home / folder / "mcp-memory" / "sqlite_vec.db"
        for folder in (".local/share", "Library/Application Support", "AppData/Local")
    ]
    place = Path(given) if given else next((p for p in usual if p.is_file()), usual[0])
    for path in _files(asked, place, tool="mcp-memory-service"):
        yield from _placed(asked, mcp_memory_service.read(path))


def _basic_memory(asked: SourceRequest) -> Iterator[ProjectNote | Skipped]:
    """Notes are Markdown files; the tool's database only indexes them."""
    for folder in asked.paths or _basic_memory_folders(asked):
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
                yield ProjectNote(asked.wk.project, Passage(ref, draft))


def _basic_memory_folders(asked: SourceRequest) -> list[Path]:
    try:
        config: object = json.loads((asked.home / ".basic-memory" / "config.json").read_bytes())
    except (OSError, ValueError):
        config = {}
    told = cast("dict[str, object]", config).get("projects") if isinstance(config, dict) else None
    folders: list[Path] = []
    for value in cast("dict[str, object]", told).values() if isinstance(told, dict) else ():
        path = cast("dict[str, object]", value).get("path") if isinstance(value, dict) else value
        if isinstance(path, str):
            folders.append(Path(path).expanduser())
    return folders or [asked.home / "basic-memory"]


def _files(asked: SourceRequest, usual: Path, *, tool: str) -> Sequence[Path]:
    if not asked.paths and not usual.is_file():
        raise NotFoundError(
            f"There is no data of {tool} in {readable(usual.parent)}.", hint="Name its file."
        )
    return asked.paths or (usual,)


def _placed(asked: SourceRequest, notes: Notes) -> Iterator[ProjectNote | Skipped]:
    wk = asked.wk
    names = {name.casefold() for name in (wk.root.name, wk.project_name)}
    for note in notes:
        if isinstance(note, DamagedRow):
            yield Skipped(note.ref, note.reason)
            continue
        mine = note.project is None or note.project.rsplit("/", 1)[-1].casefold() in names
        if not mine and not asked.everything:
            yield ProjectNote(None, _passage(note))
            continue
        if note.kind == "prompt" and _is_known(wk, note.session_id):
            continue
        project = wk.project if mine else f"name:{note.project}"
        yield ProjectNote(wk.engine.store.canonical_project(project), _passage(note))


def _is_known(wk: Wellkept, session_id: str | None) -> bool:
    """Whether the prompts of a session are here already."""
    return session_id is not None and wk.engine.store.get_session(session_id) is not None


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
            "claude-mem": _claude_mem,
            "mem0": _mem0,
            "basic-memory": _basic_memory,
            "mcp-memory-service": _mcp_memory_service,
        }
    )
)
