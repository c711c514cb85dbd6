"""Recent work as a table by date: what each record costs to read, and what the work cost.

A format of the context of a session start, made on request: an agent that reads it knows what there
is, and asks by id for the few records that matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.context.moments import StartOptions, WorkKind
from wellkept.core.payloads import Observation
from wellkept.core.query import Filter, Order
from wellkept.core.records import record, replace
from wellkept.core.session.injected_text import quoted
from wellkept.core.text import counted, shorten
from wellkept.core.types import MemoryType
from wellkept.memory.recall.asked import index_row

if TYPE_CHECKING:
    from wellkept.memory.engine import Engine

_MAX_READ, _TITLE_CHARS = 200, 60
_HEAD = "| ID | Time | T | Title | Read | Work |\n|---|---|---|---|---|---|"
LEGEND = f"""Legend: {" | ".join(WorkKind)}
Read: tokens to read a record. Work: tokens that the work behind it took."""


@record
class WorkRow:
    """One record of work as a row of the table."""

    id: str
    short: str
    at: datetime
    kind: str
    title: str
    read_tokens: int
    work_tokens: int | None

    @property
    def line(self) -> str:
        """The row as text."""
        title = shorten(quoted(self.title).replace("|", "/"), limit=_TITLE_CHARS)
        work = f"~{self.work_tokens}" if self.work_tokens else ""
        cells = (f"m:{self.short}", f"{self.at:%H:%M}", self.kind, title, f"~{self.read_tokens}")
        return f"| {' | '.join(cells)} | {work} |"


def recent_work(
    engine: Engine, where: Filter, *, options: StartOptions, sessions: int | None = None
) -> list[WorkRow]:
    """Observations of the kinds and concepts asked for, newest first; with `sessions`, of so many
    of the latest sessions only."""
    page = engine.store.list(
        replace(where, types=(MemoryType.OBSERVATION,)), order=Order.EVENT_LATEST, limit=_MAX_READ
    )
    latest = list(dict.fromkeys(one.session_id for one in page.items))[:sessions]
    concepts = {one.casefold() for one in options.concepts}
    found: list[WorkRow] = []
    for memory in page.items:
        seen = memory.payload
        if not isinstance(seen, Observation) or memory.session_id not in latest:
            continue
        if options.kinds and seen.kind not in options.kinds:
            continue
        if concepts and concepts.isdisjoint(map(str.casefold, (*seen.concepts, *memory.tags))):
            continue
        cost = index_row(engine, memory)
        found.append(
            WorkRow(
                memory.id, memory.short, memory.valid_from, seen.kind, seen.title,
                cost.read_tokens, cost.work_tokens,
            )
        )  # fmt: skip
    return found[: options.observations]


def by_day(rows: Iterable[WorkRow]) -> dict[str, list[WorkRow]]:
    """The rows by date, in their order."""
    days: dict[str, list[WorkRow]] = {}
    for one in rows:
        days.setdefault(f"{one.at:%Y-%m-%d}", []).append(one)
    return days


def as_table(rows: Sequence[WorkRow]) -> str:
    """The rows by date, with a legend before them and their economics after."""
    lines = ["Recent work", LEGEND]
    for day, some in by_day(rows).items():
        lines += ["", f"{day}:", _HEAD, *(one.line for one in some)]
    read, work = sum(r.read_tokens for r in rows), sum(r.work_tokens or 0 for r in rows)
    spent = f"; the work took ~{work}" if work else ""
    lines += ["", f"{counted(len(rows), 'record')}: ~{read} tokens to read in full{spent}."]
    return "\n".join([*lines, "Read the few that matter by id: memory_show, `wellkept show ID`."])
