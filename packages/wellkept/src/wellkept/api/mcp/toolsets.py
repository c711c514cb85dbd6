"""Sets of MCP tools: `default` is always listed, the others where a user asks for them.

What is listed comes from `tools.json`, which `scripts.generate_docs` writes from the operation
table: building schemas takes longer than everything else that happens before the first answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from wellkept.core.errors import UsageError

DEFAULT: Final = "default"
ALL: Final = "all"
TOOLSETS: Final[Mapping[str, str]] = MappingProxyType(
    {
        DEFAULT: "memory, code search and skills; always listed",
        "graph": "impact, dependencies and data flow of code",
        "skills": "list, write and check skills",
        "recipes": "recipes of earlier work, notes and verdicts on this session's work",
        "records": "counts, decisions, changes of a file, origin of a memory, observations",
        "page": "what the page shows: health, review, bulk changes with undo, module map",
    }
)
FILE: Final = Path(__file__).with_name("tools.json")


def parse_toolsets(text: str) -> frozenset[str]:
    """Toolset names separated by commas or spaces; `default` is always among them."""
    names = {name.casefold() for name in text.replace(",", " ").split()}
    if unknown := sorted(names - {*TOOLSETS, ALL}):
        raise UsageError(
            f"Unknown toolset {', '.join(unknown)}.",
            hint=f"Choose from: {', '.join(TOOLSETS)}, all.",
        )
    return frozenset(TOOLSETS) if ALL in names else frozenset({DEFAULT, *names})


@cache
def all_tools() -> tuple[tuple[str, dict[str, Any]], ...]:
    """Every tool with its toolset, in the order of the table."""
    entries = cast("list[dict[str, Any]]", json.loads(FILE.read_text("utf-8")))
    return tuple((entry["toolset"], entry["tool"]) for entry in entries)


def listed_tools(toolsets: Iterable[str]) -> list[dict[str, Any]]:
    """The tools of these sets, as MCP lists them."""
    wanted = frozenset(toolsets)
    return [tool for toolset, tool in all_tools() if toolset in wanted]
