"""What a person lays down in plain speech, without a memory word: decisions, corrections, rules and
answers to the agent's questions.

"No, don't use float for money, integer cents everywhere", "let's go with SQLite, we don't want to
run a server". Recall first: a sentence is kept when its cues weigh enough, whole and as it was
said. Only a person's own words count (`own_words`), and no question, supposition, report,
permission or wish about the task at hand. The cues are data (`text/data/speech.toml`). Knows
nothing of storage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from wellkept.core.records import record
from wellkept.core.text import cjk_runs, content_words
from wellkept.core.types import MemoryType
from wellkept.text.own_words import MASK, Sentence, own_sentences
from wellkept.text.rule_data import read_rules

ENOUGH = 4
MAX_SENTENCE_CHARS = 500
MAX_QUOTATION_CHARS = 700
MAX_FOLLOWING = 2
_MIN_WORDS, _MIN_CJK = 3, 5
_CONTRADICTED, _IN_THIS_PROJECT = 3, 2
_MACRO = re.compile(r"\{([a-z_]+)\}")
_TASK = re.compile(
    r"(?:please |now |then |so |and |can you |could you )*(?:fix|add|change|update|undo|redo|try|do"
    r"|make|rename|remove|delete|commit|push|continue|go on|go ahead|check|look|find out|run)\b",
    re.IGNORECASE,
)


@record
class Statement:
    """What a sentence lays down: its type and how much speaks for it."""

    type: MemoryType
    weight: int


@record
class _Cue:
    weight: int
    type: MemoryType | None
    pattern: re.Pattern[str]


def read_statement(
    text: str,
    *,
    contradicts: bool = False,
    after_retraction: bool = False,
    in_this_project: bool = False,
) -> Statement | None:
    """What a masked sentence without its opener lays down; None when nothing."""
    plain = text.replace("’", "'").rstrip(" .!。！")
    if len(plain) > MAX_SENTENCE_CHARS or plain.endswith((":", "：")) or not _says_something(plain):
        return None
    if any(never.search(plain) for never in _never()):
        return None
    found = [cue for cue in _cues() if cue.pattern.search(plain)]
    weight = sum(cue.weight for cue in found) + (_CONTRADICTED if contradicts else 0)
    weight += ENOUGH if after_retraction else 0
    weight += _IN_THIS_PROJECT if in_this_project else 0
    kind = next((cue.type for cue in found if cue.type and cue.weight >= ENOUGH), None)
    kind = kind or next((cue.type for cue in found if cue.type), None)
    kind = kind or (MemoryType.FACT if in_this_project else None)
    kind = MemoryType.CORRECTION if contradicts or after_retraction else kind
    return Statement(kind, weight) if weight >= ENOUGH and kind else None


def decisions_in(text: str) -> list[str]:
    """The sentences of a text that lay down a decision, as they stand there."""
    found: list[str] = []
    for one in own_sentences(text):
        read = None if one.asks or one.supposes else read_statement(one.masked)
        if read is not None and read.type is MemoryType.DECISION:
            found.append(text[one.start : one.end])
    return found


def quotation_end(sentence: Sentence, following: Sequence[Sentence]) -> int:
    """Where the quotation that begins with a sentence ends: sentences of its paragraph that go on
    belong to it, a question or a request does not."""
    end = sentence.end
    for one in following[:MAX_FOLLOWING]:
        is_near = one.paragraph == sentence.paragraph and not one.bullet
        if not is_near or one.asks or one.supposes or _TASK.match(one.masked):
            break
        if one.end - sentence.start > MAX_QUOTATION_CHARS:
            break
        end = one.end
    return end


def _says_something(text: str) -> bool:
    bare = text.replace(MASK, " ")
    if runs := cjk_runs(bare):
        return sum(map(len, runs)) >= _MIN_CJK
    return len(bare.split()) >= _MIN_WORDS and bool(content_words(bare))


@cache
def _raw() -> dict[str, Any]:
    return read_rules("speech")


@cache
def _never() -> tuple[re.Pattern[str], ...]:
    return tuple(_compiled(entry["pattern"]) for entry in _raw()["no"])


@cache
def _cues() -> tuple[_Cue, ...]:
    return tuple(
        _Cue(
            entry["weight"],
            MemoryType(entry["type"]) if "type" in entry else None,
            _compiled(entry["pattern"]),
        )
        for entry in _raw()["cue"]
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern with the words that it names."""
    words = _raw()["words"]
    while (name := _MACRO.search(pattern)) is not None:
        pattern = pattern.replace(name.group(), words[name[1]])
    return re.compile(pattern, re.IGNORECASE)
