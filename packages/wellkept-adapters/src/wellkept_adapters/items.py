"""JSON items with names, kept as memories: what a framework's store is made of.

An item lies at a place (a path of names) under a name. Its text is the memory's content, so people
and recall find it; its value is in the payload (`KeptItem`), which no upkeep touches. Putting an
item again closes the memory and opens its successor; removing it deletes every version for good.
Invariant: an item read back equals the one put, but for secrets, which are redacted on the way in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, cast
from urllib.parse import quote, unquote

from wellkept.api.async_wellkept import AsyncWellkept
from wellkept.api.views.chat import ended
from wellkept.api.wellkept import Wellkept
from wellkept.context.packing import ITEM_CHARS, PREAMBLE
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.memory import Evidence, Memory, MemoryDraft
from wellkept.core.payloads import KeptItem
from wellkept.core.query import Filter
from wellkept.core.records import record
from wellkept.core.session.injected_text import FRAME, quoted, without_injected
from wellkept.core.text import clean, shorten
from wellkept.core.types import EvidenceKind, Scope, Source
from wellkept.memory.recall.requests import RecallHit
from wellkept.text.secrets.redaction import redact_name

Place = tuple[str, ...]
Labels = Mapping[str, str]
_NO_LABELS: Final[Labels] = MappingProxyType({})
_MAX_KEY_CHARS: Final = 400
_MAX_PLACES: Final = 100_000
_MAX_FOUND: Final = 1_000


@record(kw_only=True)
class Item:
    """An item as it stands, and the memory that holds it."""

    place: Place
    name: str
    value: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    memory: Memory
    hit: RecallHit | None = None

    @property
    def score(self) -> float | None:
        """How well it answers the question that found it."""
        return None if self.hit is None else self.hit.score


class Items:
    """The items that one framework keeps in one project.

    With `unique_names` a name is found without its place. `labels` are further names with values
    by which items are selected, such as whose they are.
    """

    def __init__(self, wellkept: Wellkept, framework: str, *, unique_names: bool = False) -> None:
        self.wellkept = wellkept
        self.framework = framework
        self.unique_names = unique_names

    # -- One item ---------------------------------------------------------------------------------

    def get(self, place: Place, name: str) -> Item | None:
        """The item of that name, if there is one."""
        memory = self.wellkept.engine.store.find_key(
            self._key(place, name), project=self.wellkept.project, user_scope=False
        )
        return None if memory is None else self.item(memory)

    def put(
        self,
        place: Place,
        name: str,
        value: Mapping[str, object],
        *,
        text: str,
        labels: Labels = _NO_LABELS,
        author: str | None = None,
    ) -> Item:
        """Keep a value under a name; `text` is what it is found by."""
        old = self.get(place, name)
        draft = self._draft(
            place,
            name,
            value,
            text=text,
            first_kept=old.created_at if old else None,
            keyed=True,
            labels=labels,
            author=author,
        )
        (result,) = self.wellkept.remember_many([draft], merge_similar=False)
        return _must(self.item(result.memory))

    def remove(self, items: Iterable[Item]) -> int:
        """Delete items for good, with their earlier versions; returns how many there were."""
        count = 0
        for item in items:
            self.wellkept.forget([one.id for one in self.versions(item.memory)])
            count += 1
        return count

    def versions(self, memory: Memory) -> list[Memory]:
        """A memory and those that it replaced, newest first."""
        found, waiting = {memory.id: memory}, [memory.id]
        while waiting:
            for one in self.wellkept.engine.store.replaced_by(waiting.pop()):
                if one.id not in found:
                    found[one.id] = one
                    waiting.append(one.id)
        return sorted(found.values(), key=lambda one: one.id, reverse=True)

    # -- Several ----------------------------------------------------------------------------------

    def append(
        self, place: Place, values: Sequence[tuple[Mapping[str, object], str]], *, session: str
    ) -> None:
        """Keep values one after the other, all or none, as records of a session."""
        new_id = self.wellkept.engine.new_id
        self.wellkept.remember_many(
            [
                self._draft(place, new_id(), value, text=text, session=session)
                for value, text in values
            ],
            merge_similar=False,
        )

    def below(self, place: Place = (), *, labels: Labels = _NO_LABELS) -> Iterator[Item]:
        """Every item at a place or below it, oldest first."""
        found = self.wellkept.engine.store.iterate(self.where(place, labels))
        return (item for memory in found if (item := self.item(memory)))

    def latest(self, place: Place, *, limit: int) -> list[Item]:
        """The last items at a place or below it, latest first."""
        items: list[Item] = []
        cursor: str | None = None
        while len(items) < limit:
            page = self.wellkept.engine.store.list(
                self.where(place), limit=min(200, limit - len(items)), cursor=cursor
            )
            items.extend(item for memory in page if (item := self.item(memory)))
            cursor = page.next_cursor
            if cursor is None:
                break
        return items

    def find(
        self, query: str, place: Place = (), *, limit: int, labels: Labels = _NO_LABELS
    ) -> list[Item]:
        """The items at a place or below it that fit a question, best first."""
        found = self.wellkept.recall(
            query,
            tags=self.where(place, labels).tags,
            limit=min(limit, _MAX_FOUND),
            min_score=0.0,
            read_dates=False,
            neighbours=0,
        )
        items = (self.item(hit.memory, hit=hit) for hit in found)
        return [item for item in items if item]

    def places(self) -> list[Place]:
        """Every place that holds an item, sorted."""
        at = f"{self.framework}@"
        found = self.wellkept.engine.store.label_counts(self.where(), "tag", limit=_MAX_PLACES)
        exact = [one.value.removeprefix(at) for one in found if one.value.startswith(at)]
        if any(name.startswith("sha256:") for name in exact):
            return sorted({item.place for item in self.below()})
        return sorted(tuple(unquote(part) for part in name.split("/") if part) for name in exact)

    def where(self, place: Place = (), labels: Labels = _NO_LABELS) -> Filter:
        """The filter for the memories of items at a place or below it."""
        tags = (self._tag(place), *self._label_tags(labels))
        return Filter(project=self.wellkept.project, include_user=False, tags=tags)

    # -- Items as memories ------------------------------------------------------------------------

    def _draft(
        self,
        place: Place,
        name: str,
        value: Mapping[str, object],
        *,
        text: str,
        first_kept: datetime | None = None,
        session: str | None = None,
        keyed: bool = False,
        labels: Labels = _NO_LABELS,
        author: str | None = None,
    ) -> MemoryDraft:
        address = self._key(place, name)
        for part in (*place, name, *labels.values()):
            require_plain_name(part)
        return MemoryDraft(
            content=text if text.strip() else name,
            key=address if keyed else None,
            tags=(*self._tags(place), *self._label_tags(labels)),
            author=author,
            scope=Scope.SESSION if session else Scope.GLOBAL,
            session_id=session,
            source=Source.AGENT_EXPLICIT,
            evidence=(Evidence(EvidenceKind.DOCUMENT, address),),
            payload=KeptItem(
                framework=self.framework,
                name=name,
                place=place,
                value=plain_json(value, of=name),
                first_kept=first_kept,
            ),
        )

    def item(self, memory: Memory, *, hit: RecallHit | None = None) -> Item | None:
        """The item that a memory holds; None when it holds none of this framework."""
        kept = memory.payload
        if not isinstance(kept, KeptItem) or kept.framework != self.framework:
            return None
        return Item(
            place=kept.place,
            name=kept.name,
            value=kept.value,
            created_at=kept.first_kept or memory.created_at,
            updated_at=memory.updated_at,
            memory=memory,
            hit=hit,
        )

    def _key(self, place: Place, name: str) -> str:
        path = "" if self.unique_names else _path(place)
        return self._label(":", f"{path}#{quote(name, safe='')}")

    def _tag(self, place: Place) -> str:
        return self._label(":", _path(place)) if place else self.framework

    def _tags(self, place: Place) -> tuple[str, ...]:
        above = (self._tag(place[:depth]) for depth in range(len(place) + 1))
        return (*above, self._label("@", _path(place)))

    def _label_tags(self, labels: Labels) -> tuple[str, ...]:
        return tuple(
            self._label(":", f"{name}={quote(value, safe='')}") for name, value in labels.items()
        )

    def _label(self, mark: str, text: str) -> str:
        if len(text) > _MAX_KEY_CHARS:
            text = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
        return f"{self.framework}{mark}{text}"


def plain_json(value: Mapping[str, object], *, of: str) -> dict[str, Json]:
    """The value as it is read back: JSON, with lists for tuples."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"The value of {of!r} is not JSON: {error}.",
            hint="Keep text, numbers, lists and objects; turn dates into text.",
        ) from None
    return cast("dict[str, Json]", json.loads(text))


