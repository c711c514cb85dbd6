"""What in a session would show that an injected line was taken up: files, commands, words.

Read from the line's own text and its memory. What the trigger already said is no sign: the agent
had it from there. A command that the line warns of is no sign either.
"""

from __future__ import annotations

import re
from functools import cached_property

from wellkept.core.memory import Memory
from wellkept.core.ports.injections import InjectedLine
from wellkept.core.text import content_words, fold, identifiers, stem, words
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import parse_command

MIN_WORDS = 3
MIN_SHARE = 0.6
_MIN_EXACT_CHARS = 6
_MAX_TEXT_CHARS = 200_000
_MARKS = re.compile(r"\A-? ?(?:\[[A-Z]{2,6}\] )?|\[m:\w+\]|\(m:\w+\)")
_CODE_SPAN = re.compile(r"`([^`\n]{2,400})`")
_WORKED_COMMAND = re.compile(r"(?:worked|works|run|use)[^:`\n]{0,60}: (?P<command>[^`\n(]{3,200})")
_PATH = re.compile(r"[\w@.-]*(?:[/\\][\w@.+-]+)+|\b[\w-]{2,}\.[A-Za-z][\w]{0,4}\b")
_WARNED_BEFORE = re.compile(
    r"(?:\b(?:never|not|no|don't|do not|instead of|avoid|without|failed|fails)|\bstatt|\bnicht"
    r"|\bnie|\bjamais|\bpas|\bnunca|不要|勿)\W{0,3}(?:\w+ )?\Z",
    re.IGNORECASE,
)
_WARNED_AFTER = re.compile(
    r"\A\W{0,3}(?:\w+ ){0,2}(?:keeps? )?(?:fail(?:s|ed|ing)?|runs? nothing|breaks?|broke|hangs?"
    r"|does(?:n't| not)|is wrong|errors?|ended|ends with)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\((?:\d+ sessions?, )?(?:last )?\d{4}-\d\d-\d\d\)")
_PLACEHOLDER = re.compile(
    r"…|\.\.\.|<[\w -]+>|(?<![\w.])(?:X|N|ID|NAME|PATH|FILE|PATTERN)(?![\w.])"
)
_TELLING = re.compile(r"\d|_|[a-z][A-Z]|\w\.\w+\.\w")
_VARYING_EXACT = re.compile(r"\A(?:\d{4}-\d\d-\d\d|[\d.:%-]+|m:\w+)\Z")


class LineSigns:
    """The signs of one line, each worked out when it is first asked for."""

    def __init__(self, line: InjectedLine, *, trigger: str, memory: Memory | None = None) -> None:
        self.line = line
        self.trigger = trigger
        self.memory = memory

    @cached_property
    def text(self) -> str:
        """The line without badge and citation."""
        return _MARKS.sub("", self.line.text).strip()

    @cached_property
    def cited(self) -> str | None:
        """The short id that is cited."""
        return f"m:{self.memory.short}" if self.memory is not None else None

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Files that the line is about and the trigger does not name."""
        named = _PATH.findall(_CODE_SPAN.sub(lambda m: f" {m[1]} ", self.text))
        own = self.memory.files if self.memory is not None else ()
        plain = (one.replace("\\", "/").strip("./") for one in (*own, *named))
        asked = self.trigger.replace("\\", "/")
        return tuple(dict.fromkeys(p for p in plain if p and p.rsplit("/", 1)[-1] not in asked))

    @cached_property
    def commands(self) -> tuple[re.Pattern[str], ...]:
        """Commands that the line tells to run, as patterns for a command line."""
        found = [m[1] for m in _CODE_SPAN.finditer(self.text) if not self._is_warned_of(m)]
        found += [m["command"].strip(" .") for m in _WORKED_COMMAND.finditer(self.text)]
        said = " ".join(self.trigger.split())
        return tuple(
            _pattern(plain)
            for one in dict.fromkeys(found)
            if _is_command(plain := " ".join(one.split())) and plain != said
        )

    @cached_property
    def exact(self) -> tuple[str, ...]:
        """Names and values that nobody writes by chance: with a digit or underscore, in mixed
        case, or a host. Folders and the names of tools stand everywhere."""
        asked = fold(self.trigger)
        return tuple(
            name
            for name in identifiers(self.text)
            if len(name) >= _MIN_EXACT_CHARS
            and _TELLING.search(name)
            and not _VARYING_EXACT.match(name)
            and fold(name) not in asked
        )

    @cached_property
    def subjects(self) -> frozenset[str]:
        """What the commands that the line names are about, also those that it warns of."""
        spans = [" ".join(found.split()) for found in _CODE_SPAN.findall(self.text)]
        parsed = [one for span in spans if _is_command(span) for one in parse_command(span)]
        return frozenset(one.subject for one in parsed if one.purpose is not Purpose.LOOK)

    @cached_property
    def words(self) -> frozenset[str]:
        """The stems of the line's own words, without those of the trigger. Code, paths, dates and
        counts are no words: they are looked for as a whole."""
        prose = _PATH.sub(" ", _ASIDE.sub(" ", _CODE_SPAN.sub(" ", self.text)))
        return word_stems(prose) - word_stems(self.trigger)

    def _is_warned_of(self, span: re.Match[str]) -> bool:
        """Whether the text says that a command fails, or not to run it."""
        before, after = self.text[: span.start()][-40:], self.text[span.end() :][:40]
        return bool(_WARNED_BEFORE.search(before) or _WARNED_AFTER.match(after))

    def file_in(self, paths: tuple[str, ...]) -> str | None:
        """The first of the line's files among some paths."""
        plain = [path.replace("\\", "/") for path in paths]
        for name in self.files:
            if any(path == name or path.endswith(f"/{name}") for path in plain):
                return name
        return None

    def command_in(self, command_line: str) -> str | None:
        """What a command line has of the line's commands; None when it has none."""
        flat = " ".join(command_line.split())
        for pattern in self.commands:
            if found := pattern.search(flat):
                return found.group().strip()
        return None

    def exact_in(self, text: str, *, new_since: str = "") -> str | None:
        """The first exact name in a text that was not there before."""
        now, before = fold(text[:_MAX_TEXT_CHARS]), fold(new_since[:_MAX_TEXT_CHARS])
        for name in self.exact:
            folded = fold(name)
            if folded in now and folded not in before:
                return name
        return None

    def words_in(self, stems: frozenset[str]) -> list[str]:
        """The line's words that a text takes up; none unless they are most of its words."""
        shared = self.words & stems
        enough = len(shared) >= MIN_WORDS and len(shared) >= MIN_SHARE * len(self.words)
        return sorted(shared) if enough else []


def word_stems(text: str) -> frozenset[str]:
    """The stems of a text's content words, without numbers."""
    return frozenset(
        stem(word)
        for word in content_words(text[:_MAX_TEXT_CHARS])
        if len(word) > 1 and not word.isdigit()
    )


def _is_command(text: str) -> bool:
    """Whether a code span can be a command: a program, and more than a lone word or path."""
    first, *rest = words(text) or [""]
    if not first or text.startswith(("<", "{", "[", "(", "#", "@", "*")):
        return False
    if not rest and (" " not in text):
        # A single word is as often a name as a program.
        return False
    commands = parse_command(text)
    return bool(commands) and bool(commands[0].words) and " " in text


def _pattern(command: str) -> re.Pattern[str]:
    parts = (re.escape(part) for part in _PLACEHOLDER.split(command))
    body = r"\S+".join(parts)
    return re.compile(rf"(?:\A|(?<=[\s;&|(/])){body}(?=\Z|[\s;&|)])")
