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

    `may` says whether a caller sets it at first and edits it afterwards. `keyword` is its name in
    `remember` and `edit` where that differs. `label` is its name in messages; for a list, that of
    one item. `markdown` says whether an export shows it. An `exact` text is stored as it is.
    """

    name: str
    help: str
    may: Literal["", "set", "edit", "set edit"] = ""
    keyword: str = ""
    label: str = ""
    limit: Literal["share", "count", "positive"] | None = None
    markdown: Literal["always", "if set"] | None = None
    exact: bool = False

    @property
    def settable(self) -> bool:
        """Whether a caller may give it when the memory is made."""
        return "set" in self.may

    @property
    def editable(self) -> bool:
        """Whether a caller may change it afterwards."""
        return "edit" in self.may

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
    MemoryField("id", "Full id.", exact=True, markdown="always"),
    MemoryField("type", "Kind of memory.", "set edit", markdown="always"),
    MemoryField("tags", "Tags.", "set edit", label="tag", markdown="always"),
    MemoryField("files", "Files it is about.", "set edit", label="file", markdown="always"),
    MemoryField(
        "key",
        "Unique name; a later memory with the same key replaces this one.",
        "set edit",
        markdown="if set",
    ),
    MemoryField("modules", "Modules it is about.", "set edit", label="module", markdown="if set"),
    MemoryField(
        "pinned",
        "Never decays, is never pruned, always in the context.",
        "set edit",
        markdown="if set",
    ),
    MemoryField("needs_review", "Waits for review.", "set edit", markdown="if set"),
    MemoryField("user_verified", "Confirmed by a person.", "edit", markdown="if set"),
    MemoryField("citation", "Short form for citing it.", "set edit", markdown="if set"),
    MemoryField("author", "Who said it.", "set", markdown="if set"),
    MemoryField(
        "scope", "How far it reaches; user crosses projects.", "set edit", markdown="always"
    ),
    MemoryField("source", "How it was learned.", "set", markdown="always"),
    MemoryField(
        "importance", "How much it matters, 0 to 1.", "set edit", limit="share", markdown="always"
    ),
    MemoryField(
        "confidence", "How sure it is, 0 to 1.", "set edit", limit="share", markdown="always"
    ),
    MemoryField("valid_from", "Since when it holds.", "set", keyword="at", markdown="always"),
    MemoryField("valid_to", "Until when it held.", markdown="if set"),
    MemoryField("superseded_by", "Id of its successor.", exact=True, markdown="if set"),
    MemoryField("updated_at", "Last change.", markdown="always"),
    # Below here: not shown in Markdown.
    MemoryField("content", "The statement.", "set edit"),
    MemoryField("project", "The project it belongs to."),
    MemoryField("created_at", "When it was stored."),
    MemoryField("accessed_at", "Last use."),
    MemoryField(
        "session_id", "Session it comes from.", "set", keyword="session", label="session id"
    ),
    MemoryField(
        "seq", "Position in its session.", "set", label="position in the session", limit="count"
    ),
    MemoryField("provenance_sessions", "Sessions that confirmed it."),
    MemoryField("commit_sha", "Commit it comes from.", "set", keyword="commit", label="commit"),
    MemoryField("work_unit", "Unit of work it belongs to.", "set"),
    MemoryField("relations", "Links to memories and files.", "set edit"),
    MemoryField("evidence", "What it rests on.", "set"),
    MemoryField("graph_node", "Symbol of the code graph it is about.", "set"),
    MemoryField(
        "half_life_days",
        "Days until half forgotten.",
        "set edit",
        label="half-life",
        limit="positive",
    ),
    MemoryField("work_tokens", "Tokens it took to find out.", "set", limit="count"),
    MemoryField("payload", "Typed part that some types have.", "set edit"),
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
