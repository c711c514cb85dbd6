"""Other names and values of arguments: those of documents and other tools, turned into ours.

Models guess names from what they have read (`filePath`, `session_id`, `category`, milliseconds), so
these are accepted wherever the meaning is clear. Knows no models and no operations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, cast

from wellkept.core.types import MemoryType

_EVENTS: Final = frozenset(
    {MemoryType.TIMELINE, MemoryType.EPISODE, MemoryType.OBSERVATION, MemoryType.PROMPT}
)
CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "knowledge": tuple(one.value for one in MemoryType if one not in _EVENTS),
        "timeline": (MemoryType.TIMELINE.value,),
    }
)
"""The two kinds of memory that `category` tells apart."""
# Counts and habits that planning reads, and prompts, which are kept for their order.
_NOT_FOR_READING: Final = frozenset(
    {
        MemoryType.PREFETCH_PATTERN,
        MemoryType.CAUSAL_DEPENDENCY,
        MemoryType.CONTEXT_COST,
        MemoryType.TASK_CALIBRATION,
        MemoryType.WORK_UNIT_OUTCOME,
        MemoryType.PROMPT,
    }
)
READABLE: Final = tuple(one.value for one in MemoryType if one not in _NOT_FOR_READING)
"""The types that a search means when none are named."""
_KINDS: Final = frozenset({"bugfix", "feature", "refactor", "discovery", "change"})
_ENTITIES: Final = MappingProxyType(
    {
        "observations": MemoryType.OBSERVATION.value,
        "sessions": MemoryType.TIMELINE.value,
        "session": MemoryType.TIMELINE.value,
        "summaries": MemoryType.TIMELINE.value,
        "prompts": MemoryType.PROMPT.value,
    }
)
_ORDERS: Final = MappingProxyType(
    {
        "": "relevance",
        "relevance": "relevance",
        "date_desc": "date_desc",
        "newest": "date_desc",
        "date_asc": "date_asc",
        "oldest": "date_asc",
    }
)
# Every date of use counts seconds below this and milliseconds above.
_FIRST_MILLISECONDS: Final = 100_000_000_000
_LAST_MILLISECONDS: Final = 253_402_300_799_000

_ALWAYS: Final = MappingProxyType({"session_id": "session", "project_id": "project"})
FILE: Final = MappingProxyType({"file_path": "file", "path": "file"})
FILTERS: Final = MappingProxyType(
    {
        "type": "types",
        "entity_type": "types",
        "memory_type": "types",
        "obs_types": "obs_type",
        "observation_type": "obs_type",
        "observation_types": "obs_type",
        "date_start": "since",
        "start_date": "since",
        "date_end": "until",
        "end_date": "until",
        "tag": "tags",
        "concept": "concepts",
        "file": "files",
        "file_path": "files",
        "related_files": "files",
    }
)
TIMELINE: Final = MappingProxyType(
    {
        **FILTERS,
        "depth_before": "before",
        "depth_after": "after",
        "anchor_id": "anchor",
        "id": "anchor",
    }
)
IDS: Final = MappingProxyType({"id": "ids", "keys": "ids", "memory_id": "ids", "memory_ids": "ids"})
RECORDS: Final = MappingProxyType({**IDS, "key": "ids"})
STATEMENT: Final = MappingProxyType(
    {
        "category": "type",
        "text": "content",
        "statement": "content",
        "fact": "content",
        "memory": "content",
        "value": "content",
        "file": "files",
        "file_path": "files",
        "related_files": "files",
    }
)
CONTEXT: Final = MappingProxyType(
    {
        "prompt": "query",
        "task": "query",
        "task_description": "query",
        "file": "files",
        "file_path": "files",
        "max_tokens": "budget_tokens",
    }
)
TASK: Final = MappingProxyType({"task_description": "task", "description": "task", "query": "task"})

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake(name: str) -> str:
    """`filePath`, `file-path` and `File_Path` as `file_path`."""
    return _CAMEL.sub("_", name).replace("-", "_").lower()


def renamed(
    given: Mapping[str, object], *, known: Collection[str], synonyms: Mapping[str, str]
) -> dict[str, object]:
    """The arguments under the names of fields; a field's own name wins over a synonym."""
    found: dict[str, object] = {}
    for name, value in given.items():
        if name in known:
            found[name] = value
    for name, value in given.items():
        if name in known:
            continue
        plain = snake(name)
        if plain not in known:
            plain = synonyms.get(plain) or _ALWAYS.get(plain, plain)
        if value is None and plain not in known:
            continue
        found.setdefault(plain if plain in known or plain in _VALUES else name, value)
    return {name: value for name, value in found.items() if value is not None}


# Names whose values are translated after renaming.
_VALUES: Final = frozenset({"obs_type", "category", "key"})


def with_types(arguments: dict[str, object]) -> dict[str, object]:
    """`category`, `obs_type` and the names of whole kinds of records, as types and tags."""
    types = [_type(one) for one in _list(arguments.get("types"))]
    for category in _texts(arguments.pop("category", None)):
        types += CATEGORIES.get(category.lower(), (category,))
    kinds = [*_texts(arguments.pop("obs_type", None)), *(one for one in types if one in _KINDS)]
    types = [one for one in types if one not in _KINDS]
    arguments.pop("types", None)
    if types:
        arguments["types"] = types
    if kinds:
        # Tags are joined with "and"; of several kinds the first is as good as any.
        arguments["tags"] = [*_texts(arguments.get("tags")), *(kind.lower() for kind in kinds[:1])]
    return arguments


def _type(name: str) -> str:
    """A type by its name, also in the plural, and of whole kinds of records."""
    plain = snake(name.strip())
    single = plain.removesuffix("s")
    return _ENTITIES.get(plain) or (single if single in {*MemoryType, *_KINDS} else plain)


def with_order(arguments: dict[str, object]) -> dict[str, object]:
    """`DateDesc`, `newest` and the like as our orders; other values stay, to be refused."""
    order = arguments.get("order_by")
    if isinstance(order, str):
        plain = snake(order.strip())
        arguments["order_by"] = _ORDERS.get(plain, order)
    return arguments


def with_key_to_forget(arguments: dict[str, object]) -> dict[str, object]:
    """`memory_forget(key)` takes effect at once, but only closes the memory: nothing is lost."""
    if (key := arguments.pop("key", None)) is None:
        return arguments
    arguments["ids"] = [*_texts(arguments.get("ids")), *_texts(key)]
    return {"dry_run": False, "keep_history": True, **arguments}


def as_moment(value: object) -> object:
    """A Unix time in seconds or milliseconds as an ISO date; anything else as it is."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value) if len(value.strip()) > len("20260101") else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    milliseconds = value if abs(value) >= _FIRST_MILLISECONDS else value * 1000
    if not 0 <= milliseconds <= _LAST_MILLISECONDS:
        return str(value)
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def _list(value: object) -> list[str]:
    """Texts, also where a list was sent as the text of a JSON array."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return _texts(cast("object", json.loads(value)))
        except ValueError:
            return [value]
    return _texts(value)


def _texts(value: object) -> list[str]:
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, list | tuple):
        return [str(one) for one in cast("list[object]", value)]
    return [str(value)]
