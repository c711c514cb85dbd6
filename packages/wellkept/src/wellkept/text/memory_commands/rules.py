"""The phrases of memory commands, compiled from `text/data/commands.toml`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeAlias

from wellkept.core.records import record
from wellkept.core.types import MemoryType
from wellkept.text.rule_data import read_rules

NO_LANGUAGE: frozenset[str] = frozenset()
_MACRO = re.compile(r"\{([a-z_]+)\}")
_FIRST_WORD = re.compile(r"[\w-]+")
# What must come before a split; "own words" and "order" may also be a command.
_Before: TypeAlias = Literal["own words", "order", "plain work", "command"]
_Kind = Literal["remember", "forget", "ask"]
_Force = Literal["strong", "bare", "stated", "weak"]


@record
class CommandRule:
    kind: _Kind
    force: _Force
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None
    asked: bool
    type: MemoryType | None
    recent: bool


@record
class _SentenceSplit:
    """A pattern by which a second command begins, and what must come before it."""

    before: _Before
    pattern: re.Pattern[str]


@record
class CommandRules:
    rules: tuple[CommandRule, ...]
    leads: tuple[re.Pattern[str], ...]
    trails: tuple[re.Pattern[str], ...]
    types: tuple[tuple[MemoryType, re.Pattern[str]], ...]
    opener: re.Pattern[str]
    contradiction: re.Pattern[str]
    task: re.Pattern[str]
    behaviour: re.Pattern[str]
    rule_heading: re.Pattern[str]
    passing: re.Pattern[str]
    verbs: frozenset[str]
    splits: tuple[_SentenceSplit, ...]
    reported: re.Pattern[str]
    plain_work: re.Pattern[str]
    retracts: re.Pattern[str]

    def finds(self, pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
        """A match whose verb, if the pattern names one, is in the list of verbs."""
        match = pattern.search(text)
        verb = match.groupdict().get("verb") if match else None
        return match if verb is None or verb.lower() in self.verbs else None

    def unopened(self, text: str) -> str:
        """A sentence without an opener such as "ok, and please"."""
        opener = self.opener.match(text)
        return text[opener.end() :] if opener else text

    def is_complete(self, text: str, before: _Before) -> bool:
        """Whether the text before a split is complete, so that a command may follow."""
        bare = self.unopened(text).rstrip(" .!")
        if before == "plain work":
            return self.plain_work.match(bare) is not None
        if any(self.finds(rule.pattern, bare) for rule in self.rules):
            return True
        if before == "command" or self.reported.search(text):
            return False
        return before == "own words" or self._orders(bare)

    def _orders(self, text: str) -> bool:
        first = _FIRST_WORD.match(text)
        known = first is not None and first.group().lower() in self.verbs
        return known or self.task.match(text) is not None


def languages_of(message: str) -> frozenset[str]:
    """The languages with at least one cue word in the message."""
    low = message.lower()
    return frozenset(lang for lang, cues in _cues().items() if any(cue in low for cue in cues))


@cache
def _cues() -> dict[str, list[str]]:
    return read_rules("commands_cues")["cues"]


@cache
def _rules_as_written() -> dict[str, Any]:
    return read_rules("commands")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern with the words that it names; once for all combinations of languages."""
    words = _rules_as_written()["words"]
    while (name := _MACRO.search(pattern)) is not None:
        pattern = pattern.replace(name.group(), _fragment(words[name[1]]))
    return re.compile(pattern, re.IGNORECASE)


@cache
def rules_for(languages: frozenset[str]) -> CommandRules:
    raw = _rules_as_written()
    opening = r"¿?(?:{opener}(?:[,!:.，、：]\s*|\s+|(?<=[^\x00-\x7f])))*"
    return CommandRules(
        rules=tuple(_rule(e) for e in raw["rule"] if e["lang"] in languages),
        leads=tuple(_compiled(entry["pattern"]) for entry in raw["lead"]),
        trails=tuple(_compiled(entry["pattern"]) for entry in raw["trail"]),
        types=tuple((MemoryType(e["type"]), _compiled(e["pattern"])) for e in raw["type"]),
        opener=_compiled(opening),
        contradiction=_compiled(r"{contradiction}(?![a-z])"),
        task=_compiled(r"(?:{opener}[,!:]?\s*)*{task_verb}(?![a-z])"),
        behaviour=_compiled(r"(?:always|never),? {behaviour}\b"),
        rule_heading=_compiled("{rule_heading}"),
        passing=_compiled("{passing}"),
        verbs=frozenset(raw["words"]["verbs"]),
        splits=tuple(
            _SentenceSplit(entry["after"], _compiled(entry["pattern"])) for entry in raw["cut"]
        ),
        reported=_compiled("{reported}"),
        plain_work=_compiled("{plain_work}"),
        retracts=_compiled("{retracts}"),
    )


def _fragment(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "(?:" + "|".join(value) + ")"


def _rule(entry: dict[str, Any]) -> CommandRule:
    return CommandRule(
        kind=entry["kind"],
        force=entry["force"],
        pattern=_compiled(f"^(?:{entry['pattern']})"),
        unless=_compiled(entry["unless"]) if "unless" in entry else None,
        asked=entry.get("asked", False),
        type=MemoryType(entry["type"]) if "type" in entry else None,
        recent=entry.get("recent", False),
    )


COMMAND_TAG = "command:"


@record
class NamedThings:
    """Things of a project that a text names. `symbol` is a node of the code graph."""

    files: tuple[str, ...] = ()
    symbol: str | None = None
    commands: tuple[str, ...] = ()

    @property
    def tags(self) -> tuple[str, ...]:
        """The commands as tags."""
        return tuple(f"{COMMAND_TAG}{command}" for command in self.commands)


FindNamed = Callable[[str], NamedThings]
"""Finds what a text names in the project of the session."""


def nothing_named(text: str) -> NamedThings:  # noqa: ARG001
    """For callers without a project folder."""
    return NamedThings()


def tagged_commands(tags: tuple[str, ...]) -> list[str]:
    """The commands that tags name."""
    return [tag.removeprefix(COMMAND_TAG) for tag in tags if tag.startswith(COMMAND_TAG)]
