"""Command lines for the shells that clients run their hooks with.

Invariant: the shell starts exactly the given program and arguments, whatever characters they hold;
what cannot be quoted is refused.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

from wellkept.clients.hook_spec import Shell
from wellkept.core.errors import UsageError

_CMD_UNQUOTABLE = frozenset('%"!\r\n\0')
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:\\=+")


def command_line(words: Sequence[str], shell: Shell) -> str:
    """The words as one line for a shell."""
    if shell is Shell.SH:
        return shlex.join(words)
    if shell is Shell.POWERSHELL:
        return f"& {' '.join(_powershell_word(word) for word in words)}"
    return _cmd_line(words)


def harmless_line(words: Sequence[str], shell: Shell) -> str:
    """The command line with exit code 0 forced: some clients take a failed hook for a veto.

    The program cannot do that itself when it is missing.
    """
    ending = "; exit 0" if shell is Shell.POWERSHELL else " || exit 0"
    return command_line(words, shell) + ending


def _powershell_word(word: str) -> str:
    # A leading dash is safe: PowerShell takes it for a parameter only after a cmdlet.
    if word and _PLAIN.issuperset(word):
        return word
    return "'" + word.replace("'", "''") + "'"


def _cmd_line(words: Sequence[str]) -> str:
    for word in words:
        if bad := _CMD_UNQUOTABLE.intersection(word):
            raise UsageError(
                f"cmd.exe cannot quote {sorted(bad)[0]!r} in {word!r}.",
                hint="Install Wellkept in a folder without that character.",
            )
    # Quote what cmd interprets; list2cmdline does the rest.
    return " ".join(_cmd_word(word) for word in words)


def _cmd_word(word: str) -> str:
    quoted = subprocess.list2cmdline([word])
    needs_quotes = not quoted.startswith('"') and set("&|<>^()@,;=") & set(word)
    return f'"{quoted}"' if needs_quotes else quoted
