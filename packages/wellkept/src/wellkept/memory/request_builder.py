"""Builds filters, drafts and patches from plain arguments: strings, names, dates.

Library, command line and HTTP share it, so they accept the same values and raise the same errors.
It parses arguments and does not read or write memories.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from wellkept.core.clock import parse_moment, whole_ms
from wellkept.core.codec import Json, Payload, record_from_json
from wellkept.core.errors import UsageError
from wellkept.core.memory import MemoryDraft, MemoryPatch, WorkUnitRef
from wellkept.core.query import CONFIDENCE_BANDS, Filter, Validity
from wellkept.core.records import record
from wellkept.core.types import (
    TYPE_RULES,
    MemoryType,
    Scope,
    Source,
    parse_choice,
    parse_type,
    parse_types,
)
from wellkept.memory.fields import EDITABLE, SETTABLE, MemoryField

if TYPE_CHECKING:
    from wellkept.memory.arguments import EditArgs, FilterArgs, MemoryArgs, Names, When

_Choice = TypeVar("_Choice", bound=StrEnum)
_AGO = r"\s*(\d{1,5})\s*(m|h|d|w)[a-z]*(?:\s+ago)?\s*"
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


# The keys of the TypedDicts in `keyword_types`, which take milliseconds to import.
FILTER_KEYS = frozenset(
    """types scopes sources tags files modules sessions authors methodologies bands min_confidence
    min_importance since until as_of validity include_stale only_stale archived needs_review
    user_verified pinned all_projects""".split()
)


def require_known(
    method: Callable[..., object], given: Mapping[str, object], known: frozenset[str]
) -> None:
    """Raise TypeError for a keyword that a method does not take, with the closest one it does."""
    unknown = next((name for name in given if name not in known), None)
    if unknown is None:
        return
    from difflib import get_close_matches
    from inspect import signature

    named = (p.name for p in signature(method).parameters.values() if p.kind is p.KEYWORD_ONLY)
    accepted = sorted({*known, *named})
    close = get_close_matches(unknown, accepted, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else f"It takes {', '.join(accepted)}."
    raise TypeError(f"{method.__name__}() got an unexpected keyword argument {unknown!r}. {hint}")


def require_text(value: object, *, what: str) -> None:
    """Raise UsageError for anything but a string."""
    if not isinstance(value, str):
        raise UsageError(f"{what} must be a string, not {type(value).__name__}.")


def require_work_unit(value: object) -> None:
    """Raise UsageError for anything but a `WorkUnitRef`."""
    if not isinstance(value, WorkUnitRef):
        raise UsageError(
            f"A work unit must be a WorkUnitRef, not {type(value).__name__}.",
            hint='Pass wellkept.WorkUnitRef("native", ("auth", "login"), "login"): methodology,'
            " path from the outermost unit, label.",
        )


def _no_own_type(_: str) -> None:
    return None


def _anybody(what: str) -> None:
    """Refuses nobody."""


@record
class RequestBuilder:
    """Parses the arguments of a caller in one project and folder, at one time."""

    project: str
    root: Path
    folder: Path
    now: datetime
    own_type: Callable[[str], tuple[MemoryType, str] | None] = _no_own_type
    """A type that a methodology adds: the type it is stored as, and its tag."""
    require_person: Callable[[str], None] = _anybody
    """Refuses whoever may not look into other projects."""

    def filter(self, args: FilterArgs) -> Filter:
        """A filter from keyword arguments."""
        if args.get("all_projects", False):
            self.require_person("Looking into every project")
        types, own_tags = self._types(_texts(args.get("types", ())))
        return Filter(
            project=None if args.get("all_projects", False) else self.project,
            types=types,
            scopes=_choices(Scope, args.get("scopes", ()), what="scope"),
            sources=_choices(Source, args.get("sources", ()), what="source"),
            tags=(*_texts(args.get("tags", ())), *own_tags),
            files=self.files(args.get("files", ())),
            modules=_texts(args.get("modules", ())),
            sessions=_texts(args.get("sessions", ())),
            authors=_texts(args.get("authors", ())),
            methodologies=_texts(args.get("methodologies", ())),
            bands=_bands(args.get("bands", ())),
            min_confidence=args.get("min_confidence", 0.0),
            min_importance=args.get("min_importance", 0.0),
            since=self.moment(args.get("since")),
            until=self.moment(args.get("until")),
            as_of=self.moment(args.get("as_of")),
            validity=parse_choice(Validity, args.get("validity", "open"), what="validity"),
            stale=_stale(args),
            archived=args.get("archived", False),
            needs_review=args.get("needs_review"),
            user_verified=args.get("user_verified"),
            pinned=args.get("pinned"),
        )

    def drafts(self, statements: Iterable[MemoryDraft | str]) -> list[MemoryDraft]:
        """Drafts from drafts or plain strings."""
        if isinstance(statements, (str, MemoryDraft)):
            raise TypeError("remember_many() takes a list. Use remember() for one statement.")
        if not isinstance(cast("object", statements), Iterable):
            raise UsageError(f"remember_many() takes a list, not {type(statements).__name__}.")
        return [one if isinstance(one, MemoryDraft) else self.draft(one, {}) for one in statements]

    def draft(self, content: str, given: MemoryArgs) -> MemoryDraft:
        """The draft that the keywords of `remember` describe."""
        require_text(content, what="The text of a memory")
        if given.get("work_unit") is not None:
            require_work_unit(given.get("work_unit"))
        kind, own_tags = self._type(given.get("type", "fact"))
        values = self._values(given, SETTABLE, kind)
        values |= {"content": content, "type": kind, "tags": (*values.get("tags", ()), *own_tags)}
        return MemoryDraft(**values)

    def patch(self, given: EditArgs, *, of: MemoryType) -> MemoryPatch:
        """The patch of a memory of that type that the keywords of `edit` describe."""
        kind = parse_type(given["type"]) if "type" in given else None
        values = self._values(given, EDITABLE, kind or of)
        values["type"] = kind
        return MemoryPatch(**values)

    def _type(self, name: str) -> tuple[MemoryType, tuple[str, ...]]:
        """The type that is stored under a name, and its tags."""
        kinds, tags = self._types((name,))
        return kinds[0], tags

    def _types(self, names: tuple[str, ...]) -> tuple[tuple[MemoryType, ...], tuple[str, ...]]:
        """Types by name. A methodology's own type is stored as a built-in type with a tag."""
        kinds: list[MemoryType] = []
        for name in names:
            require_text(name, what="A type")
            try:
                kinds += parse_types(name)
            except UsageError:
                own = self.own_type(name)
                if own is None:
                    raise
                if len(names) > 1:
                    raise UsageError(
                        "A methodology's own type cannot be combined with other types.",
                        hint="Search once per type.",
                    ) from None
                return (own[0],), (own[1],)
        return tuple(kinds), ()

    def _values(
        self, given: Mapping[str, Any], rows: Sequence[MemoryField], kind: MemoryType
    ) -> dict[str, Any]:
        """Keywords as values of the fields they set. The type is left to the caller."""
        arguments = {row.argument: row for row in rows if row.name != "type"}
        return {
            row.name: value
            for keyword, row in arguments.items()
            if (value := self._value(row, given.get(keyword), kind)) is not None
        }

    def _value(self, row: MemoryField, value: Any, kind: MemoryType) -> Any:
        if value is None:
            return None
        match row.name:
            case "files":
                return self.files(value)
            case "valid_from":
                return self.moment(value)
            case "payload":
                return _payload(kind, value)
            case "scope" | "source":
                return parse_choice(row.type, value, what=row.name)
            case "tags" | "modules":
                return _texts(value)
            case "relations" | "evidence":
                return tuple(value)
            case _:
                return value

    def files(self, paths: Names) -> tuple[str, ...]:
        """Paths relative to the project's root, with forward slashes.

        A path that exists below the caller's folder is relative to it; any other to the root.
        """
        from wellkept.memory.file_presence import path_exists, relative_path

        def start(text: str) -> str:
            here = self.folder / text
            return str(here) if path_exists(here) else text

        return tuple(relative_path(self.root, start(text)) for text in _texts(paths) if text)

    def moment(self, when: When) -> datetime | None:
        """Parse a datetime, an ISO date, or an age such as `7d`."""
        if when is None or isinstance(when, datetime):
            return whole_ms(when) if when else None
        if when.strip().casefold() in {"now", "today", "yesterday"}:
            name = when.strip().casefold()
            if name == "now":
                return self.now
            midnight = self.now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
            return midnight - timedelta(days=1 if name == "yesterday" else 0)
        if not (ago := re.fullmatch(_AGO, when, re.IGNORECASE)):
            return parse_moment(when)
        return self.now - timedelta(**{_UNITS[ago[2].lower()]: int(ago[1])})


