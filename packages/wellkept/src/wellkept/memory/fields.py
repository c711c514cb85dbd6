"""The field table: one row for each field of `Memory`.

A row says who may set or change the field, its limits, how Markdown shows it, and what people read
about it. The codecs, the checks of drafts and patches, the keywords of the library and the models
of the HTTP API follow this table and the annotations of `Memory`. To add a field: add it to
`Memory` (and to `MemoryDraft`, `MemoryPatch` and the typed keywords when callers may set it), add a
row here, and a column in the store. `tests/memory/test_fields.py` checks that all agree.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, cast

from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory
from wellkept.core.records import field_types, record

_MAX_COUNT = 2**53


@record
class MemoryField:
    """One field of a memory.

    `settable` when it is made, `editable` afterwards. `keyword` is its name in `remember` and
    `edit` where that differs. `label` is its name in messages; for a list, that of one item.
    `markdown` says whether an export shows it. An `exact` text is never cleaned or redacted.
    """

    name: str
    help: str
    settable: bool = False
    editable: bool = False
    keyword: str = ""
    label: str = ""
    limit: Literal["share", "count", "positive"] | None = None
    markdown: Literal["always", "if set"] | None = None
    exact: bool = False

    @property
    def argument(self) -> str:
        """The keyword that sets it."""
        return self.keyword or self.name

    @property
    def noun(self) -> str:
        """What messages call it."""
        return self.label or self.name.replace("_", " ")

    @property
    def type(self) -> Any:
        """Its annotation in `Memory`, resolved."""
        return _types()[self.name]

    def check(self, value: float) -> None:
        """UsageError when it is no number or outside the limits of the field."""
        if not isinstance(cast("object", value), int | float):
            raise UsageError(f"{self.argument} must be a number, not {type(value).__name__}.")
        match self.limit:
            case "share":
                fits, hint = 0.0 <= value <= 1.0, "Give a number from 0 to 1."
            case "count":
                fits, hint = 0 <= value < _MAX_COUNT, "Give 0 or more."
            case "positive":
                fits, hint = 0 < value <= sys.float_info.max, "Give a number above 0."
            case None:
                return
        if not fits:
            raise UsageError(f"The {self.noun} {value} is out of range.", hint=hint)


@cache
def _types() -> dict[str, Any]:
    return field_types(Memory)


# In the order in which a Markdown file shows them.
_ROWS = (
    MemoryField("id", "Full id.", markdown="always", exact=True),
    MemoryField("type", "Kind of memory.", settable=True, editable=True, markdown="always"),
    MemoryField("tags", "Tags.", settable=True, editable=True, label="tag", markdown="always"),
    MemoryField(
        "files", "Files it is about.", settable=True, editable=True, label="file", markdown="always"
    ),
    MemoryField(
        "key",
        "Unique name; a later memory with the same key replaces this one.",
        settable=True,
        editable=True,
        markdown="if set",
    ),
    MemoryField(
        "modules",
        "Modules it is about.",
        settable=True,
        editable=True,
        label="module",
        markdown="if set",
    ),
    MemoryField(
        "pinned",
        "Never decays, is never pruned, always in the context.",
        settable=True,
        editable=True,
        markdown="if set",
    ),
    MemoryField(
        "needs_review", "Waits for review.", settable=True, editable=True, markdown="if set"
    ),
    MemoryField("user_verified", "Confirmed by a person.", editable=True, markdown="if set"),
    MemoryField(
        "citation", "Short form for citing it.", settable=True, editable=True, markdown="if set"
    ),
    MemoryField("author", "Who said it.", settable=True, markdown="if set"),
    MemoryField(
        "scope",
        "How far it reaches; user crosses projects.",
        settable=True,
        editable=True,
        markdown="always",
    ),
    MemoryField("source", "How it was learned.", settable=True, markdown="always"),
    MemoryField(
        "importance",
        "How much it matters, 0 to 1.",
        settable=True,
        editable=True,
        limit="share",
        markdown="always",
    ),
    MemoryField(
        "confidence",
        "How sure it is, 0 to 1.",
        settable=True,
        editable=True,
        limit="share",
        markdown="always",
    ),
    MemoryField(
        "valid_from", "Since when it holds.", settable=True, keyword="at", markdown="always"
    ),
    MemoryField("valid_to", "Until when it held.", markdown="if set"),
    MemoryField("superseded_by", "Id of its successor.", markdown="if set", exact=True),
    MemoryField("updated_at", "Last change.", markdown="always"),
    # Below here: not shown in Markdown.
    MemoryField("content", "The statement.", settable=True, editable=True),
    MemoryField("project", "The project it belongs to."),
    MemoryField("created_at", "When it was stored."),
    MemoryField("accessed_at", "Last use."),
    MemoryField(
        "session_id", "Session it comes from.", settable=True, keyword="session", label="session id"
    ),
    MemoryField(
        "seq",
        "Position in its session.",
        settable=True,
        label="position in the session",
        limit="count",
    ),
    MemoryField("provenance_sessions", "Sessions that confirmed it."),
    MemoryField(
        "commit_sha", "Commit it comes from.", settable=True, keyword="commit", label="commit"
    ),
    MemoryField("work_unit", "Unit of work it belongs to.", settable=True),
    MemoryField("relations", "Links to memories and files.", settable=True, editable=True),
    MemoryField("evidence", "What it rests on.", settable=True),
    MemoryField("graph_node", "Symbol of the code graph it is about.", settable=True),
    MemoryField(
        "half_life_days",
        "Days until half forgotten.",
        settable=True,
        editable=True,
        label="half-life",
        limit="positive",
    ),
    MemoryField("work_tokens", "Tokens it took to find out.", settable=True, limit="count"),
    MemoryField("payload", "Typed part that some types have.", settable=True, editable=True),
    MemoryField("stale_at", "Since when its files are gone."),
    MemoryField("archived_at", "When it was archived."),
    MemoryField(
        "access_count",
        "Number of uses: read on request, or used after it was injected, once a session.",
        limit="count",
    ),
)

MEMORY_FIELDS: Mapping[str, MemoryField] = MappingProxyType({row.name: row for row in _ROWS})
SETTABLE = tuple(row for row in _ROWS if row.settable)
EDITABLE = tuple(row for row in _ROWS if row.editable)
IN_MARKDOWN = tuple(row for row in _ROWS if row.markdown)
