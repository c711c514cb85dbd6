"""Carries out the memory commands in a message, without a model.

"Remember that …" is stored at once as taught by the user. "Forget …" closes the one memory that
clearly matches; with several matches or none, nothing is closed and the candidates are returned.
Questions recall. Invariant: a message without an explicit command changes nothing.
"""

from __future__ import annotations

from wellkept.core.memory import Evidence, Memory, MemoryDraft
from wellkept.core.query import Filter, Order
from wellkept.core.records import record
from wellkept.core.text import content_words
from wellkept.core.types import EvidenceKind, MemoryType, Source
from wellkept.memory.commands.detect import Ask, Forget, MemoryCommand, Remember, detect_commands
from wellkept.memory.draft import EXPLICIT_IMPORTANCE
from wellkept.memory.edit import forget
from wellkept.memory.engine import Engine
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import RecallRequest
from wellkept.memory.remember import RememberResult, remember

MAX_CHOICES = 5
MAX_ANSWERS = 10
_RULE_TYPES = (MemoryType.PREFERENCE, MemoryType.CONVENTION, MemoryType.CORRECTION)
_PREFERENCES = frozenset({"preference", "preferences", "préférences"})


@record
class CommandResult:
    """Result of one command."""

    command: MemoryCommand
    kept: RememberResult | None = None
    forgotten: tuple[Memory, ...] = ()
    choices: tuple[Memory, ...] = ()


def apply_commands(
    engine: Engine,
    message: str,
    *,
    project: str,
    author: str | None = None,
    session_id: str | None = None,
    remember_only: bool = False,
) -> list[CommandResult]:
    """Carry out every explicit memory command in the message, in order.

    `remember_only` skips the others. Imports of old transcripts need it: an old "forget" referred
    to what was stored then.
    """
    done: list[CommandResult] = []
    for command in detect_commands(message):
        match command:
            case Forget() | Ask() if remember_only:
                continue
            case Remember():
                draft = _draft(command, author=author, session_id=session_id)
                done.append(CommandResult(command, kept=remember(engine, draft, project=project)))
            case Forget():
                done.append(_forget(engine, command, project=project))
            case Ask():
                done.append(
                    CommandResult(command, choices=_answers(engine, command, project=project))
                )
    return done


def _draft(command: Remember, *, author: str | None, session_id: str | None) -> MemoryDraft:
    return MemoryDraft(
        content=command.content,
        type=command.type,
        importance=EXPLICIT_IMPORTANCE,
        source=Source.USER_TAUGHT,
        author=author,
        session_id=session_id,
        evidence=(Evidence(EvidenceKind.PERSON, author or "user"),),
    )


def _forget(engine: Engine, command: Forget, *, project: str) -> CommandResult:
    found = _matches(engine, command.query, project=project)
    terms = set(content_words(command.query))
    clear = [m for m in found if terms and terms <= set(content_words(m.content))]
    if len(clear) != 1:
        return CommandResult(command, choices=tuple((clear or found)[:MAX_CHOICES]))
    return CommandResult(command, forgotten=tuple(forget(engine, [clear[0].id], keep_history=True)))


def _answers(engine: Engine, command: Ask, *, project: str) -> tuple[Memory, ...]:
    about = set(content_words(command.query))
    if about - _PREFERENCES:
        return tuple(_matches(engine, command.query, project=project))
    where = Filter(project=project, types=_RULE_TYPES if about else ())
    return engine.store.list(where, order=Order.IMPORTANCE, limit=MAX_ANSWERS).items


def _matches(engine: Engine, query: str, *, project: str) -> list[Memory]:
    """Hits that match by themselves; neighbours of a hit in its session do not count."""
    request = RecallRequest(query=query, where=Filter(project=project), count_access=False)
    return [hit.memory for hit in recall(engine, request) if hit.retrievers != ("context",)]
