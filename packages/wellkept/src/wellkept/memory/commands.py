"""Carries out what a message tells the memory, without a model.

"Remember that …" is stored at once as taught by the user, and so is a rule stated in plain speech
and a decision in an answer to a question. "Forget …" closes the one memory that clearly matches;
with several matches or none, nothing is closed and the candidates are returned. "Scrap that" closes
what the message before taught. Questions recall. Invariant: any other message changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from wellkept.core.memory import Evidence, Memory, MemoryDraft
from wellkept.core.query import RAW_TYPES, Filter, Order
from wellkept.core.records import record
from wellkept.core.session.events import Answer
from wellkept.core.text import content_words, shorten, stem
from wellkept.core.types import EvidenceKind, MemoryType, Source
from wellkept.memory.draft import EXPLICIT_IMPORTANCE
from wellkept.memory.edit import forget
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.passages import fingerprint
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import DEFAULT_MIN_SCORE, RecallRequest
from wellkept.memory.remember import RememberResult, remember
from wellkept.text.memory_commands.answers import decision_in
from wellkept.text.memory_commands.detect import (
    Ask,
    Forget,
    MemoryCommand,
    Remember,
    detect_commands,
)
from wellkept.text.memory_commands.rules import FindNamed, nothing_named

MAX_CHOICES = 5
MAX_ANSWERS = 10
STATED_IMPORTANCE = 0.85
DECIDED_IMPORTANCE = 0.6
# "Scrap that" is about the message before; one in between may have been a remark.
_MESSAGES_BACK = 2
_MAX_WORDS_CHARS = 400
_RULE_TYPES = (MemoryType.PREFERENCE, MemoryType.CONVENTION, MemoryType.CORRECTION)
_PRONOUN = re.compile(r"(?:it|they|that|those)(?:'s|'re| is| are|s)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_PREFERENCES = frozenset({"preference", "preferences", "préférences"})


@record
class CommandResult:
    """Result of one command."""

    command: MemoryCommand
    kept: RememberResult | None = None
    forgotten: tuple[Memory, ...] = ()
    choices: tuple[Memory, ...] = ()


@record(kw_only=True)
class Speaker:
    """Who says it, in which session and when (None: now); `earlier` are the times of messages
    before it that are not stored yet; `answers_to` is the agent's message before it; `find_named`
    finds what the words name in the project."""

    author: str | None = None
    session_id: str | None = None
    at: datetime | None = None
    earlier: tuple[datetime, ...] = ()
    answers_to: str | None = None
    find_named: FindNamed = nothing_named


def apply_commands(
    engine: Engine,
    message: str,
    *,
    project: str,
    speaker: Speaker | None = None,
    remember_only: bool = False,
) -> list[CommandResult]:
    """Carry out everything that the message tells the memory, in order.

    `remember_only` is for old transcripts: a question then wants no answer now, and "forget" closes
    only what an imported session taught before.
    """
    said_by = speaker or Speaker()
    done: list[CommandResult] = []
    for command in detect_commands(message, answers_to=said_by.answers_to):
        match command:
            case Ask() if remember_only:
                continue
            case Remember():
                draft = _draft(command, said_by, words=message)
                done.append(CommandResult(command, kept=remember(engine, draft, project=project)))
            case Forget():
                before = said_by.at if remember_only else None
                done.append(_forget(engine, command, said_by, project=project, before=before))
            case Ask():
                done.append(
                    CommandResult(command, choices=_answers(engine, command, project=project))
                )
    return done


def apply_answers(
    engine: Engine,
    answers: Sequence[Answer],
    *,
    project: str,
    speaker: Speaker | None = None,
    remember_only: bool = False,
) -> list[CommandResult]:
    """Store the rules and decisions in a person's answers to an agent's questions."""
    said_by = speaker or Speaker()
    done: list[CommandResult] = []
    for answer in answers:
        told = (
            []
            if answer.is_choice
            else apply_commands(
                engine, answer.answer, project=project, speaker=said_by, remember_only=remember_only
            )
        )
        decided = None if told else decision_in(answer)
        if decided is not None:
            named = said_by.find_named(decided.content)
            draft = MemoryDraft(
                content=decided.content,
                type=MemoryType.DECISION,
                tags=named.tags,
                files=named.files,
                graph_node=named.symbol,
                # A later answer to the same question replaces it.
                key=f"answer:{fingerprint(decided.question.casefold())}",
                importance=DECIDED_IMPORTANCE,
                source=Source.USER_TAUGHT,
                author=said_by.author,
                session_id=said_by.session_id,
                evidence=(_evidence(said_by, f"{answer.question} {answer.answer}"),),
                valid_from=said_by.at,
            )
            kept = remember(engine, draft, project=project)
            told = [CommandResult(Remember(decided.content, MemoryType.DECISION), kept=kept)]
        done += told
    return done


def _draft(command: Remember, said_by: Speaker, *, words: str) -> MemoryDraft:
    named = said_by.find_named(command.content)
    return MemoryDraft(
        content=_with_subject(command.content, said_by.answers_to),
        type=command.type,
        tags=named.tags,
        files=named.files,
        graph_node=named.symbol,
        importance=STATED_IMPORTANCE if command.stated else EXPLICIT_IMPORTANCE,
        confidence=command.stated or None,
        source=Source.USER_TAUGHT,
        author=said_by.author,
        session_id=said_by.session_id,
        evidence=(_evidence(said_by, words),),
        valid_from=said_by.at,
    )


def _with_subject(content: str, answers_to: str | None) -> str:
    """A correction such as "it's the v2 endpoint", with the sentence of the agent that it is about:
    the last one that is no question."""
    if not answers_to or _PRONOUN.match(content) is None:
        return content
    told = [one.strip(" -*#`") for one in _SENTENCE_END.split(answers_to[-2_000:]) if one.strip()]
    about = next((one for one in reversed(told) if not one.endswith(("?", ":"))), None)
    return f'{content} (about: "{shorten(about, limit=140)}")' if about else content


def _evidence(said_by: Speaker, words: str) -> Evidence:
    note = shorten(" ".join(words.split()), limit=_MAX_WORDS_CHARS)
    return Evidence(EvidenceKind.PERSON, said_by.author or "user", note, said_by.at)


def _forget(
    engine: Engine, command: Forget, said_by: Speaker, *, project: str, before: datetime | None
) -> CommandResult:
    if not command.query:
        last = _just_taught(engine, said_by, project=project)
        return _closed(engine, command, last[:1])
    found = _matches(engine, command.query, project=project)
    if before is not None:
        found = [m for m in found if m.session_id is not None and m.valid_from <= before]
    terms = _stems(command.query)
    clear = [m for m in found if terms and terms <= _stems(m.content)]
    # The prompt that taught something has the same words.
    clear = [m for m in clear if m.type not in RAW_TYPES] or clear
    if len(clear) > 1 and command.recent:
        clear = [m for m in clear if m.session_id == said_by.session_id] or clear
    if len(clear) != 1:
        return CommandResult(command, choices=tuple((clear or found)[:MAX_CHOICES]))
    return _closed(engine, command, clear)


def _closed(engine: Engine, command: Forget, memories: Sequence[Memory]) -> CommandResult:
    ids = [memory.id for memory in memories]
    closed = forget(engine, ids, keep_history=True) if ids else ()
    return CommandResult(command, forgotten=tuple(closed))


def _stems(text: str) -> set[str]:
    return {stem(word) for word in content_words(text)}


def _just_taught(engine: Engine, said_by: Speaker, *, project: str) -> list[Memory]:
    """What the last messages of this session taught, newest first."""
    if said_by.session_id is None:
        return []
    sessions = (said_by.session_id,)
    prompts = engine.store.list(
        Filter(
            project=project,
            types=(MemoryType.PROMPT,),
            sessions=sessions,
            until=said_by.at,
            archived=None,
        ),
        order=Order.EVENT_LATEST,
        limit=_MESSAGES_BACK,
    ).items
    times = sorted({*(prompt.valid_from for prompt in prompts), *said_by.earlier})
    since = times[-_MESSAGES_BACK:][0] if times else None
    taught = Filter(project=project, sources=(Source.USER_TAUGHT,), sessions=sessions, since=since)
    found = engine.store.list(taught, order=Order.EVENT_LATEST, limit=MAX_CHOICES).items
    return list(found)


def _answers(engine: Engine, command: Ask, *, project: str) -> tuple[Memory, ...]:
    about = set(content_words(command.query))
    if about - _PREFERENCES:
        found = _matches(engine, command.query, project=project, min_score=DEFAULT_MIN_SCORE)
        return tuple(found)
    where = Filter(project=project, types=_RULE_TYPES if about else ())
    return engine.store.list(where, order=Order.IMPORTANCE, limit=MAX_ANSWERS).items


def _matches(engine: Engine, query: str, *, project: str, min_score: float = 0.0) -> list[Memory]:
    """Hits that match by themselves; neighbours of a hit in its session do not count."""
    request = RecallRequest(
        query=query, where=Filter(project=project), count_access=False, min_score=min_score
    )
    return [hit.memory for hit in recall(engine, request) if hit.retrievers != ("context",)]
