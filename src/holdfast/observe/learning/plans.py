"""The agent's own plan, as its to-do tool was told: how many items, how many done, which is next.

Clients differ in the names of fields and agree in their shape: a list of items, each with words
and a status. What has another shape is no plan.
"""

from __future__ import annotations

import json
from typing import cast

from holdfast.core.events import ToolCalled
from holdfast.core.records import record
from holdfast.core.text import shorten
from holdfast.observe.cleaning import safe_text

_TOOLS = ("todowrite", "todo_write", "update_plan", "write_todos", "todo")
_LISTS = ("todos", "plan", "items", "tasks")
_WORDS = ("content", "step", "description", "title", "text")
_DONE = ("completed", "complete", "done")
_LONGEST = 64_000
_MOST_ITEMS = 200
TASK_CHARS = 120


@record
class Plan:
    """A plan: its items, those done, and the one under way."""

    items: int
    done: int
    current: str | None


def read_plan(call: ToolCalled) -> Plan | None:
    """The plan that a call writes down; takes the call as it came, and gives only safe words."""
    if call.name.lower() not in _TOOLS or not 0 < len(call.input) <= _LONGEST:
        return None
    try:
        told = json.loads(call.input)
    except ValueError:
        return None
    items = _items(told)
    if not items:
        return None
    under_way = next((item for item in items if item.get("status") == "in_progress"), None)
    done = sum(item.get("status") in _DONE for item in items)
    return Plan(len(items), done, _words(under_way) if under_way else None)


def _items(told: object) -> list[dict[str, object]]:
    if isinstance(told, dict):
        fields = cast("dict[str, object]", told)
        told = next((fields[name] for name in _LISTS if name in fields), None)
    if not isinstance(told, list):
        return []
    listed = cast("list[object]", told)[:_MOST_ITEMS]
    return [cast("dict[str, object]", item) for item in listed if isinstance(item, dict)]


def _words(item: dict[str, object]) -> str | None:
    said = next((item[name] for name in _WORDS if isinstance(item.get(name), str)), None)
    text = " ".join(safe_text(str(said), limit=2_000).split()) if said else ""
    return shorten(text, limit=TASK_CHARS) or None
