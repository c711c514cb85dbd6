"""Read the agent's to-do plan from its to-do tools: items, how many are done, which is current.

Some clients write the whole list each time: items with a text and a status, under various field
names. Claude Code creates and changes one task at a time. Other shapes are ignored. Stateless: the
plan so far is an argument.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from wellkept.core.codec import record_from_json, record_to_json
from wellkept.core.records import record, replace
from wellkept.core.session.events import ToolCalled
from wellkept.core.session.steps import SessionStep
from wellkept.core.text import shorten
from wellkept.text.events.sanitize import safe_text

_LIST_TOOLS = ("todowrite", "todo_write", "update_plan", "write_todos", "todo")
_ONE_MORE, _ONE_CHANGED = "taskcreate", "taskupdate"
_TOOLS = (*_LIST_TOOLS, _ONE_MORE, _ONE_CHANGED)
_LISTS = ("todos", "plan", "items", "tasks")
_WORDS = ("content", "step", "subject", "description", "title", "text")
_DONE = ("completed", "complete", "done")
_GONE = ("deleted", "cancelled", "canceled")
_UNDER_WAY = "in_progress"
_WAITS = "pending"
_LONGEST = 64_000
_MOST_ITEMS = 200
TASK_CHARS = 120


@record
class PlanItem:
    """One item of a plan: its id, its text and its status."""

    id: str
    words: str
    status: str

    @property
    def is_done(self) -> bool:
        """Whether it was done."""
        return self.status in _DONE


@record
class Plan:
    """The current plan. `planned` counts the items before the first was started. Earlier plans of
    the session are included in both counts."""

    items: tuple[PlanItem, ...] = ()
    planned: int = 0
    earlier_planned: int = 0
    earlier_done: int = 0

    @property
    def done(self) -> int:
        """How many steps were done so far."""
        return self.earlier_done + sum(item.is_done for item in self.items)

    @property
    def current(self) -> str | None:
        """The step under way."""
        under_way = (item.words for item in self.items if item.status == _UNDER_WAY)
        return next(under_way, "") or None


def plan_in(steps: Sequence[SessionStep]) -> Plan:
    """The plan as the last step that wrote one left it."""
    for one in reversed(steps):
        if one.kind == "plan" and one.said:
            return record_from_json(Plan, json.loads(one.said))
    return Plan()


def plan_entry(
    call: ToolCalled, origin: SessionStep, steps: Sequence[SessionStep]
) -> SessionStep | None:
    """The log entry of a call that changes the plan; None for another call. `origin` has its time
    and number."""
    plan = read_plan(call, plan_in(steps)) if call.name.lower() in _TOOLS else None
    if plan is None:
        return None
    said = json.dumps(record_to_json(plan), ensure_ascii=False)
    return replace(origin, kind="plan", what=plan.current or "", said=said)


def read_plan(call: ToolCalled, before: Plan) -> Plan | None:
    """The plan after a call; None for a call that tells of none. Takes the call as it came, and
    gives only safe words."""
    items = _after(call, before.items)
    if items is None:
        return None
    if _is_another(before.items, items):
        before = Plan(earlier_planned=before.planned, earlier_done=before.done)
    # A first list may come with a step under way; later ones no longer tell what was planned.
    begun = bool(before.items) and any(i.status != _WAITS for i in (*before.items, *items))
    planned = before.planned if begun else before.earlier_planned + len(items)
    return replace(before, items=items, planned=planned)


def _is_another(before: tuple[PlanItem, ...], items: tuple[PlanItem, ...]) -> bool:
    """Whether all of a plan was done and nothing of it is in the one that follows."""
    return _is_over(before) and not any(item.is_done for item in items)


def _is_over(items: tuple[PlanItem, ...]) -> bool:
    return bool(items) and all(item.is_done for item in items)


def _after(call: ToolCalled, items: tuple[PlanItem, ...]) -> tuple[PlanItem, ...] | None:
    tool = call.name.lower()
    if tool not in _TOOLS or not 0 < len(call.input) <= _LONGEST:
        return None
    try:
        told = cast("object", json.loads(call.input))
    except ValueError:
        return None
    if tool in _LIST_TOOLS:
        return _listed(told)
    fields = cast("dict[str, object]", told) if isinstance(told, dict) else {}
    return _created(fields, items) if tool == _ONE_MORE else _changed(fields, items)


def _listed(told: object) -> tuple[PlanItem, ...] | None:
    if isinstance(told, dict):
        fields = cast("dict[str, object]", told)
        told = next((fields[name] for name in _LISTS if name in fields), None)
    listed = cast("list[object]", told)[:_MOST_ITEMS] if isinstance(told, list) else []
    rows = [cast("dict[str, object]", item) for item in listed if isinstance(item, dict)]
    made = [PlanItem(_words(row), _words(row), str(row.get("status") or _WAITS)) for row in rows]
    return tuple(made) or None


def _created(fields: dict[str, object], items: tuple[PlanItem, ...]) -> tuple[PlanItem, ...] | None:
    """Tasks are numbered from 1 in the order in which they were made. Once all are done, one more
    begins another plan."""
    words = _words(fields)
    if not words or len(items) >= _MOST_ITEMS:
        return None
    number = 1 + max((int(item.id) for item in items if item.id.isdecimal()), default=0)
    return (*(() if _is_over(items) else items), PlanItem(str(number), words, _WAITS))


def _changed(fields: dict[str, object], items: tuple[PlanItem, ...]) -> tuple[PlanItem, ...] | None:
    name, status = str(fields.get("taskId", "")), fields.get("status")
    if not isinstance(status, str) or all(item.id != name for item in items):
        return None
    kept = (item for item in items if not (item.id == name and status in _GONE))
    return tuple(replace(i, status=status[:20]) if i.id == name else i for i in kept)


def _words(item: dict[str, object]) -> str:
    said = next((item[name] for name in _WORDS if isinstance(item.get(name), str)), None)
    text = " ".join(safe_text(str(said), limit=2_000).split()) if said else ""
    return shorten(text, limit=TASK_CHARS)
