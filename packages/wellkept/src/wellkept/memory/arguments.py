"""Keyword arguments that several verbs share, with their help.

Python, command line, HTTP and MCP take the same keywords; `request_builder` parses them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Final, Literal, TypeAlias, TypedDict, cast

from wellkept.core.codec import Json, Payload
from wellkept.core.memory import Evidence, Relation, WorkUnitRef
from wellkept.core.types import MemoryType
from wellkept.core.verbs import Arg

Names: TypeAlias = str | Iterable[str]
When: TypeAlias = datetime | str | None


class FilterArgs(TypedDict, total=False):
    """Which memories match. A missing key sets no condition.

    Within one field any value matches, except `tags`: all are required. `since` and `until` bound
    the time of the event; `as_of` selects what was valid then. Times are datetimes, ISO dates, or
    ages (`7d`, `12h`).
    """

    types: Annotated[
        Names,
        Arg(
            "Only these types: rule, fact, decision, trap, recipe, event.",
            flag="--type",
            aka=("type", "entity_type", "memory_type"),
            names="type",
            metavar="TYPE",
        ),
    ]
    scopes: Annotated[Names, Arg("Only this scope.", flag="--scope", hidden=True)]
    sources: Annotated[Names, Arg("Only from this source.", flag="--source", hidden=True)]
    tags: Annotated[
        Names, Arg("Only with this tag; all must match.", flag="--tag", hidden=True, aka=("tag",))
    ]
    files: Annotated[
        Names,
        Arg(
            "Only tied to these files.",
            flag="--file",
            aka=("file", "file_path", "related_files"),
            names="file",
            metavar="PATH",
        ),
    ]
    modules: Annotated[Names, Arg("Only tied to this module.", flag="--module", hidden=True)]
    sessions: Annotated[
        Names, Arg("Only from this session.", flag="--session", hidden=True, names="session")
    ]
    authors: Annotated[Names, Arg("Only by this author.", flag="--author", hidden=True)]
    methodologies: Annotated[
        Names, Arg("Only of this methodology.", flag="--methodology", hidden=True)
    ]
    bands: Annotated[
        Iterable[int],
        Arg("Only with so many dots of confidence, 1 to 5.", flag="--dots", hidden=True),
    ]
    min_confidence: Annotated[float, Arg("Least confidence.", 0, 1, hidden=True)]
    min_importance: Annotated[float, Arg("Least importance.", 0, 1, hidden=True)]
    since: Annotated[
        When,
        Arg("Not before: ISO date, or 7d, 12h.", aka=("date_start", "start_date"), metavar="WHEN"),
    ]
    until: Annotated[
        When, Arg("Before: ISO date, or 7d, 12h.", aka=("date_end", "end_date"), metavar="WHEN")
    ]
    as_of: Annotated[When, Arg("What was believed then.", hidden=True, metavar="WHEN")]
    validity: Annotated[
        Literal["open", "closed", "any"], Arg("Still believed, no longer, or any.", hidden=True)
    ]
    include_stale: Annotated[
        bool,
        Arg(
            "With or without those whose files are gone.",
            flag="--stale/--no-stale",
            hidden=True,
            aka=("stale",),
        ),
    ]
    only_stale: Annotated[bool, Arg("Only those whose files are gone.", hidden=True)]
    archived: Annotated[bool | None, Arg("Only archived ones.", hidden=True)]
    needs_review: Annotated[bool | None, Arg("Only those that wait for review.", hidden=True)]
    user_verified: Annotated[
        bool | None,
        Arg("Only those that a person confirmed.", flag="--verified/--no-verified", hidden=True),
    ]
    pinned: Annotated[bool | None, Arg("Only pinned ones.", hidden=True)]
    all_projects: Annotated[bool, Arg("Look in every project.", hidden=True)]


class MemoryArgs(TypedDict, total=False):
    """Fields of a new memory besides its content."""

    type: Annotated[
        str,
        Arg(
            "rule, fact, decision, trap, recipe or event.",
            short="-t",
            aka=("category",),
            names="type",
            metavar="TYPE",
        ),
    ]
    key: Annotated[str | None, Arg("A name; storing under it again replaces the old value.")]
    tags: Annotated[Names, Arg("Tags.", flag="--tag", hidden=True, aka=("tag",))]
    files: Annotated[
        Names,
        Arg(
            "Files it is about.",
            flag="--file",
            aka=("file", "file_path", "related_files"),
            names="file",
            metavar="PATH",
        ),
    ]
    modules: Annotated[Names, Arg("Modules it is about.", flag="--module", hidden=True)]
    importance: Annotated[float | None, Arg("Importance.", 0, 1, hidden=True)]
    confidence: Annotated[float | None, Arg("Confidence.", 0, 1, hidden=True)]
    scope: Annotated[
        str | None,
        Arg("user (every project), global, module, work_unit or session.", hidden=True),
    ]
    source: Annotated[str, Arg("Where it comes from.", hidden=True)]
    author: Annotated[str | None, Arg("Author.", hidden=True)]
    session: Annotated[str | None, Arg("Session it comes from.", hidden=True, names="session")]
    seq: Annotated[int | None, Arg("Position in that session.", hidden=True)]
    at: Annotated[When, Arg("Time of the event.", hidden=True, metavar="WHEN")]
    pinned: Annotated[bool, Arg("Never decays; always told.", flag="--pin", hidden=True)]
    payload: Annotated[
        Payload | Mapping[str, Json] | None,
        Arg("Typed data of some types.", hidden=True, metavar="JSON"),
    ]
    evidence: Iterable[Evidence]
    relations: Iterable[Relation]
    work_unit: Annotated[
        WorkUnitRef | None,
        Arg("Unit of work, outermost first.", hidden=True, metavar="METHODOLOGY:UNIT/..."),
    ]
    graph_node: str | None
    commit: Annotated[str | None, Arg("Commit it comes from.", hidden=True, metavar="SHA")]
    half_life_days: Annotated[
        float | None, Arg("Half-life of the importance.", flag="--half-life", hidden=True)
    ]
    needs_review: Annotated[bool, Arg("Waits for review.", flag="--review", hidden=True)]
    citation: Annotated[str | None, Arg("Citation label.", hidden=True)]
    work_tokens: Annotated[
        int | None, Arg("Tokens spent to find this out.", 0, hidden=True, aka=("discovery_tokens",))
    ]


class EditArgs(TypedDict, total=False):
    """Fields that can be edited. New content or a new type opens a successor."""

    content: Annotated[
        str, Arg("New text; - reads standard input.", 1, aka=("text", "value"), pipe=True)
    ]
    type: Annotated[str, Arg("New type.", names="type", metavar="TYPE")]
    key: Annotated[str, Arg("New key.")]
    tags: Annotated[Names, Arg("New tags; an empty one removes all.", flag="--tag")]
    files: Annotated[
        Names, Arg("New files; an empty one removes all.", flag="--file", metavar="PATH")
    ]
    modules: Annotated[
        Names, Arg("New modules; an empty one removes all.", flag="--module", hidden=True)
    ]
    importance: Annotated[float, Arg("Importance.", 0, 1)]
    confidence: Annotated[float, Arg("Confidence, also of related memories.", 0, 1)]
    scope: Annotated[str, Arg("New scope.", hidden=True)]
    needs_review: Annotated[
        bool, Arg("Waits for review, or no longer.", flag="--review/--reviewed", hidden=True)
    ]
    user_verified: Annotated[
        bool, Arg("A person vouches for it, or not.", flag="--verify/--unverify", hidden=True)
    ]
    pinned: Annotated[bool, Arg("Pinned ones do not decay.", flag="--pin/--unpin")]
    citation: Annotated[str, Arg("Citation label.", hidden=True)]
    relations: Iterable[Relation]
    half_life_days: Annotated[
        float, Arg("Half-life of the importance in days.", flag="--half-life", hidden=True)
    ]
    payload: Annotated[
        Payload | Mapping[str, Json], Arg("New payload.", hidden=True, metavar="JSON")
    ]


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

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake(name: str) -> str:
    """`filePath`, `file-path` and `File_Path` as `file_path`."""
    return _CAMEL.sub("_", name).replace("-", "_").lower()


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
