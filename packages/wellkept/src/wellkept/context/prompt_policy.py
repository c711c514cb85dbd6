"""When a prompt is answered with context nobody asked for, and with which.

Silence beats noise: a notice of the client gets nothing; a brief of another agent only what is tied
to the files it names; a prompt of a few words only whose files are whose when it says to commit. A
failed command gets the way out of it.
Imports of `observe` wait until a moment needs them: every hook that asks for context loads this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.context.candidates import ContextCandidate, weight
from wellkept.context.moments import ContextRequest, Moment, ReadTree
from wellkept.context.sections import Section, SectionLine, SectionLines
from wellkept.core.query import Filter
from wellkept.core.types import MemoryType
from wellkept.memory.engine import Engine

if TYPE_CHECKING:
    from wellkept.observe.failures.lessons import KnownWayOut

MAX_WORDS = 3
MAX_NAMED_FILES = 8
_MAX_FILES = 4
_PATH = re.compile(r"(?<![\w/.@:-])/?(?:[\w.@()\[\]-]+/)+[\w.@()\[\]-]+\.\w{1,8}\b")
_COMMIT = re.compile(r"^(?:and |now |then |ok(?:ay)?,? |please )*(?:commit|push|stage)\b", re.I)


class PromptKind(StrEnum):
    """How a prompt is answered."""

    NOTICE = "notice"
    BRIEF = "brief"
    SHORT = "short"
    PLAIN = "plain"


def prompt_kind(text: str) -> PromptKind:
    """What kind of prompt a text is."""
    from wellkept.text.own_words import agent_task, own_words

    if agent_task(text) is not None:
        return PromptKind.BRIEF
    words = own_words(text).split()
    if not words:
        return PromptKind.NOTICE
    return PromptKind.SHORT if len(words) <= MAX_WORDS else PromptKind.PLAIN


def named_files(text: str, *, cwd: str | None) -> tuple[str, ...]:
    """Paths inside the working folder that a brief names, in order."""
    inside = f"{cwd.rstrip('/')}/" if cwd else "/"
    found = (path.removeprefix(inside) for path in _PATH.findall(text))
    return tuple(dict.fromkeys(one for one in found if one[0] not in "/."))[:MAX_NAMED_FILES]


def foreign_files(
    engine: Engine, request: ContextRequest, *, root: Path, read_tree: ReadTree
) -> Iterator[SectionLines]:
    """Before a commit: which files are this session's, when another one changed some too."""
    is_asked = request.moment is Moment.PROMPT and request.quiet and request.session
    if not is_asked or not _COMMIT.match(request.query.strip()):
        return
    from datetime import timedelta

    from wellkept.observe.session.digest import since_commit
    from wellkept.observe.session.state import load_state

    mine = engine.store.get_session(str(request.session).partition("/")[0])
    if mine is None:
        return
    own = since_commit(load_state(mine.work).steps)
    since = mine.started_at - timedelta(days=1)
    others = [
        one
        for one in engine.store.sessions(project=request.project, limit=10)
        if one.id != mine.id and one.last_event_at >= since and one.cwd == mine.cwd
    ]
    if not own or not others:
        return
    tree = read_tree(root, own)
    left: dict[str, None] = {}
    for one in others:
        # Without git only a session that ran meanwhile is sure to have left its files.
        if tree is not None or one.last_event_at >= mine.started_at:
            left |= dict.fromkeys(since_commit(load_state(one.work).steps))
    theirs = [p for p in left if p not in own and (tree is None or tree.is_dirty(p))]
    if theirs:
        text = (
            f"Edited in this session: {_listed(own)}. Of another session, not yours:"
            f" {_listed(theirs)}."
        )
        line = SectionLine.of(Section.KNOWN, text, reason="parallel session")
        yield SectionLines(Section.KNOWN, (line,))


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - _MAX_FILES} more" if len(paths) > _MAX_FILES else ""
    return ", ".join(paths[-_MAX_FILES:]) + more


MIN_SESSIONS_BEFORE_RUN = 2


def way_outs(
    engine: Engine, request: ContextRequest, *, command: str, output: str
) -> tuple[ContextCandidate, ...]:
    """Ways out for the command at hand: after it failed, or before it runs."""
    failures = Filter(project=request.project, types=(MemoryType.ERROR_PATTERN,), stale=False)
    is_run = request.moment in (Moment.FAILURE, Moment.COMMAND)
    if not is_run or not engine.store.list(failures, limit=1).items:
        return ()  # and what understands commands is not loaded
    if request.moment is Moment.FAILURE:
        found = after_failure(engine, project=request.project, command=command, output=output)
        return tuple(found)
    return tuple(_before_run(engine, project=request.project, command=command))


def after_failure(
    engine: Engine, *, project: str, command: str, output: str
) -> Iterator[ContextCandidate]:
    """What worked after the same failure, once one success has proved it."""
    from wellkept.observe.failures.lessons import find_way_outs, told_text
    from wellkept.text.events.failure_cause import failure_cause
    from wellkept.text.shell.reader import parse_command

    cause = failure_cause(parse_command(command), output, output)
    if cause is None:
        return
    # The newest proof is enough: a second remedy for one failure would only make it a guess.
    for known in islice(find_way_outs(engine, project=project, command=command, cause=cause), 1):
        yield _candidate(known, "the same failure before", told_text(known))


def _before_run(engine: Engine, *, project: str, command: str) -> Iterator[ContextCandidate]:
    """What to run instead of a command that failed in this form in several sessions."""
    from wellkept.observe.failures.lessons import known_to_fail, told_text

    for known in known_to_fail(engine, project=project, command=command):
        if known.sessions >= MIN_SESSIONS_BEFORE_RUN:
            yield _candidate(known, "this command failed before", told_text(known))


def _candidate(known: KnownWayOut, reason: str, text: str) -> ContextCandidate:
    return ContextCandidate(known.memory, 3.0 + weight(known.memory), reason, text=text)
