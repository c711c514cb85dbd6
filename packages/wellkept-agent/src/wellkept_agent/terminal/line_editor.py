"""The line where a person types: history, completion of commands, keys, a line of state below.

Without a terminal lines are read plainly from standard input.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept_agent.terminal.pastes import Pastes

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

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

    from wellkept_agent.terminal.prompt_history import PromptHistory

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
