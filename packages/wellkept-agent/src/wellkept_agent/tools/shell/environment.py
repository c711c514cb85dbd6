"""The environment of commands: the person's own, without the keys that an agent works with."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

_OURS: Final = re.compile(
    r"WELLKEPT_\w*|(?:\w+_)?API_?KEYS?|(?:\w+_)?AUTH_TOKEN|(?:\w+_)?API_TOKEN"
)
_QUIET: Final = {
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "TERM": "dumb",
}
"""Nobody is there to page, to edit or to type a password."""


def command_environment(
    environment: Mapping[str, str], *, keep: Collection[str] = ()
) -> dict[str, str]:
    """The variables of a command. Names in `keep` are handed on whatever they look like."""
    kept = {
        name: value
        for name, value in environment.items()
        if name in keep or not _OURS.fullmatch(name.upper())
    }
    return {**kept, **_QUIET}
