"""Detects what a message tells the memory: explicit commands (remember, forget, ask) and rules
stated in plain speech (`statements`).

Precision before recall: a rule stored by mistake misleads every later session, a missed one can be
repeated. So only text written by the person counts, a question never makes a rule, and an aside
("note that …") counts only when the message has no other request. A command may follow a semicolon
or an "and". The phrases are data (`text/data/commands.toml`). Knows nothing of storage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from wellkept.core.records import record, replace
from wellkept.core.text import content_words
from wellkept.core.types import MemoryType
from wellkept.text.memory_commands.answers import typed_answer
from wellkept.text.memory_commands.rules import (
    NO_LANGUAGE,
    CommandRule,
    CommandRules,
    languages_of,
    rules_for,
)
from wellkept.text.own_words import DOCUMENT_CHARS, Sentence, own_sentences, written_sentences
from wellkept.text.speech import quotation_end, read_statement

_SLASH = re.compile(r"\s*/(remember|forget|recall|memories)(?:\s+(\S.*?))?\s*\Z", re.DOTALL)
_TRAILING = re.compile(
    r"(?:[,;]? (?:please|thanks|thank you|ok|okay|stp|merci|bitte|gracias))?"
    r"[\s.!,;:。！，；、?？]*\Z",
    re.IGNORECASE,
)
_ASKS_WHETHER = re.compile(
    r"(?:(?:but|so|and|or|right),? )*"
    r"(?:is|isn't|was|does|doesn't|would|are|do you|right\b|true\b|agree)"
    r"(?: that| this| it| the| you| we| not|\?|\Z)",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"^(?:it|they|that|this|those|these)\b|\b(?:like (?:that|this)|that way|this way|the other way"
    r"|the same way|as (?:before|usual)|instead of that|do (?:it|that)|over there)\b",
    re.IGNORECASE,
)
_BY_EXAMPLE = re.compile(
    r"\b(?:the way|like|as) (?:we|i|you|it|the)\b|\bhow (?:we|i) (?:do|did|have)\b"
    r"|\b(?:should|must|always|never|instead|supposed to)\b",
    re.IGNORECASE,
)
_FEW_WORDS = 7
_CLEAR = 0.85
"""How probably an answer to a question, and what is said of "this repo", lays something down."""
_HERE = re.compile(r"\b(?:in|for) (?:this|our) ", re.IGNORECASE)
_WRAPPING = (('"', '"'), ("“", "”"), ("「", "」"), ("«", "»"))


@record
class Remember:
    """Store this statement. `stated`, where no memory word was said: how probably it lays something
    down."""

    content: str
    type: MemoryType
    stated: float = 0.0


@record
class Forget:
    """Close the memory that matches this; with `recent` one that was just told, and with no query
    the last one."""

    query: str
    recent: bool = False


@record
class Ask:
    """Recall what is known about this; empty means everything."""

    query: str


MemoryCommand: TypeAlias = Remember | Forget | Ask


def detect_commands(message: str, *, answers_to: str | None = None) -> list[MemoryCommand]:
    """Everything that the message tells the memory, in order. `answers_to` is the agent's message
    before it: a reply to its question is a decision."""
    slash = _SLASH.match(message)
    if slash:
        return _slash_command(slash)
    found = list(_Detector(message, answers_to).commands())
    is_plain = all(isinstance(one, Remember) and one.stated for one in found)
    decided = typed_answer(message, answers_to) if answers_to and is_plain else None
    if decided is None:
        return found
    return [Remember(decided.content, MemoryType.DECISION, stated=_CLEAR)]


def clauses(message: str) -> list[Sentence]:
    """The sentences that a person wrote, cut where a second command begins."""
    rules = rules_for(languages_of(message))
    return [clause for one in written_sentences(message) for clause in _clauses(one, rules)]


def wants_wording(message: str) -> bool:
    """Whether a message lays something down in words that will not be understood later: "no, not
    like that, the way we did it in the importer"."""
    rules = rules_for(NO_LANGUAGE)
    said = own_sentences(message)
    for place, one in enumerate(said):
        text = rules.unopened(one.masked)
        if one.asks or one.supposes or one.bullet or _POINTS.search(text) is None:
            continue
        is_thin = len(set(content_words(text))) <= _FEW_WORDS
        if is_thin and read_statement(said, place) is not None:
            return True
        if rules.contradiction.match(one.masked) and _BY_EXAMPLE.search(text):
            return True
    return False


