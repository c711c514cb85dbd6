"""Parameter types for ids and names, so that shells can complete them.

They accept any text: the library looks it up, and its errors say more than an option's could.
"""

from __future__ import annotations

from typing import Final

import click


class Name(click.ParamType[str, str]):
    """A text that names a memory, a session, a project, a skill or a file."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.name = "text"


MEMORY: Final = Name("memory")
SESSION: Final = Name("session")
PROJECT: Final = Name("project")
SKILL: Final = Name("skill")
FILE: Final = Name("file")
