"""What a person types after a slash: the command's name, its words, and where they go in a text.

Words are parted at white space. One that begins with a quote reaches to the same quote before
white space or the end; inside double quotes `\\"` and `\\\\` stand for the character alone. An
apostrophe inside a word is a letter, and a quote that does not close stays as it is typed, so that
plain sentences come through.

Invariant: `substitute` goes over a text once, so nothing that was typed is ever expanded again, and
`split_words(joined(words)) == words`. Knows nothing of skills.
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
# A sum of money is no place: neither $100 nor $1.50 nor $5,000.
_PLACE = re.compile(
    r"""\\(?P<kept>\$(?=[A-Z{0-9]))
    | \$(?P<all>ARGUMENTS)(?:\[(?P<index>[0-9]{1,3})\])?(?!\w)
    | \$(?P<number>[1-9])(?![\w]|[.,][0-9])
    | \$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}""",
    re.VERBOSE,
)


@record
class Arguments:
    """What follows a command's name: as it was typed, and as words."""

    text: str = ""
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Arguments:
        """The arguments that a typed text means."""
        plain = _checked(text).strip()
        return cls(plain, split_words(plain))

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Arguments:
        """Arguments that came as words already, as from a shell."""
        plain = tuple(map(clean, words))
        return cls(_checked(" ".join(plain)).strip(), plain)


@record
class TypedCommand:
    """A command as somebody typed it."""

    name: str
    arguments: Arguments


@record
class Filled:
    """A text with the arguments in their places; `used` when there was any such place."""

    text: str
    used: bool


def read_command(text: str) -> TypedCommand | None:
    """The command that a text is; None when it does not begin with a slash and a name."""
    found = _TYPED.match(text)
    if found is None or len(found[1]) > MAX_NAME_CHARS:
        return None
    return TypedCommand(clean(found[1]), Arguments.of(found[2] or ""))


def _checked(text: str) -> str:
    """The text fit to be stored; UsageError when it is no argument but a document."""
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
    """A text that is split into exactly these words, quoted only where that is needed."""
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word[:1] not in _QUOTES and split_words(word) == (word,):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def substitute(text: str, arguments: Arguments, *, names: Mapping[str, str]) -> Filled:
    """The text with `$ARGUMENTS`, `$ARGUMENTS[0]`, `$1`…`$9` and `${name}` in place.

    A backslash keeps a place as it is written. A word that was not given leaves nothing; but when
    nothing at all was given, `$1` and its like stay, since they may belong to a shell command that
    the text shows. A name that is not known stays too.
    """
    used = False

    def put(place: re.Match[str]) -> str:
        nonlocal used
        if place["kept"]:
            return place["kept"]
        if place["name"]:
            return names.get(place["name"], place[0])
        used = True
        if place["all"] and place["index"] is None:
            return arguments.text
        if not arguments.words and place["number"]:
            return place[0]
        number = int(place["number"]) - 1 if place["number"] else int(place["index"])
        return arguments.words[number] if number < len(arguments.words) else ""

    return Filled(_PLACE.sub(put, text), used)
