"""The line where a person types: history, completion of commands, keys, a line of state below.

Without a terminal lines are read plainly from standard input.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.history import FileHistory

from wellkept.core.text import clean
from wellkept.text.secrets.redaction import redact

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent


# -- What a person typed before, in a file that holds no secrets and that only its owner can read -


class PromptHistory(FileHistory):
    """The lines of earlier sessions. A line of this one can be called back as it was typed."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        path.chmod(0o600)
        super().__init__(str(path))

    def store_string(self, string: str) -> None:
        """Keep a line."""
        super().store_string(redact(clean(string)).text)


Action = Callable[[], object]


class LineEditor:
    """Reads lines. `keys` maps a key such as `c-t` to what it does; a text that it returns is put
    into the line, for the person to change and send."""

    def __init__(
        self,
        *,
        history: Path,
        words: Callable[[], Iterable[str]],
        keys: dict[str, Action],
        toolbar: Callable[[], str],
    ) -> None:
        self._pastes = Pastes()
        self._editor: PromptSession[str] | None = None
        if _is_terminal():
            self._editor = _editor(history, words, _bindings(keys, self._pastes), toolbar)

    async def read(self, prompt: str) -> str:
        """One line; EOFError at the end of input, KeyboardInterrupt at Ctrl-C."""
        if self._editor is None:
            return await asyncio.to_thread(_plain_line, prompt)
        return self._pastes.expanded(await self._editor.prompt_async(prompt))


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _plain_line(prompt: str) -> str:
    if sys.stdin.isatty():
        sys.stdout.write(prompt)
        sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _editor(
    history: Path,
    words: Callable[[], Iterable[str]],
    bindings: KeyBindings,
    toolbar: Callable[[], str],
) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.styles import Style

    return PromptSession(
        history=PromptHistory(history),
        completer=WordCompleter(lambda: list(words()), sentence=True),
        complete_while_typing=False,
        key_bindings=bindings,
        bottom_toolbar=toolbar,
        style=Style.from_dict({"bottom-toolbar": "noreverse fg:ansibrightblack"}),
    )


def _bindings(keys: dict[str, Action], pastes: Pastes) -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.keys import Keys

    bindings = KeyBindings()
    for key, action in keys.items():

        def pressed(event: KeyPressEvent, action: Action = action) -> None:
            line = action()
            if isinstance(line, str):
                event.current_buffer.text = line
                event.current_buffer.cursor_position = len(line)
            event.app.invalidate()

        bindings.add(key)(pressed)

    def pasted(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(pastes.mark(event.data))

    bindings.add(Keys.BracketedPaste)(pasted)
    return bindings


# -- Pastes ---------------------------------------------------------------------------------------


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
