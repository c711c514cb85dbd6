"""Explicit memory commands in a person's message: remember, forget, ask.

Precise before complete: a rule kept by mistake misleads every later session, a missed one can be
said again. So only the person's own words count, a question never makes a rule, and an aside
("note that …") counts only when the message holds no other request: next to one, it is context for
that request. The ways to say it are data (`data/commands.toml`). Knows nothing of storage.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from holdfast.core.types import MemoryType
from holdfast.memory.own_words import MASK, Sentence, mask_quotations, sentences

# Beyond this many characters of own words a message is a document that was pasted.
DOCUMENT_CHARS = 1500
_EDGE_PARAGRAPH_CHARS = 400

_SLASH = re.compile(r"\s*/(remember|forget|recall|memories)(?:\s+(\S.*?))?\s*\Z", re.DOTALL)
_TRAILING = re.compile(
    r"(?:,? (?:please|thanks|thank you|ok|okay|stp|merci|bitte|gracias))?[\s.!,;:。！，；、?？]*\Z", re.IGNORECASE
)
_WRAPPING = (('"', '"'), ("“", "”"), ("「", "」"), ("«", "»"))
_CONTENT_GROUPS = ("content", "content2", "content3")


@dataclass(frozen=True, slots=True)
class Remember:
    """Keep this, as a standing sentence."""

    content: str
    type: MemoryType


@dataclass(frozen=True, slots=True)
class Forget:
    """Drop what matches this."""

    query: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Show what is known about this; empty means everything."""

    query: str


MemoryCommand: TypeAlias = Remember | Forget | Ask
_Kind = Literal["remember", "forget", "ask"]
_Force = Literal["strong", "bare", "weak"]


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: _Kind
    force: _Force
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None
    asked: bool
    type: MemoryType | None


@dataclass(frozen=True, slots=True)
class _Phrasebook:
    rules: tuple[_Rule, ...]
    leads: tuple[re.Pattern[str], ...]
    types: tuple[tuple[MemoryType, re.Pattern[str]], ...]
    opener: re.Pattern[str]
    contradiction: re.Pattern[str]
    task: re.Pattern[str]
    behaviour: re.Pattern[str]
    rule_heading: re.Pattern[str]


def detect_command(message: str) -> MemoryCommand | None:
    """The first memory command in the message, if there is one."""
    return next(iter(detect_commands(message)), None)


def detect_commands(message: str) -> list[MemoryCommand]:
    """Every memory command in the message, in order."""
    slash = _SLASH.match(message)
    if slash:
        return _slash_command(slash)
    said = sentences(mask_quotations(message))
    return list(_Reading(message, _own_edges(said)).commands())


def infer_type(content: str, *, default: MemoryType = MemoryType.FACT) -> MemoryType:
    """The type that a sentence tells by its words."""
    return next((t for t, pattern in _phrasebook().types if pattern.search(content)), default)


def _slash_command(slash: re.Match[str]) -> list[MemoryCommand]:
    word, rest = slash[1], slash[2] or ""
    if word in ("recall", "memories"):
        return [Ask(rest)]
    if not rest:
        return []
    return [Forget(rest)] if word == "forget" else [Remember(rest, infer_type(rest))]


def _own_edges(said: Sequence[Sentence]) -> Sequence[Sentence]:
    """All sentences; of a pasted document only a short first and last paragraph."""
    if sum(len(s.masked) for s in said) <= DOCUMENT_CHARS:
        return said
    edges = {said[0].paragraph, said[-1].paragraph}
    short = {
        p
        for p in edges
        if sum(len(s.masked) for s in said if s.paragraph == p) <= _EDGE_PARAGRAPH_CHARS
    }
    return [s for s in said if s.paragraph in short]


