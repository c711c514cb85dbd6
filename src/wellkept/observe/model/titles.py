"""Observations in a model's words: a better title and narrative for what a rule has told.

What was seen (kind, facts, files, commit) is never a model's to change, nor is anything that a
person stands behind. What a model says of an observation and makes no sense leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from wellkept.core.changes import Change, Replace
from wellkept.core.memory import Memory
from wellkept.core.payloads import Observation
from wellkept.core.records import replace
from wellkept.core.text import shorten
from wellkept.memory.draft import safe_content, safe_note
from wellkept.memory.engine import Engine
from wellkept.observe.session.drafts import observation_text

MAX_OFFERED = 12
TOKENS_EACH = 90
TITLE_CHARS = 99
NARRATIVE_CHARS = 400
INSTRUCTIONS = """A further field, observations, is an object. For each note below that begins with
[kind id] and that you can tell better, it holds under the id an object of two strings: title, one
line of at most 99 characters that says what was done to what, and narrative, at most two sentences.
"""


def rewordable(memories: Sequence[Memory]) -> list[Memory]:
    """Those of a session's memories that a model may reword, the latest."""
    mine = [
        memory
        for memory in memories
        if isinstance(memory.payload, Observation) and not (memory.user_verified or memory.pinned)
    ]
    return mine[-MAX_OFFERED:]


def rewordings(engine: Engine, said: object, known: Sequence[Memory]) -> list[Change]:
    """The changes that follow from the part of an answer that is about observations."""
    told = cast("dict[str, object]", said) if isinstance(said, dict) else {}
    changes: list[Change] = []
    for memory in known:
        better = _reworded(memory.payload, told.get(memory.short))
        if better is None or better == memory.payload:
            continue
        again = replace(
            memory,
            content=safe_content(observation_text(better)),
            payload=better,
            updated_at=max(engine.clock(), memory.updated_at),
        )
        changes.append(Replace(again, engine.card(again), memory.updated_at))
    return changes


def _reworded(seen: object, said: object) -> Observation | None:
    if not isinstance(seen, Observation) or not isinstance(said, dict):
        return None
    parts = cast("dict[str, object]", said)
    title = _line(parts.get("title"), limit=TITLE_CHARS) or seen.title
    narrative = _line(parts.get("narrative"), limit=NARRATIVE_CHARS) or seen.narrative
    return replace(seen, title=title, narrative=narrative)


def _line(said: object, *, limit: int) -> str | None:
    """A model's words on one line, without secrets; None when there are none."""
    text = safe_note(" ".join(said.split())) if isinstance(said, str) else None
    return shorten(text, limit=limit) if text else None