def infer_type(content: str, *, default: MemoryType = MemoryType.FACT) -> MemoryType:
    """The memory type that the wording of a sentence suggests."""
    rules = rules_for(NO_LANGUAGE)
    return next((t for t, pattern in rules.types if rules.finds(pattern, content)), default)


def _slash_command(slash: re.Match[str]) -> list[MemoryCommand]:
    word, rest = slash[1], slash[2] or ""
    if word in ("recall", "memories"):
        return [Ask(rest)]
    if not rest:
        return []
    return [Forget(rest)] if word == "forget" else [Remember(rest, infer_type(rest))]


def _clauses(sentence: Sentence, rules: CommandRules) -> Iterator[Sentence]:
    """The parts of a sentence that may each be a command: "Fix the build; remember that …".

    A sentence is split only before words that command the memory (or, after a command, before
    words that ask for work now), and only where the part before is complete. So a semicolon inside
    a rule stays in the rule. The parts cover the sentence in order.
    """
    found = [(split, m) for split in rules.splits for m in split.pattern.finditer(sentence.masked)]
    begin = 0
    if retracts := rules.retracts.match(sentence.masked):
        yield _part(sentence, 0, sentence.masked[: retracts.end("retraction")])
        begin = retracts.end()
    for split, match in sorted(found, key=lambda pair: pair[1].start()):
        before = sentence.masked[begin : match.start()].rstrip()
        if before and rules.is_complete(before, split.before):
            yield _part(sentence, begin, before)
            begin = match.end()
    yield _part(sentence, begin, sentence.masked[begin:])


def _part(sentence: Sentence, begin: int, text: str) -> Sentence:
    start = sentence.start + begin
    return replace(sentence, start=start, end=start + len(text), masked=text)


