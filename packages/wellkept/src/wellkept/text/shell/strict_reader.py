"""Reads the plain part of the shell language, exactly; everything else is not understood.

Plain are words, quotes, simple expansions, `;`, `&&`, `||`, `|`, line ends, comments and
redirections. Substitutions, groups, functions, background jobs and here-documents are not plain.
Invariant: what is returned is what bash would run; where that is not certain, nothing is returned.
Why not the tree-sitter grammar: it accepts broken text and guesses, which a check must not.
"""

from __future__ import annotations

import re
from typing import Final

from wellkept.core.records import record

_MAX_CHARS: Final = 20_000
_SEPARATORS: Final = ("&&", "||", ";", "|", "\n")
_REDIRECTION: Final = re.compile(r"(?P<number>\d*)(?P<operator>&>>|&>|>>|>\||>&|<&|>|<)")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=", re.ASCII)
_VARIABLE: Final = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|[?$#@*!0-9-])", re.ASCII)
_RESERVED: Final = frozenset(
    "! [[ { } case coproc do done elif else esac fi for function if in select then time until"
    " while".split()
)
"""Words that change what follows when they come first and unquoted."""
_ESCAPED: Final = ('"', "\\", "$", "`", "\n")  # by a backslash inside double quotes
_BRACE_EXPANSION: Final = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")


class _NotPlainError(ValueError):
    """The text uses more of the shell language than is read here."""


@record
class Word:
    """A word without its quotes. `expands` when a variable in it is filled in by the shell; `globs`
    when unquoted wildcards are; `tilde` when a `~` in it may stand for a home folder."""

    text: str
    expands: bool = False
    globs: bool = False
    tilde: bool = False


@record
class SimpleCommand:
    """One program call. `redirects` are (operator, target), e.g. ("2>", "/dev/null")."""

    words: tuple[Word, ...]
    redirects: tuple[tuple[str, Word], ...] = ()
    assignments: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The first word; empty when there are only assignments or redirections."""
        return self.words[0].text if self.words else ""

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words after the program."""
        return self.words[1:]


def plain_commands(text: str) -> tuple[SimpleCommand, ...] | None:
    """The commands of a line in order; None when the line is not plain or empty."""
    if len(text) > _MAX_CHARS:
        return None
    try:
        return tuple(_Reader(text).commands()) or None
    except _NotPlainError:
        return None


class _Reader:
    """Reads a line from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def commands(self) -> list[SimpleCommand]:
        found: list[SimpleCommand] = []
        is_needed = False
        while True:
            command = self._command()
            if command is not None:
                found.append(command)
            elif is_needed:
                raise _NotPlainError("a command is missing")
            if self._at >= len(self._text):
                return found
            separator = self._separator()
            is_needed = separator in ("&&", "||", "|")
            if command is None and separator != "\n":
                raise _NotPlainError("a command is missing")
            if is_needed:
                self._skip_white("\n")

    def _separator(self) -> str:
        for separator in _SEPARATORS:
            if self._text.startswith(separator, self._at):
                self._at += len(separator)
                if separator == "|" and self._text.startswith("&", self._at):
                    raise _NotPlainError("|&")
                return separator
        raise _NotPlainError(self._text[self._at])

    def _command(self) -> SimpleCommand | None:
        words: list[Word] = []
        assignments: list[str] = []
        redirects: list[tuple[str, Word]] = []
        while True:
            self._skip_white()
            if self._at >= len(self._text) or self._text[self._at] in ";|\n":
                break
            if self._text.startswith("&&", self._at):
                break
            redirection = _REDIRECTION.match(self._text, self._at)
            if redirection is not None:
                redirects.append(self._redirect(redirection))
                continue
            start = self._at
            word = self._word()
            source = self._text[start : self._at]
            if not words and source in _RESERVED:
                raise _NotPlainError(source)
            if not words and _ASSIGNMENT.match(source):
                assignments.append(source)
            else:
                words.append(word)
        if not words and not redirects and not assignments:
            return None
        return SimpleCommand(tuple(words), tuple(redirects), tuple(assignments))

    def _redirect(self, found: re.Match[str]) -> tuple[str, Word]:
        self._at = found.end()
        if self._text[self._at : self._at + 1] in ("<", "(", "&"):  # <<, <(, >(
            raise _NotPlainError("substitution or here-document")
        self._skip_white()
        target = self._word()
        if not target.text:
            raise _NotPlainError("no target")
        return found.group(), target

    def _skip_white(self, also: str = "") -> None:
        while self._at < len(self._text):
            character = self._text[self._at]
            if character in " \t" or (also and character in also):
                self._at += 1
            elif self._text.startswith("\\\n", self._at):
                self._at += 2
            elif character == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                return

    def _word(self) -> Word:
        parts: list[str] = []
        expands = globs = False
        start = self._at
        tilde = self._text.startswith("~", start)
        while self._at < len(self._text):
            character = self._text[self._at]
            if character in " \t\n;|<>":
                break
            if character in "&()`":
                if character == "&" and self._text.startswith("&&", self._at):
                    break
                raise _NotPlainError(character)
            if character == "'":
                parts.append(self._single_quoted())
            elif character == '"':
                text, filled = self._double_quoted()
                parts.append(text)
                expands |= filled
            elif character == "\\":
                parts.append(self._escaped())
            elif character == "$":
                parts.append(self._variable())
                expands = True
            else:
                globs |= character in "*?["
                parts.append(character)
                self._at += 1
        source = self._text[start : self._at]
        if source in ("{", "}") or _BRACE_EXPANSION.search(source):
            raise _NotPlainError("braces")
        tilde = tilde or "=~" in source or ":~" in source
        return Word("".join(parts), expands, globs, tilde)

    def _single_quoted(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise _NotPlainError("open quote")
        inner = self._text[self._at + 1 : end]
        self._at = end + 1
        return inner

    def _double_quoted(self) -> tuple[str, bool]:
        self._at += 1
        parts: list[str] = []
        expands = False
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == '"':
                self._at += 1
                return "".join(parts), expands
            if character == "`":
                raise _NotPlainError("substitution")
            if character == "\\" and self._text[self._at + 1 : self._at + 2] in _ESCAPED:
                after = self._text[self._at + 1]
                parts.append("" if after == "\n" else after)
                self._at += 2
            elif character == "$" and not self._is_plain_dollar():
                parts.append(self._variable())
                expands = True
            else:
                parts.append(character)
                self._at += 1
        raise _NotPlainError("open quote")

    def _is_plain_dollar(self) -> bool:
        """Inside double quotes a dollar before a quote, blank or similar is itself."""
        after = self._text[self._at + 1 : self._at + 2]
        return after in ("", '"', " ", "\n", "/", "|", ")", "\\", ".", ",", ";", ":", "%", "'", "^")

    def _variable(self) -> str:
        found = _VARIABLE.match(self._text, self._at)
        if found is None:
            raise _NotPlainError("expansion")
        self._at = found.end()
        return found.group()

    def _escaped(self) -> str:
        after = self._text[self._at + 1 : self._at + 2]
        if not after:
            raise _NotPlainError("escape at the end")
        self._at += 2
        return "" if after == "\n" else after
