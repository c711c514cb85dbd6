"""Commands as the project's memory has them: the records that `init` made, or a person corrected.

The record is the only place where a command stands; pages, session starts and answers read it here.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.core.memory import Memory
from wellkept.core.query import Filter
from wellkept.core.records import record
from wellkept.core.types import EvidenceKind, MemoryType
from wellkept.project.commands.command import PREFIX, SAID, Purpose

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store

_MAX_RUNS_CHARS = 60
_RUNS = re.compile(r", which runs `([^`]*)`")


@record(kw_only=True)
class DeclaredCommand:
    """A command, what it is for, where it was read, and its memory.

    `runs` is what stands behind a named task; `worked_at` when a session last saw it succeed;
    `listed_by` the form without effect that named it when `init --try` ran it.
    """

    purpose: Purpose
    command: str
    source: str
    memory: Memory
    runs: str = ""
    worked_at: datetime | None = None
    listed_by: str = ""

    @property
    def text(self) -> str:
        """The command on one line with its source, and what was seen of it."""
        runs = f" = `{self.runs}`" if 0 < len(self.runs) <= _MAX_RUNS_CHARS else ""
        seen = f"; listed by `{self.listed_by}`" if self.listed_by else ""
        seen = f"; worked {self.worked_at.date().isoformat()}" if self.worked_at else seen
        return f"{self.purpose.value}: `{self.command}`{runs} ({self.source}{seen})"


def read_declared(store: Store, project: str) -> tuple[DeclaredCommand, ...]:
    """The commands of a project, one for each purpose, in the order of purposes."""
    where = Filter(project=project, include_user=False, types=(MemoryType.FACT,), tags=("command",))
    found = [one for memory in store.list(where, limit=50).items if (one := declared(memory))]
    return tuple(sorted(found, key=lambda one: list(Purpose).index(one.purpose)))


def declared(memory: Memory) -> DeclaredCommand | None:
    """The command that a record names; None when it names none."""
    name = (memory.key or "").removeprefix(f"{PREFIX}command:").replace("-", " ")
    if name not in set(Purpose):
        return None
    purpose = Purpose(name)
    label = f"{SAID[purpose]} `"
    command, closed, rest = memory.content.removeprefix(label).partition("`")
    if not closed or not memory.content.startswith(label):
        return None
    runs = _RUNS.match(rest.partition(" (")[2][len(memory.files[0]) :] if memory.files else "")
    seen = [one for one in memory.evidence if one.kind is EvidenceKind.SESSION and one.at]
    listed = [one for one in memory.evidence if one.kind is EvidenceKind.OBSERVATION]
    return DeclaredCommand(
        purpose=purpose,
        command=command,
        source="you" if memory.user_verified else memory.files[0] if memory.files else "",
        memory=memory,
        runs=runs[1] if runs else "",
        worked_at=max((one.at for one in seen if one.at), default=None),
        listed_by=listed[-1].ref if listed else "",
    )


def with_command(one: DeclaredCommand, command: str) -> str:
    """The text of the command's record with another command."""
    return f"{SAID[one.purpose]} `{command}`."
