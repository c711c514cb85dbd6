"""How precisely memory commands and rules in plain speech are found, by language.

`python -m bench.commands [--json] [--show SPLIT]`: one JSON object is printed last. Two sets of
labelled messages: `commands` (explicit) and `statements` (corrections and rules without a memory
word, retractions, and as many near-misses). The `heldout` part of each was written before the rules
and is not tuned on. The baseline takes every sentence with "always", "never" or "remember" for a
rule, and every "forget" for a retraction.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wellkept.core.types import MemoryType
from wellkept.text.memory_commands.detect import (
    Ask,
    Forget,
    MemoryCommand,
    Remember,
    detect_commands,
)

_DATA = Path(__file__).parent.parent / "tests" / "memory" / "data"
CORPUS, STATEMENTS = _DATA / "commands.jsonl", _DATA / "statements.jsonl"
_KEYWORDS = {"remember": ("always", "never", "remember"), "forget": ("forget",)}
Detect = Callable[[str], Sequence[MemoryCommand]]


@dataclass(frozen=True, slots=True)
class Expected:
    """A command that a person would read in the message; None means not labelled."""

    kind: str
    type: str | None
    content: str | None


@dataclass(frozen=True, slots=True)
class Message:
    """One labelled message."""

    lang: str
    split: str
    text: str
    expect: tuple[Expected, ...]


def load(path: Path = CORPUS) -> list[Message]:
    """The labelled messages."""
    with path.open(encoding="utf-8") as lines:
        return [_message(json.loads(line)) for line in lines]


def _message(row: dict[str, Any]) -> Message:
    expect = tuple(Expected(e["kind"], e.get("type"), e.get("content")) for e in row["expect"])
    return Message(row["lang"], row["split"], row["text"], expect)


def kind_of(command: MemoryCommand) -> str:
    """The command's kind as labelled."""
    match command:
        case Remember():
            return "remember"
        case Forget():
            return "forget"
        case Ask():
            return "ask"


def text_of(command: MemoryCommand) -> str:
    """What the command carries."""
    return command.content if isinstance(command, Remember) else command.query


@dataclass(slots=True)
class Tally:
    """Counts of commands found, missed and made up, and how well the found ones were read."""

    messages: int = 0
    right: int = 0
    wrong: int = 0
    missed: int = 0
    types: int = 0
    types_right: int = 0
    contents: int = 0
    contents_right: int = 0
    detect: Detect = detect_commands

    def add(self, message: Message) -> bool:
        """Count one message; true when everything about it was right."""
        found = self.detect(message.text)
        want, got = Counter(e.kind for e in message.expect), Counter(map(kind_of, found))
        shared = sum((want & got).values())
        self.messages += 1
        self.right += shared
        self.wrong += len(found) - shared
        self.missed += len(message.expect) - shared
        return want == got and self._add_details(message, found)

    def _add_details(self, message: Message, found: Iterable[MemoryCommand]) -> bool:
        good = True
        for expected, command in zip(message.expect, found, strict=True):
            if expected.type is not None and isinstance(command, Remember):
                hit = command.type == expected.type
                self.types, self.types_right, good = (
                    self.types + 1,
                    self.types_right + hit,
                    good and hit,
                )
            if expected.content is not None:
                hit = text_of(command) == expected.content
                self.contents, self.contents_right = self.contents + 1, self.contents_right + hit
                good = good and hit
        return good

    def figures(self) -> dict[str, float | int]:
        """The figures, rounded."""
        return {
            "messages": self.messages,
            "commands": self.right + self.missed,
            "precision": _share(self.right, self.right + self.wrong),
            "recall": _share(self.right, self.right + self.missed),
            "type_accuracy": _share(self.types_right, self.types),
            "content_accuracy": _share(self.contents_right, self.contents),
        }


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0


def groups(messages: Iterable[Message]) -> Iterator[tuple[str, list[Message]]]:
    """The parts that are reported: everything, each split, each language."""
    every = list(messages)
    yield "all", every
    for split in sorted({m.split for m in every}):
        yield split, [m for m in every if m.split == split]
    for lang in sorted({m.lang for m in every}):
        yield lang, [m for m in every if m.lang == lang]


def keywords(text: str) -> list[MemoryCommand]:
    """The baseline: a command for each keyword, wherever it stands."""
    low = text.lower()
    found: list[MemoryCommand] = []
    if any(word in low for word in _KEYWORDS["remember"]):
        found.append(Remember(text, MemoryType.CONVENTION))
    if any(word in low for word in _KEYWORDS["forget"]):
        found.append(Forget(text))
    return found


def explicit(text: str) -> list[MemoryCommand]:
    """What is said with a memory word; plain statements are measured apart."""
    found = detect_commands(text)
    return [one for one in found if not (isinstance(one, Remember) and one.stated)]


_RULES: dict[str, Detect] = {"commands": explicit, "statements": detect_commands}


def measure(
    messages: Iterable[Message], detect: Detect = detect_commands
) -> dict[str, dict[str, float | int]]:
    """Figures for each part."""
    result: dict[str, dict[str, float | int]] = {}
    for name, part in groups(messages):
        tally = Tally(detect=detect)
        for message in part:
            tally.add(message)
        result[name] = tally.figures()
    return result


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="only the JSON object")
    parser.add_argument("--show", metavar="SPLIT", help="print what went wrong in a split")
    options = parser.parse_args()
    sets = {"commands": load(), "statements": load(STATEMENTS)}
    if options.show:
        for message in (m for messages in sets.values() for m in messages):
            if message.split == options.show and not Tally().add(message):
                print(
                    message.lang, repr(message.text), message.expect, detect_commands(message.text)
                )
    figures = {
        name: {"rules": measure(messages, _RULES[name]), "keywords": measure(messages, keywords)}
        for name, messages in sets.items()
    }
    if not options.json:
        for name, ways in figures.items():
            for way, parts in ways.items():
                for part, row in parts.items():
                    shown = "  ".join(f"{key} {value}" for key, value in row.items())
                    print(f"{name:11} {way:9} {part:8} {shown}")
    print(json.dumps({"bench": "commands", "sets": figures}))


if __name__ == "__main__":
    main()