class _Reading:
    """One pass over a message's sentences, remembering what was said before each."""

    def __init__(self, message: str, said: Sequence[Sentence]) -> None:
        self._message = message
        self._said = said
        self._book = _phrasebook()
        self._tasks_before = 0
        self._material = False
        self._listing = all(s.bullet for s in said)

    def commands(self) -> Iterator[MemoryCommand]:
        index = 0
        while index < len(self._said):
            sentence = self._said[index]
            follow = self._announced(index)
            if follow:
                yield from (self._remember(s, s.masked, 0, None) for s in follow)
                index += 1 + len(follow)
                continue
            command = self._read(sentence)
            if command:
                yield command
            else:
                self._note(sentence)
            index += 1

    def _announced(self, index: int) -> Sequence[Sentence]:
        """The sentences that a lead ("Remember:") hands over: its list, or the next sentence."""
        text = self._said[index].masked.rstrip("。.")
        if self._material or not any(lead.fullmatch(text) for lead in self._book.leads):
            return ()
        rest = self._said[index + 1 :]
        bullets = next((n for n, s in enumerate(rest) if not s.bullet), len(rest))
        return rest[: max(bullets, 1)]

    def _note(self, sentence: Sentence) -> None:
        """Remember that a request, a heading, or the start of quoted material went by."""
        is_task = self._book.task.match(sentence.masked) is not None
        self._tasks_before += is_task
        has_colon = ":" in sentence.masked or "：" in sentence.masked
        if sentence.masked.endswith((":", "：")):
            self._listing = not is_task and bool(self._book.rule_heading.search(sentence.masked))
        self._material |= is_task and has_colon

    def _read(self, sentence: Sentence) -> MemoryCommand | None:
        if self._material or (sentence.bullet and not self._listing):
            return None
        opener = self._book.opener.match(sentence.masked)
        skip = opener.end() if opener else 0
        text = sentence.masked[skip:].rstrip(" .!?。！？)")
        for rule in self._book.rules:
            match = rule.pattern.match(text)
            if match and self._counts(rule, sentence, text):
                return self._command(rule, match, sentence, skip)
        return None

    def _counts(self, rule: _Rule, sentence: Sentence, text: str) -> bool:
        if sentence.asks and not rule.asked:
            return False
        if rule.unless and rule.unless.search(text):
            return False
        if rule.force == "weak":
            return not any(self._asks_for_work(s) for s in self._said if s is not sentence)
        if rule.force == "bare" and self._tasks_before:
            return not self._book.behaviour.match(text)
        return True

    def _asks_for_work(self, sentence: Sentence) -> bool:
        opener = self._book.opener.match(sentence.masked)
        rest = sentence.masked[opener.end() if opener else 0 :]
        return sentence.asks or self._book.task.match(rest) is not None

    def _command(
        self, rule: _Rule, match: re.Match[str], sentence: Sentence, skip: int
    ) -> MemoryCommand | None:
        groups = [g for g in _CONTENT_GROUPS if match.groupdict().get(g) is not None]
        start, end = match.span(groups[0]) if groups else (0, 0)
        if rule.kind == "remember":
            return self._remember(sentence, match.string[:end], skip + start, rule.type, skip)
        begin = sentence.start + skip
        query = _tidy(self._message[begin + start : begin + end])
        if rule.kind == "ask":
            return Ask(query)
        return Forget(query) if query else None

    def _remember(
        self,
        sentence: Sentence,
        until: str,
        start: int,
        type: MemoryType | None,
        skip: int = 0,
    ) -> MemoryCommand:
        begin = sentence.start
        content = _tidy(self._message[begin + start : begin + skip + len(until)])
        if self._book.contradiction.match(sentence.masked[:skip]):
            return Remember(content, MemoryType.CORRECTION)
        return Remember(content, infer_type(content, default=type or MemoryType.FACT))


def _tidy(content: str) -> str:
    """Without trailing politeness and punctuation, and without quotation marks around the whole."""
    content = _TRAILING.sub("", content.strip())
    for left, right in _WRAPPING:
        if content.startswith(left) and content.endswith(right) and content.count(left) <= 2:
            content = content[1:-1].strip()
    return content


@lru_cache(maxsize=1)
def _phrasebook() -> _Phrasebook:
    raw = tomllib.loads(
        files("holdfast.memory").joinpath("data/commands.toml").read_text(encoding="utf-8")
    )
    words: dict[str, str] = {name: _fragment(value) for name, value in raw["words"].items()}

    def compiled(pattern: str) -> re.Pattern[str]:
        for name, fragment in words.items():
            pattern = pattern.replace("{" + name + "}", fragment)
        return re.compile(pattern, re.IGNORECASE)

    opening = r"(?:{opener}(?:[,!:.，、：]\s*|\s+|(?<=[^\x00-\x7f])))+"
    return _Phrasebook(
        rules=tuple(_rule(entry, compiled) for entry in raw["rule"]),
        leads=tuple(compiled(entry["pattern"]) for entry in raw["lead"]),
        types=tuple((MemoryType(e["type"]), compiled(e["pattern"])) for e in raw["type"]),
        opener=compiled(opening),
        contradiction=compiled(r"{contradiction}(?![a-z])"),
        task=compiled(r"(?:{opener}[,!:]?\s*)*{task_verb}(?![a-z])"),
        behaviour=compiled(r"(?:always|never),? {behaviour}\b"),
        rule_heading=compiled("{rule_heading}"),
    )