def require_plain_name(name: str) -> None:
    """Refuse a name that would not come back as it is: empty, with control characters, secret."""
    if not name or clean(name) != name:
        raise UsageError(
            f"The name {name[:40]!r} cannot be used.", hint="Use text without control characters."
        )
    if redact_name(name) != name:
        raise UsageError(
            "A name looks like a secret, and names are not redacted.",
            hint="Name what the value is for.",
        )


def texts_in(value: object) -> Iterator[str]:
    """The texts, numbers and words inside a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[str, object]", value).values():
            yield from texts_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in cast("Sequence[object]", value):
            yield from texts_in(inner)
    elif value is not None:
        yield str(value)


def _path(place: Place) -> str:
    return "/".join(quote(part, safe="") for part in place)


def _must(item: Item | None) -> Item:
    if item is None:
        raise UsageError("The memory is no item of this framework.")
    return item


# -- Recall as text for a prompt, and keeping what was said ----------------------------------------


DEFAULT_LIMIT: Final = 5
_MAX_QUESTION_CHARS: Final = 2_000


def as_async(wellkept: Wellkept | AsyncWellkept) -> AsyncWellkept:
    """The memory for an event loop, whichever of the two was given."""
    return wellkept if isinstance(wellkept, AsyncWellkept) else AsyncWellkept(wellkept)


def as_sync(wellkept: Wellkept | AsyncWellkept) -> Wellkept:
    """The memory without an event loop, whichever of the two was given."""
    return wellkept.sync if isinstance(wellkept, AsyncWellkept) else wellkept


def recalled_text(
    wellkept: Wellkept,
    question: str,
    *,
    limit: int = DEFAULT_LIMIT,
    without_session: str | None = None,
) -> str:
    """What is known about a question, for a prompt; empty when nothing is.

    Memories that wait for review are left out, and so are those of the session that asks.
    """
    asked = without_injected(question).strip()[:_MAX_QUESTION_CHARS]
    if not asked:
        return ""
    found = wellkept.recall(asked, limit=limit, needs_review=False)
    lines = [
        f"- {shorten(quoted(hit.memory.content), limit=ITEM_CHARS)}{ended(hit.memory)}"
        f" [m:{hit.memory.short}]"
        for hit in found
        if without_session is None or hit.memory.session_id != without_session
    ]
    return "\n".join([f"<{FRAME}>", PREAMBLE, *lines, f"</{FRAME}>"]) if lines else ""


def keep_said(
    wellkept: Wellkept, text: str, *, framework: str, by_user: bool, session: str | None
) -> None:
    """Keep a turn of a conversation, and the rules that a person gave in it."""
    said = without_injected(text).strip()
    if not said:
        return
    if by_user:
        wellkept.apply(said, session=session)
    wellkept.remember(
        said,
        type="episode",
        tags=[framework, f"{framework}:{'user' if by_user else 'assistant'}"],
        session=session,
        evidence=evidence_of(framework, session),
    )


def evidence_of(framework: str, session: str | None) -> list[Evidence]:
    """The evidence of what came through a framework."""
    return [Evidence(EvidenceKind.SESSION, f"{framework}:{session}" if session else framework)]


# -- Imports a framework, or says how to get it ----------------------------------------------------


@contextmanager
def framework(name: str, *, extra: str) -> Generator[None]:
    """Around the imports of an adapter: a missing framework is named with the way to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("wellkept"):
            raise
        raise ImportError(
            f"This adapter needs {name}, and {error.name} is not installed."
            f" Run: pip install 'wellkept[{extra}]'",
            name=error.name,
        ) from error