def _texts(names: Names) -> tuple[str, ...]:
    if isinstance(names, str):
        return (names,)
    if not isinstance(cast("object", names), Iterable):
        raise UsageError(f"Expected a text or several, not {type(names).__name__}.")
    several = tuple(names)
    for one in several:
        require_text(one, what="Each of several texts")
    return several


def _stale(args: FilterArgs) -> bool | None:
    if args.get("only_stale", False):
        return True
    return None if args.get("include_stale", True) else False


def _bands(bands: Iterable[int]) -> tuple[int, ...]:
    chosen = tuple(bands)
    if any(not 1 <= band <= CONFIDENCE_BANDS for band in chosen):
        raise UsageError(f"Bands of confidence are 1 to {CONFIDENCE_BANDS}, not {chosen}.")
    return chosen


def _choices(kind: type[_Choice], names: Names, *, what: str) -> tuple[_Choice, ...]:
    return tuple(parse_choice(kind, name, what=what) for name in _texts(names))


def _payload(type: MemoryType, given: Payload | Mapping[str, Json] | None) -> Payload | None:
    if given is None or isinstance(given, Payload):
        return given
    kind = TYPE_RULES[type].payload
    if kind is None:
        raise UsageError(f"A memory of type {type.value} takes no payload.")
    return record_from_json(kind, given)
