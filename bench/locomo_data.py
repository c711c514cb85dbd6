"""LoCoMo as drafts to remember and questions with their evidence.

The file is the published one: `conversation.session_N` are turns, `qa` questions. A picture's
caption is part of its turn. Questions of category 5 have no answer and are left out, as are
those whose evidence names no turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wellkept.core.memory import MemoryDraft
from wellkept.core.types import MemoryType

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_SESSION = re.compile(r"session_(\d+)")
_SEPARATORS = re.compile(r"[;,\s]+")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation."""

    id: str
    session: str
    seq: int
    speaker: str
    text: str
    at: datetime

    def draft(self) -> MemoryDraft:
        """The turn as something to remember."""
        return MemoryDraft(
            content=self.text,
            type=MemoryType.EPISODE,
            author=self.speaker,
            session_id=self.session,
            seq=self.seq,
            valid_from=self.at,
        )


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the turns that hold its answer."""

    text: str
    evidence: frozenset[str]
    category: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation over many sessions, and what is asked about it."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    @property
    def ends_at(self) -> datetime:
        """When the last session took place: questions are asked after it."""
        return max(turn.at for turn in self.turns)


def load(path: Path) -> list[Conversation]:
    """Every conversation of a LoCoMo file."""
    entries: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return [_conversation(entry, number) for number, entry in enumerate(entries, start=1)]


def _conversation(entry: dict[str, Any], number: int) -> Conversation:
    turns = tuple(_turns(entry["conversation"]))
    known = {turn.id for turn in turns}
    questions = tuple(_questions(entry["qa"], known))
    return Conversation(str(entry.get("sample_id", number)), turns, questions)


def _turns(conversation: dict[str, Any]) -> Iterator[Turn]:
    sessions = sorted(int(m.group(1)) for m in map(_SESSION.fullmatch, conversation) if m)
    for session in sessions:
        stated = conversation[f"session_{session}_date_time"]
        at = datetime.strptime(stated, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for seq, turn in enumerate(conversation[f"session_{session}"]):
            caption = turn.get("blip_caption")
            text = f"{turn['text']} [shares {caption}]" if caption else turn["text"]
            yield Turn(turn["dia_id"], f"session-{session}", seq, turn["speaker"], text, at)


def _questions(entries: list[dict[str, Any]], known: set[str]) -> Iterator[Question]:
    for entry in entries:
        parts = [p.strip("()") for e in entry["evidence"] for p in _SEPARATORS.split(e)]
        evidence = frozenset(part for part in parts if part in known)
        if entry["category"] in CATEGORIES and evidence:
            yield Question(entry["question"], evidence, entry["category"])
