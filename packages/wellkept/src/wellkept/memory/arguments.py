"""Keyword arguments that several verbs share, with their help.

Python, command line, HTTP and MCP take the same keywords; `request_builder` parses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Literal, TypeAlias, TypedDict

from wellkept.core.codec import Json, Payload
from wellkept.core.memory import Evidence, Relation, WorkUnitRef
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
