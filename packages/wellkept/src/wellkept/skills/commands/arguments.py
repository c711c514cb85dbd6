"""Parses typed commands: the name, the words, and their substitution into a text.

Words are separated by white space. A word that starts with a quote ends at the same quote before
white space or the end; inside double quotes `\\"` and `\\\\` are escapes. An apostrophe inside a
word is a letter, and an unclosed quote stays as typed, so plain sentences are not changed.

Invariant: `substitute` makes one pass, so typed text is never expanded again, and
`split_words(join_words(words)) == words`. Knows nothing of skills.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.text import clean

MAX_ARGUMENT_CHARS: Final = 64_000
MAX_NAME_CHARS: Final = 200
_TYPED = re.compile(r"\s*/([^\s/\x00-\x1f][^\s\x00-\x1f]*)(?:\s+(.*))?\Z", re.DOTALL)
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"(?!\S)|\'([^\']*)\'(?!\S)|(\S+)', re.DOTALL)
_QUOTES: Final = ("", '"', "'")
_ESCAPED = re.compile(r'\\(["\\])')
# Amounts of money are not placeholders: $100, $1.50, $5,000.
_PLACEHOLDER = re.compile(
    r"""\\(?P<kept>\$(?=[A-Z{0-9]))
    | \$(?P<all>ARGUMENTS)(?:\[(?P<index>[0-9]{1,3})\])?(?!\w)
    | \$(?P<number>[1-9])(?![\w]|[.,][0-9])
    | \$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}""",
    re.VERBOSE,
)


@record
class Arguments:
    """The text after a command's name: as typed, and as words."""

    text: str = ""
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Arguments:
        """The arguments of a typed text."""
        plain = _checked(text).strip()
        return cls(plain, split_words(plain))

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Arguments:
        """Arguments that are split already, as from a shell."""
        plain = tuple(map(clean, words))
        return cls(_checked(" ".join(plain)).strip(), plain)


@record
class TypedCommand:
    """A command as typed."""

    name: str
    arguments: Arguments


@record
class _Substituted:
    """A text with the arguments substituted; `used` when it had a placeholder."""

    text: str
    used: bool


def read_command(text: str) -> TypedCommand | None:
    """The command in a text; None when it does not start with a slash and a name."""
    found = _TYPED.match(text)
    if found is None or len(found[1]) > MAX_NAME_CHARS:
        return None
    return TypedCommand(clean(found[1]), Arguments.of(found[2] or ""))


def _checked(text: str) -> str:
    """The text fit for storage; UsageError when it is too long."""
    if len(text) > MAX_ARGUMENT_CHARS:
        raise UsageError(
            f"The arguments have {len(text):,} characters; the most is {MAX_ARGUMENT_CHARS:,}.",
            hint="Put the text into a file and name the file.",
        )
    return clean(text)


def split_words(text: str) -> tuple[str, ...]:
    """The words of a typed text."""
    return tuple(_word(found) for found in _WORD.finditer(text))


def _word(found: re.Match[str]) -> str:
    double, single, plain = found.groups()
    if double is not None:
        return _ESCAPED.sub(r"\1", double)
    return single if single is not None else plain


def join_words(words: Iterable[str]) -> str:
    """A text that is split into exactly these words, quoted only where needed."""
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word[:1] not in _QUOTES and split_words(word) == (word,):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def substitute(text: str, arguments: Arguments, *, names: Mapping[str, str]) -> _Substituted:
    """The text with `$ARGUMENTS`, `$ARGUMENTS[0]`, `$1`…`$9` and `${name}` substituted.

    A backslash keeps a placeholder as written. A missing word becomes empty; but without any
    arguments `$1` and its like stay, since they may belong to a shell command in the text. Unknown
    names stay too.
    """
    used = False

    def replacement(match: re.Match[str]) -> str:
        nonlocal used
        if match["kept"]:
            return match["kept"]
        if match["name"]:
            return names.get(match["name"], match[0])
        used = True
        if match["all"] and match["index"] is None:
            return arguments.text
        if not arguments.words and match["number"]:
            return match[0]
        number = int(match["number"]) - 1 if match["number"] else int(match["index"])
        return arguments.words[number] if number < len(arguments.words) else ""

    return _Substituted(_PLACEHOLDER.sub(replacement, text), used)
