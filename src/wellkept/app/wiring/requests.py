"""From the plain words of a caller (strings, names, dates) to the records that memory takes.

Both edges that people type at, the library and the command line, say things the same way and get
the same errors. Knows the vocabularies, not what is done with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from wellkept.core.clock import parse_moment, whole_ms
from wellkept.core.codec import Json, Payload, payload_from_json
from wellkept.core.errors import UsageError
from wellkept.core.memory import MemoryDraft, MemoryPatch
from wellkept.core.query import Filter, Validity
from wellkept.core.records import record, replace
from wellkept.core.types import TYPE_RULES, MemoryType, Scope, Source, parse_choice, parse_type

if TYPE_CHECKING:
    from wellkept.app.wiring.keyword_types import EditArgs, FilterArgs, MemoryArgs, Names, When

_Choice = TypeVar("_Choice", bound=StrEnum)
_AGO = r"\s*(\d{1,5})\s*(m|h|d|w)[a-z]*(?:\s+ago)?\s*"
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@record
class RequestBuilder:
    """Who asks: in which project, from which folder, at what time."""

    project: str
    root: Path
    folder: Path
    now: datetime

    def filter(self, which: FilterArgs) -> Filter:
        """The filter that the words stand for."""
        types, own_tags = _types(_texts(which.get("types", ())))
        return Filter(
            project=None if which.get("all_projects", False) else self.project,
            types=types,
            scopes=_choices(Scope, which.get("scopes", ()), what="scope"),
            sources=_choices(Source, which.get("sources", ()), what="source"),
            tags=(*_texts(which.get("tags", ())), *own_tags),
            files=self.files(which.get("files", ())),
            modules=_texts(which.get("modules", ())),
            sessions=_texts(which.get("sessions", ())),
            authors=_texts(which.get("authors", ())),
            min_confidence=which.get("min_confidence", 0.0),
            min_importance=which.get("min_importance", 0.0),
            since=self.moment(which.get("since")),
            until=self.moment(which.get("until")),
            as_of=self.moment(which.get("as_of")),
            validity=parse_choice(Validity, which.get("validity", "open"), what="validity"),
            stale=None if which.get("include_stale", True) else False,
            archived=which.get("archived", False),
            needs_review=which.get("needs_review"),
            user_verified=which.get("user_verified"),
            pinned=which.get("pinned"),
        )

    def draft(self, content: str, details: MemoryArgs) -> MemoryDraft:
        """The draft that the words stand for."""
        kind, own_tags = _type(details.get("type", "fact"))
        scope = details.get("scope")
        return MemoryDraft(
            content=content,
            type=kind,
            key=details.get("key"),
            tags=(*_texts(details.get("tags", ())), *own_tags),
            files=self.files(details.get("files", ())),
            modules=_texts(details.get("modules", ())),
            importance=details.get("importance"),
            confidence=details.get("confidence"),
            scope=None if scope is None else parse_choice(Scope, scope, what="scope"),
            source=parse_choice(Source, details.get("source", "agent_explicit"), what="source"),
            author=details.get("author"),
            session_id=details.get("session"),
            seq=details.get("seq"),
            commit_sha=details.get("commit"),
            work_unit=details.get("work_unit"),
            relations=tuple(details.get("relations", ())),
            evidence=tuple(details.get("evidence", ())),
            graph_node=details.get("graph_node"),
            half_life_days=details.get("half_life_days"),
            needs_review=details.get("needs_review", False),
            pinned=details.get("pinned", False),
            citation=details.get("citation"),
            work_tokens=details.get("work_tokens"),
            payload=_payload(kind, details.get("payload")),
            valid_from=self.moment(details.get("at")),
        )

    def patch(self, changes: EditArgs, *, of: MemoryType) -> MemoryPatch:
        """The patch of a memory of that type that the words stand for."""
        patch = MemoryPatch(
            content=changes.get("content"),
            key=changes.get("key"),
            importance=changes.get("importance"),
            confidence=changes.get("confidence"),
            needs_review=changes.get("needs_review"),
            user_verified=changes.get("user_verified"),
            pinned=changes.get("pinned"),
            citation=changes.get("citation"),
            half_life_days=changes.get("half_life_days"),
        )
        if "type" in changes:
            patch = replace(patch, type=parse_type(changes["type"]))
        if "payload" in changes:
            patch = replace(patch, payload=_payload(patch.type or of, changes["payload"]))
        if "relations" in changes:
            patch = replace(patch, relations=tuple(changes["relations"]))
        if "scope" in changes:
            patch = replace(patch, scope=parse_choice(Scope, changes["scope"], what="scope"))
        if "tags" in changes:
            patch = replace(patch, tags=_texts(changes["tags"]))
        if "files" in changes:
            patch = replace(patch, files=self.files(changes["files"]))
        if "modules" in changes:
            patch = replace(patch, modules=_texts(changes["modules"]))
        return patch

    def files(self, paths: Names) -> tuple[str, ...]:
        """Paths as memories name them: from the project's root, with forward slashes.

        A path that exists from the asker's folder is meant from there; any other from the root.
        """
        from wellkept.app.projects.resolver import path_exists, relative_path

        def start(text: str) -> str:
            here = self.folder / text
            return str(here) if path_exists(here) else text

        return tuple(relative_path(self.root, start(text)) for text in _texts(paths) if text)

    def moment(self, when: When) -> datetime | None:
        """A moment from a datetime, an ISO date, or how long ago."""
        if when is None or isinstance(when, datetime):
            return whole_ms(when) if when else None
        if when.strip().casefold() in {"now", "today", "yesterday"}:
            return self._named_day(when.strip().casefold())
        if not (ago := re.fullmatch(_AGO, when, re.IGNORECASE)):
            return parse_moment(when)
        return self.now - timedelta(**{_UNITS[ago[2].lower()]: int(ago[1])})

    def _named_day(self, name: str) -> datetime:
        if name == "now":
            return self.now
        midnight = self.now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight - timedelta(days=1 if name == "yesterday" else 0)


def _texts(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _choices(kind: type[_Choice], names: Names, *, what: str) -> tuple[_Choice, ...]:
    return tuple(parse_choice(kind, name, what=what) for name in _texts(names))


def _type(name: str) -> tuple[MemoryType, tuple[str, ...]]:
    """A type by name; one that a methodology adds is kept as a known type under a tag."""
    try:
        return parse_type(name), ()
    except UsageError:
        from wellkept.app.wiring.plugins import installed_plugins

        custom = installed_plugins().custom_type(name)
        if custom is None:
            raise
        return custom[0].kept_as, (custom[1],)


def _types(names: tuple[str, ...]) -> tuple[tuple[MemoryType, ...], tuple[str, ...]]:
    """Several types by name, with the tags that narrow them down."""
    found = [_type(name) for name in names]
    tags = tuple(tag for _, own in found for tag in own)
    if tags and len(found) > 1:
        raise UsageError(
            "A type that a methodology adds can only be asked for alone.",
            hint="Ask once for each type.",
        )
    return tuple(kind for kind, _ in found), tags


def _payload(type: MemoryType, given: Payload | Mapping[str, Json] | None) -> Payload | None:
    if given is None or isinstance(given, Payload):
        return given
    kind = TYPE_RULES[type].payload
    if kind is None:
        raise UsageError(f"A memory of type {type.value} takes no payload.")
    return payload_from_json(kind, given)
