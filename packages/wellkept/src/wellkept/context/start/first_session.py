"""What the first session in a project is told: what `init` found, as long as no session is known.

Commands as the project's files declare them, its conventions on one line, and the main modules. Not
what the client loads itself. Later sessions are told declared commands only where none has shown
itself to work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.context.candidates import ContextCandidate
from wellkept.context.sections import Section, SectionLine, SectionLines
from wellkept.core.query import Filter, Order
from wellkept.core.text import shorten
from wellkept.core.types import MemoryType
from wellkept.memory.engine import Engine
from wellkept.observe.failures.declared_commands import DeclaredCommand, read_declared

if TYPE_CHECKING:
    from wellkept.context.build import ContextRequest
    from wellkept.context.client_files import ClientFiles

COMMANDS_TITLE = "Commands, as the project's files declare them"
MAX_COMMANDS = 6
_MAX_CONVENTIONS = 4
_MAX_MODULES = 5
_MODULE_CHARS = 200
_PURPOSES = ("test", "one test", "lint", "types", "format", "build", "run", "setup")
# What a newcomer gets wrong; indentation and file names show in every file.
_TOLD = ("commit", "line length", "git hooks", "tests", "types", "linter", "checks", "dependencies")


def declared_lines(
    engine: Engine, request: ContextRequest, *, files: ClientFiles, without: Sequence[str] = ()
) -> tuple[SectionLine, ...]:
    """Declared commands that the client does not load, one for each purpose that is not named in
    `without`."""
    declared = {one.purpose: one for one in read_declared(engine.store, request.project)}
    told = [
        declared[purpose]
        for purpose in _PURPOSES
        if purpose in declared and purpose.split()[-1] not in without
    ]
    return tuple(
        SectionLine.of(
            Section.COMMANDS, one.text, reason=f"declared {one.purpose} command", name=one.command
        )
        for one in told
        if not _is_loaded(one, files)
    )[:MAX_COMMANDS]


def first_session(
    engine: Engine, request: ContextRequest, *, files: ClientFiles
) -> tuple[tuple[SectionLines, ...], tuple[ContextCandidate, ...]]:
    """Sections and memories for a session before which there was none."""
    commands = declared_lines(engine, request, files=files)
    sections: list[SectionLines] = []
    if commands:
        sections.append(SectionLines(Section.COMMANDS, commands, title=COMMANDS_TITLE))
    if line := _conventions(engine, request.project, files=files):
        sections.append(SectionLines(Section.KNOWN, (line,), title="Conventions"))
    return tuple(sections), tuple(_modules(engine, request.project))


def _is_loaded(one: DeclaredCommand, files: ClientFiles) -> bool:
    return files.has_command(one.command) or bool(one.runs and files.has_command(one.runs))


def _conventions(engine: Engine, project: str, *, files: ClientFiles) -> SectionLine | None:
    where = Filter(project=project, types=(MemoryType.CONVENTION,), tags=("repository",))
    found = engine.store.list(where, order=Order.IMPORTANCE, limit=60).items
    short = {
        (one.key or "").removeprefix("repo:convention:"): one.content
        for one in found
        if "document" not in one.tags and not files.has(one.content)
    }
    told = [
        text for start in _TOLD for name, text in sorted(short.items()) if name.startswith(start)
    ]
    if not told:
        return None
    text = " ".join(told[:_MAX_CONVENTIONS])
    return SectionLine.of(Section.KNOWN, text, reason="conventions of this project")


def _modules(engine: Engine, project: str) -> list[ContextCandidate]:
    where = Filter(project=project, types=(MemoryType.MODULE_INSIGHT,), tags=("module",))
    found = engine.store.list(where, order=Order.IMPORTANCE, limit=_MAX_MODULES).items
    return [
        ContextCandidate(
            one,
            0.1,
            "module map",
            text=shorten(one.content.removeprefix("Where things are: "), limit=_MODULE_CHARS),
            section=Section.MODULES,
        )
        for one in found
    ]