class _Detector:
    """One pass over the sentences of a message; keeps what came before each."""

    def __init__(self, message: str, answers_to: str | None) -> None:
        self._message = message
        self._rules = rules_for(languages_of(message))
        self._said = said = clauses(message)
        self._answers_to = answers_to
        self._tasks_before = 0
        self._contradicted = False
        self._material = False
        self._introduced = False
        self._retracted: int | None = None
        self._quoted = 0
        self._listing = all(s.bullet for s in said)
        self._own = [(one.start, one.end) for one in own_sentences(message)]

    def commands(self) -> Iterator[MemoryCommand]:
        index = 0
        while index < len(self._said):
            handed_over = self._announced(index)
            if handed_over:
                yield from map(self._whole, handed_over)
            else:
                yield from self._one(index)
            index += 1 + len(handed_over)

    def _one(self, index: int) -> Iterator[MemoryCommand]:
        sentence = self._said[index]
        is_own = any(begin <= sentence.start and sentence.end <= end for begin, end in self._own)
        command = (self._read(sentence) if is_own else None) or self._pointed_back(index)
        command = command or (self._stated(index) if is_own else None)
        if command:
            self._retracted = sentence.paragraph if isinstance(command, Forget) else None
            yield command
        else:
            self._note(sentence)

    def _stated(self, index: int) -> Remember | None:
        """A rule, correction or decision stated without a memory word, quoted whole."""
        sentence = self._said[index]
        if self._material or self._introduced or sentence.start < self._quoted:
            return None
        if len(self._message) > DOCUMENT_CHARS and sentence.paragraph != self._said[0].paragraph:
            # The end of a pasted document reads like the person's own words.
            return None
        if sentence.bullet and not self._listing:
            return None
        if index + 1 < len(self._said) and self._pointed_back(index + 1):
            return None
        found = read_statement(self._said, index, answers_to=self._answers_to)
        skip = len(sentence.masked) - len(self._rules.unopened(sentence.masked))
        opener, text = sentence.masked[:skip], sentence.masked[skip:]
        here = _HERE.search(opener)
        if self._retracted == sentence.paragraph:
            found = MemoryType.CORRECTION, (found[1] if found else _CLEAR)
        elif found is None and here and not (sentence.asks or sentence.supposes):
            # "In this repo …" speaks of the project, unless it asks for work there.
            found = None if self._rules.task.match(text) else (MemoryType.FACT, _CLEAR)
        if found is None or self._is_put_in_question(sentence):
            return None
        kind, sure = found
        if self._contradicted or self._rules.contradiction.match(opener):
            kind = MemoryType.CORRECTION
        begin = sentence.start + (here.start() if here else skip)
        end = self._quoted = quotation_end(sentence, self._said[index + 1 :])
        return Remember(_tidy(self._message[begin:end]), kind, stated=sure)

    def _is_put_in_question(self, sentence: Sentence) -> bool:
        """Whether another sentence asks if it is so: "Is that still true?"."""
        return any(
            s.asks and _ASKS_WHETHER.match(s.masked) for s in self._said if s is not sentence
        )

    def _pointed_back(self, index: int) -> MemoryCommand | None:
        """The sentence before "Remember that.", unless a question, a request or a command."""
        text = self._said[index].masked.rstrip("。.! ！")
        if index == 0 or not any(trail.fullmatch(text) for trail in self._rules.trails):
            return None
        before = self._said[index - 1]
        if self._material or self._asks_for_work(before) or self._read(before):
            return None
        return self._whole(before)

    def _announced(self, index: int) -> Sequence[Sentence]:
        """The sentences that a lead ("Remember:") hands over: its list, or the next sentence."""
        text = self._said[index].masked.rstrip("。.")
        if self._material or not any(lead.fullmatch(text) for lead in self._rules.leads):
            return ()
        rest = self._said[index + 1 :]
        bullets = next((n for n, s in enumerate(rest) if not s.bullet), len(rest))
        return rest[: max(bullets, 1)]

    def _whole(self, sentence: Sentence) -> Remember:
        content = _tidy(self._message[sentence.start : sentence.end])
        return Remember(content, infer_type(content))

    def _note(self, sentence: Sentence) -> None:
        """Remember that a request, a heading, a "No!" or the start of quoted material went by."""
        bare = sentence.masked.rstrip(" .!,！，")
        self._contradicted = self._rules.contradiction.fullmatch(bare) is not None
        is_task = self._rules.task.match(sentence.masked) is not None
        self._tasks_before += is_task
        has_colon = ":" in sentence.masked or "：" in sentence.masked
        if sentence.masked.endswith((":", "：")):
            self._listing = not is_task and bool(self._rules.rule_heading.search(sentence.masked))
            self._introduced |= not self._listing
        self._material |= is_task and has_colon

    def _read(self, sentence: Sentence) -> MemoryCommand | None:
        if self._material or (sentence.bullet and not self._listing):
            return None
        opener = self._rules.opener.match(sentence.masked)
        skip = opener.end() if opener else 0
        text = sentence.masked[skip:].rstrip(" .!?。！？)")
        for rule in self._rules.rules:
            match = self._rules.finds(rule.pattern, text)
            if match and self._counts(rule, sentence, text):
                return self._command(rule, match, sentence, skip)
        return None

    def _counts(self, rule: CommandRule, sentence: Sentence, text: str) -> bool:
        if sentence.asks and not rule.asked:
            return False
        if rule.unless and rule.unless.search(text):
            return False
        if self._introduced and rule.force != "strong":
            return False
        others = [s for s in self._said if s is not sentence]
        match rule.force:
            case "strong":
                return True
            case "weak":
                return not any(map(self._asks_for_work, others))
            case "stated":
                return not self._passing(text) and not any(s.asks for s in others)
            case "bare":
                specified = self._tasks_before > 0 and self._rules.behaviour.match(text)
                return not self._passing(text) and not specified

    def _passing(self, text: str) -> bool:
        return self._rules.passing.search(text) is not None

    def _asks_for_work(self, sentence: Sentence) -> bool:
        rest = self._rules.unopened(sentence.masked)
        return sentence.asks or self._rules.task.match(rest) is not None

    def _command(
        self, rule: CommandRule, match: re.Match[str], sentence: Sentence, skip: int
    ) -> MemoryCommand | None:
        groups = [name for name, text in match.groupdict().items() if text and name != "verb"]
        start, end = match.span(groups[0]) if groups else (0, 0)
        begin = sentence.start + skip
        content = _tidy(self._message[begin + start : begin + end])
        if rule.kind == "ask":
            return Ask(content)
        if rule.kind == "forget" and (content or rule.recent):
            return Forget(content, rule.recent)
        if not content:
            return None
        opener = self._rules.contradiction.match(sentence.masked[:skip])
        contradicts = self._contradicted or opener is not None
        default = rule.type or MemoryType.FACT
        return Remember(
            content,
            MemoryType.CORRECTION if contradicts else infer_type(content, default=default),
        )


def _tidy(content: str) -> str:
    """Without trailing politeness and punctuation, and without quotation marks around the whole."""
    content = _TRAILING.sub("", content.strip())
    for left, right in _WRAPPING:
        if content.startswith(left) and content.endswith(right) and content.count(left) <= 2:
            content = content[1:-1].strip()
    return content
