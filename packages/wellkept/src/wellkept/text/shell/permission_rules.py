"""Rules for commands: what "always allow" offers, and which commands a pattern fits.

A rule is compared with one program call. A line that does more than one thing, or that is not
understood, never fits a rule that allows; a rule that forbids fits when any part of a line does.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Final

from wellkept.text.shell.effects import harmless_redirect
from wellkept.text.shell.strict_reader import SimpleCommand, plain_commands

_WITH_SUBCOMMAND: Final = frozenset(
    "apt brew bun bundle cargo composer deno docker dotnet gem gh git go gradle helm kubectl make"
    " mvn npm pip pip3 pnpm podman poetry terraform uv yarn".split()
)
_RUNS_ANYTHING: Final = frozenset(
    "awk bash chroot dash doas env eval exec find fish gawk ksh lua nice node nohup npx parallel"
    " perl php python python3 ruby sed setsid sh ssh strace su sudo time timeout tsx uvx watch"
    " xargs zsh".split()
)
"""Programs for which a wildcard would allow everything; only the very command is offered."""
_CHANGES: Final = frozenset(
    "chgrp chmod chown cp curl dd install kill ln mv pkill rm rmdir rsync scp shred tee truncate"
    " wget".split()
)
_RUNS_ANYTHING_BELOW: Final = frozenset({"run", "exec", "x", "dlx", "tool", "config", "alias"})
_WILD: Final = re.compile(r"[*?\[\]()]")
_PIECES: Final = re.compile(r"[;&|\n(){}`\"']|\$\(")
_LEADING: Final = re.compile(r"^(?:(?:!|if|then|else|elif|do|while|until|time|\w+=\S*)\s+)+")


def rule_for(command: str) -> str:
    """The rule that "always" would add; empty when there is none that is safe."""
    one = _single(command)
    if one is None or _WILD.search(command):
        return ""
    program = one.program
    if program in _RUNS_ANYTHING or "/" in program or len(one.words) < 2:
        return f"Bash({command.strip()})"
    second = one.words[1].text
    if program not in _WITH_SUBCOMMAND:
        return f"Bash({program} *)" if program not in _CHANGES else f"Bash({command.strip()})"
    if second.startswith("-") or second in _RUNS_ANYTHING_BELOW:
        return f"Bash({command.strip()})"
    return f"Bash({program} {second} *)"


def allows(pattern: str, command: str) -> bool:
    """Whether a rule that allows fits: never for a compound command or one not understood."""
    return _single(command) is not None and _fits(pattern, command.strip())


def forbids(pattern: str, command: str) -> bool:
    """Whether a rule that forbids fits the line or any piece of it."""
    if _fits(pattern, command.strip()):
        return True
    commands = plain_commands(command)
    if commands is not None:
        texts = [text for one in commands for text in _called(one)]
    else:
        texts = [_LEADING.sub("", piece.strip()) for piece in _PIECES.split(command)]
    return any(_fits(pattern, text) for text in texts if text)


def _called(command: SimpleCommand) -> list[str]:
    """A call as text; of a program that runs others, also what it may run."""
    words = [word.text for word in command.words]
    starts = range(len(words)) if command.program in _RUNS_ANYTHING else range(1)
    return [" ".join(words[start:]) for start in starts]


def _single(command: str) -> SimpleCommand | None:
    commands = plain_commands(command)
    if commands is None or len(commands) != 1:
        return None
    one = commands[0]
    if not one.words or one.assignments:
        return None
    return one if all(harmless_redirect(*redirect) for redirect in one.redirects) else None


def _fits(pattern: str, text: str) -> bool:
    """`git status *` fits `git status` and `git status -s`, not `git statusx`."""
    plain = pattern.replace(":*", " *")
    return fnmatchcase(text, plain) or (plain.endswith(" *") and text == plain[:-2])
