"""How precisely explicit memory commands are found, by language, on the labelled messages.

`python -m bench.commands [--json] [--show SPLIT]`: one JSON object is printed last. The `heldout`
part was written before the rules and is not tuned on.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wellkept.memory.commands.detect import Ask, Forget, MemoryCommand, Remember, detect_commands

CORPUS = Path(__file__).parent.parent / "tests" / "memory" / "data" / "commands.jsonl"


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

    def add(self, message: Message) -> bool:
        """Count one message; true when everything about it was right."""
        found = detect_commands(message.text)
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


def measure(messages: Iterable[Message]) -> dict[str, dict[str, float | int]]:
    """Figures for each part."""
    result: dict[str, dict[str, float | int]] = {}
    for name, part in groups(messages):
        tally = Tally()
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
    messages = load()
    if options.show:
        for message in messages:
            if message.split == options.show and not Tally().add(message):
                print(
                    message.lang, repr(message.text), message.expect, detect_commands(message.text)
                )
    figures = measure(messages)
    if not options.json:
        for name, row in figures.items():
            print(f"{name:8}", "  ".join(f"{key} {value}" for key, value in row.items()))
    print(json.dumps({"bench": "commands", "parts": figures}))


if __name__ == "__main__":
    main()
