"""Decisions in a person's answers to an agent's questions.

"How are devices identified?" answered with one of the options is a decision that stands; "which PR
first?" steers this task only. Knows nothing of storage.
"""

from __future__ import annotations

import re
from functools import cache

from wellkept.core.records import record
from wellkept.core.session.events import Answer
from wellkept.core.text import content_words, shorten
from wellkept.text.own_words import own_sentences
from wellkept.text.rule_data import read_rules

MAX_QUESTION_CHARS, MAX_ANSWER_CHARS, MAX_MEANING_CHARS = 300, 240, 200
_RECOMMENDED = re.compile(
    r"\s*[(\[](?:recommended|empfohlen|recommandé|recomendado|推荐|推薦|推奨|рекомендуется)[)\]]",
    re.I,
)
_ENOUGH = 40
_MIN_SUBJECT_WORDS = 2
_VAGUE = frozenset(
    """approach approaches option options way direction tradeoff tradeoffs comparison based
    details strategy choice handle given prefer one""".split()
)
_ENOUGH_WORDS = 6
_MIN_CHOSEN_WORDS = 2
_AGREES = frozenset(
    """yes yeah yep no nope ok okay sure please first second third one option both neither go ahead
    thanks good great fine commit push run tests test do it""".split()
)
_POINTS_BACK = re.compile(r"\b(?:this|that|it|they|them|these|those)\b", re.I)
_QUOTED = re.compile(r"'[^'\n]{1,60}'|\"[^\"\n]{1,60}\"|`[^`\n]{1,60}`")
_BACKGROUND = re.compile(r"(?<=[.!])\s+(?=\S)")


@record
class Decided:
    """A decision: what was asked, and the whole as one statement."""

    question: str
    content: str


def decision_in(answer: Answer) -> Decided | None:
    """The decision that an answer makes; None when it only steers the task, or decides nothing."""
    chosen = _RECOMMENDED.sub("", answer.answer).strip(" .")
    # The question itself: its last sentence when there is background before it.
    whole = " ".join(answer.question.split())
    last = _BACKGROUND.split(whole)[-1]
    is_whole = last.endswith(("?", "？")) and len(last) >= _ENOUGH and not _POINTS_BACK.search(last)
    question = shorten(last if is_whole else whole, limit=MAX_QUESTION_CHARS)
    if not chosen or not _is_design(answer.question) or _rule("no_choice").search(chosen):
        return None
    if not answer.is_choice and (len(chosen) > MAX_ANSWER_CHARS or _rule("unsure").search(chosen)):
        return None
    meaning = shorten(answer.meaning.strip(" ."), limit=MAX_MEANING_CHARS)
    if _RECOMMENDED.sub("", meaning).strip(" .").casefold() == chosen.casefold():
        meaning = ""
    if len(set(content_words(question)) - _VAGUE) < _MIN_SUBJECT_WORDS:
        # "Which approach?" says nothing without its heading.
        if not answer.topic:
            return None
        question = f"{answer.topic}: {question}"
    content = f"{question} {shorten(chosen, limit=MAX_ANSWER_CHARS)}"
    return Decided(question, f"{content} ({meaning})" if meaning else content)


def typed_answer(message: str, asked: str) -> Decided | None:
    """The decision that a typed reply makes to the question at the end of an agent's message."""
    question = _tail(asked)
    if not question.endswith(("?", "？")) or len(message) > MAX_ANSWER_CHARS:
        return None
    chosen = " ".join(message.split())
    own = own_sentences(message)
    if not own or any(one.asks or one.supposes for one in own) or _rule("no_choice").search(chosen):
        return None
    if len([w for w in content_words(chosen) if w not in _AGREES]) < _MIN_CHOSEN_WORDS:
        return None
    last = _BACKGROUND.split(question)[-1]
    is_vague = not set(content_words(last)) - _VAGUE
    if (
        not (is_vague or _is_design(last))
        or len(set(content_words(question)) - _VAGUE) < _MIN_SUBJECT_WORDS
    ):
        return None
    return Decided(question, f"{question} {chosen}")


def _tail(asked: str) -> str:
    """The last lines of a message that fit, from the start of one."""
    lines = [line.strip() for line in asked.strip().splitlines() if line.strip()]
    kept: list[str] = []
    for line in reversed(lines):
        if sum(map(len, kept)) + len(line) > MAX_QUESTION_CHARS:
            break
        kept.insert(0, line)
        if len(set(content_words(" ".join(kept))) - _VAGUE) >= _ENOUGH_WORDS:
            break
    return " ".join(kept)


def _is_design(question: str) -> bool:
    plain = _QUOTED.sub("…", question)
    return _rule("design").search(plain) is not None and not _rule("task").search(plain)


@cache
def _rule(name: str) -> re.Pattern[str]:
    return re.compile(read_rules("answers")[name], re.IGNORECASE)
