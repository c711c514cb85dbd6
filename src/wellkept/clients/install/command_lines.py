"""Command lines for the shells that clients run their hooks with.

Invariant: the shell starts exactly the program and arguments that were given, whatever characters
they hold; what a shell cannot be told is refused.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

from wellkept.clients.hook_spec import Shell
from wellkept.core.errors import UsageError

_CMD_UNTELLABLE = frozenset('%"!\r\n\0')
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:\\=+")


def command_line(words: Sequence[str], shell: Shell) -> str:
    """The words as one line for a shell."""
    if shell is Shell.SH:
        return shlex.join(words)
    if shell is Shell.POWERSHELL:
        return f"& {' '.join(_powershell_word(word) for word in words)}"
    return _cmd_line(words)


def harmless_line(words: Sequence[str], shell: Shell) -> str:
    """The same, but it always ends well: to some clients a failed hook is a veto.

    A program that is gone fails before it can see to that by itself.
    """
    ending = "; exit 0" if shell is Shell.POWERSHELL else " || exit 0"
    return command_line(words, shell) + ending


def _powershell_word(word: str) -> str:
    # A leading dash would make it a parameter of PowerShell's own only after a cmdlet's name.
    if word and _PLAIN.issuperset(word):
        return word
    return "'" + word.replace("'", "''") + "'"


def _cmd_line(words: Sequence[str]) -> str:
    for word in words:
        if bad := _CMD_UNTELLABLE.intersection(word):
            raise UsageError(
                f"cmd.exe cannot be given {sorted(bad)[0]!r}, which is in {word!r}.",
                hint="Install Wellkept below a folder without that character.",
            )
    # Quoting what cmd acts upon; the rest follows the rules that every program reads words by.
    return " ".join(_cmd_word(word) for word in words)


def _cmd_word(word: str) -> str:
    quoted = subprocess.list2cmdline([word])
    needs_quotes = not quoted.startswith('"') and set("&|<>^()@,;=") & set(word)
    return f'"{quoted}"' if needs_quotes else quoted
