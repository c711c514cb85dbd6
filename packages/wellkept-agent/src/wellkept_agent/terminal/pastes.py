"""Long pastes at the prompt: a short mark stands in the line, the text comes back when it is sent.

A line editor that draws a hundred thousand lines is of no use to anybody, and a history of them is
none either.
"""

from __future__ import annotations

import re

MAX_CHARS = 2_000
MAX_LINES = 20
_MARK = re.compile(r"\[pasted text (\d+): [\d,]+ (?:lines|characters)\]")


class Pastes:
    """The long pastes of a conversation, by number."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def mark(self, text: str) -> str:
        """What is shown for a paste: the text itself when it is short."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + 1
        if len(text) <= MAX_CHARS and lines <= MAX_LINES:
            return text
        self._texts.append(text)
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        return f"[pasted text {len(self._texts)}: {size}]"

    def expanded(self, line: str) -> str:
        """A line with the pasted texts in the place of their marks."""
        return _MARK.sub(self._text_of, line)

    def _text_of(self, found: re.Match[str]) -> str:
        number = int(found[1])
        return self._texts[number - 1] if 0 < number <= len(self._texts) else found[0]
