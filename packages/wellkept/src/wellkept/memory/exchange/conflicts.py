"""Merge rules for imported memories. History is never overwritten.

- Unknown id: inserted with all its fields.
- Known id: the later `updated_at` wins; the store wins a tie. Content that loses stays with the
  winner as `merged` evidence. Evidence and sessions of both sides are united. Counters alone never
  cause a write.
- Known id with the same time and content but another type or payload: refused, because neither
  side is later.
- Open key held by another open memory: the later one stays open, the other is closed and points
  to it.
- Known id in another project: refused; a file never moves a memory between projects.

Invariant: importing the same records a second time changes nothing.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, TextIO, TypeVar, cast

from wellkept.core.changes import Change, Insert, Replace
from wellkept.core.clock import parse_moment
from wellkept.core.codec import Json, Payload, finite, record_from_json
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.ids import is_full_id
from wellkept.core.memory import MAX_CONTENT_CHARS, Evidence, Memory
from wellkept.core.ports.store import Store
from wellkept.core.records import record, replace
from wellkept.core.skills import GeneratedSkill, SkillOrigin, SkillReview
from wellkept.core.text import clean
from wellkept.core.types import TYPE_RULES, EvidenceKind, MemoryType, Scope
from wellkept.memory.engine import Engine
from wellkept.memory.fields import MEMORY_FIELDS
from wellkept.text.secrets.redaction import redact

# Times that default to the creation when a record made elsewhere leaves them out.
_CREATION_TIMES = ("updated_at", "valid_from", "accessed_at")
# Ids must arrive unchanged, or links would break.
_EXACT = frozenset({"target_id", *(row.name for row in MEMORY_FIELDS.values() if row.exact)})


def memory_from_json(data: Mapping[str, Json], *, redact: Callable[[str], str] = str) -> Memory:
    """The memory that a JSON object describes; UsageError says what does not fit.

    `redact` is applied to every text except ids, after cleaning.
    """

    def text(name: str, value: str) -> str:
        return value if name in _EXACT else redact(clean(value))

    given = dict(data)
    for name in _CREATION_TIMES:
        given.setdefault(name, given.get("created_at"))
    payload = given.pop("payload", None)
    memory = record_from_json(Memory, given, where="", text=text)
    memory = replace(memory, payload=_payload(memory.type, payload, redact=redact))
    _require_valid(memory)
    return memory


def parse_json(text: str) -> Json:
    """Read standard JSON: no NaN, no deep nesting. UsageError says what is wrong."""
    try:
        return cast("Json", json.loads(text, parse_constant=_no_constant))
    except RecursionError:
        raise UsageError("The JSON is nested too deeply.") from None
    except ValueError as error:
        raise UsageError(f"This is not JSON: {error}.") from None


def _no_constant(name: str) -> object:
    raise UsageError(f"{name} is not a number that can be kept.")


def _payload(type: MemoryType, data: Json, *, redact: Callable[[str], str]) -> Payload | None:
    rule = TYPE_RULES[type]
    if data is None:
        if rule.payload_required:
            raise UsageError(f"A memory of type {type.value} needs a payload.")
        return None
    if rule.payload is None:
        raise UsageError(f"A memory of type {type.value} takes no payload.")
    if not isinstance(data, dict):
        raise UsageError("payload must be an object.")
    try:
        cleaned = {name: _cleaned(value, redact=redact) for name, value in data.items()}
    except RecursionError:
        raise UsageError("The payload is nested too deeply.") from None
    return record_from_json(rule.payload, cleaned)


def _cleaned(value: Json, *, redact: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return redact(clean(value))
    if isinstance(value, list):
        return [_cleaned(item, redact=redact) for item in value]
    if isinstance(value, dict):
        return {clean(key): _cleaned(item, redact=redact) for key, item in value.items()}
    return finite(value, where="payload") if isinstance(value, float) else value


def _require_valid(memory: Memory) -> None:
    """Refuse what no memory can be, whatever file it came from."""
    for name, row in MEMORY_FIELDS.items():
        if row.limit and (value := getattr(memory, name)) is not None:
            row.check(value)
    if memory.valid_to is not None and memory.valid_to < memory.valid_from:
        raise UsageError("valid_to lies before valid_from.")
    if memory.key == "" or not memory.project.strip():
        raise UsageError("key and project may not be empty text.")
    if not memory.content.strip():
        raise UsageError("The content is empty.")
    if len(memory.content) > MAX_CONTENT_CHARS:
        raise UsageError(
            f"The content has {len(memory.content):,} characters; at most"
            f" {MAX_CONTENT_CHARS:,} fit."
        )
    for name in (memory.id, memory.superseded_by):
        if name is not None and not is_full_id(name):
            raise UsageError(f"{name!r} is not a memory id.")
    for relation in memory.relations:
        if (relation.target_id is None) == (relation.target_file is None):
            raise UsageError("A relation points either to a memory or to a file.")
        if relation.target_id is not None and not is_full_id(relation.target_id):
            raise UsageError(f"{relation.target_id!r} is not a memory id.")
        MEMORY_FIELDS["confidence"].check(relation.confidence)


MAX_LINE_BYTES = 64 * 1_048_576
_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")
_SPOOLED_BYTES = 8 * 1_048_576


@record
class Line:
    """One line with its number and the bytes read so far; `problem` is set when it is unreadable.

    `is_torn` means that the file ends without ending the line.
    """

    number: int
    end_bytes: int
    text: str = ""
    problem: str | None = None
    is_torn: bool = False


@contextmanager
def opened(source: TextIO | Path) -> Generator[tuple[BinaryIO, int]]:
    """The source as bytes that can be read twice, with its size."""
    if not isinstance(source, Path):
        chunks = iter(lambda: source.read(65_536), "")
        with _spooled(chunk.encode("utf-8", errors="surrogatepass") for chunk in chunks) as spooled:
            yield spooled
        return
    with _open(source) as file:
        if file.seekable():
            yield file, source.stat().st_size
            return
        with _spooled(iter(lambda: file.read(65_536), b"")) as spooled:
            yield spooled


@contextmanager
def _spooled(chunks: Iterable[bytes]) -> Generator[tuple[BinaryIO, int]]:
    """Copy a source that can be read only once, such as a pipe, to a temporary file."""
    with tempfile.SpooledTemporaryFile(max_size=_SPOOLED_BYTES) as spool:
        for chunk in chunks:
            spool.write(chunk)
        size = spool.tell()
        spool.seek(0)
        yield cast("BinaryIO", spool), size


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except (FileNotFoundError, IsADirectoryError) as error:
        raise NotFoundError(f"There is no file {path}.") from error
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from error


def read_lines(file: BinaryIO) -> Iterator[Line]:
    """The non-empty lines of a file, from its start."""
    file.seek(0)
    done = 0
    number = 0
    while raw := file.readline(MAX_LINE_BYTES):
        number += 1
        done += len(raw)
        if not raw.endswith(b"\n") and len(raw) == MAX_LINE_BYTES:
            done += _skip_rest(file)
            yield Line(number, done, problem=f"the line is longer than {MAX_LINE_BYTES:,} bytes")
            continue
        line = _decoded(raw.removeprefix(_BOM) if number == 1 else raw, number, done)
        if line.text or line.problem:
            yield line


def require_text(file: BinaryIO, *, name: str) -> None:
    """Refuse a file that is empty or not UTF-8 text."""
    file.seek(0)
    start = file.read(4_096)
    if not start.strip():
        raise UsageError(f"{name} is empty.", hint="An export has at least its first line.")
    if start.startswith(_WIDE_BOMS):
        raise UsageError(f"{name} is UTF-16 text.", hint="Save it as UTF-8.")
    if b"\0" in start:
        raise UsageError(f"{name} is a binary file, not an export.")


def _decoded(raw: bytes, number: int, done: int) -> Line:
    torn = not raw.endswith(b"\n")
    try:
        text = raw.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        return Line(number, done, problem=f"byte {error.start + 1} is not UTF-8", is_torn=torn)
    return Line(number, done, text, is_torn=torn)


def _skip_rest(file: BinaryIO) -> int:
    skipped = 0
    while part := file.readline(1_048_576):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


MARK = "skill"
MAX_TEXT_CHARS = 1 << 20
IMPORTED_NOTE = "Came with an import; look at it with `wellkept skill review`."


def skill_to_json(skill: GeneratedSkill) -> dict[str, Json]:
    """A skill as the line of an export."""
    return {
        MARK: {
            "id": skill.id,
            "project": skill.project,
            "name": skill.name,
            "text": skill.text,
            "origin": skill.origin.value,
            "made_by": skill.made_by,
            "created_at": skill.created_at.isoformat(),
            "updated_at": skill.updated_at.isoformat(),
            "session_ids": list(skill.session_ids),
            "observation_ids": list(skill.observation_ids),
            "commit_sha": skill.commit_sha,
        }
    }


def skill_from_json(line: dict[str, Json]) -> GeneratedSkill:
    """The skill on a line, disabled and pending review; UsageError names what does not fit."""
    given = line[MARK]
    if not isinstance(given, dict):
        raise UsageError("a skill must be an object.")
    text, name = _text(given, "text"), _text(given, "name")
    if len(text) > MAX_TEXT_CHARS or redact(text).changed or redact(name).changed:
        raise UsageError(f"the skill {name[:64]!r} is too large or holds a secret.")
    made_by = given.get("made_by")
    return GeneratedSkill(
        id=_id(given),
        project=_text(given, "project"),
        name=name,
        text=text,
        created_at=_moment(given, "created_at"),
        updated_at=_moment(given, "updated_at"),
        origin=SkillOrigin.REFINED if given.get("origin") == "refined" else SkillOrigin.GENERATED,
        made_by=made_by if made_by in ("model", "person") else "rules",
        review=SkillReview.PENDING,
        note=IMPORTED_NOTE,
        session_ids=_texts(given, "session_ids"),
        observation_ids=_texts(given, "observation_ids"),
        commit_sha=_text(given, "commit_sha") if given.get("commit_sha") else None,
    )


def _text(given: dict[str, Json], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise UsageError(f"the skill's {name} must be a text.")
    return value


def _texts(given: dict[str, Json], name: str) -> tuple[str, ...]:
    value = given.get(name)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(redact(item).text for item in items if isinstance(item, str))


def _id(given: dict[str, Json]) -> str:
    value = _text(given, "id")
    if not is_full_id(value):
        raise UsageError("the skill's id is not one.")
    return value


def _moment(given: dict[str, Json], name: str) -> datetime:
    return parse_moment(_text(given, name))


_Slot = tuple[str, str]
_Item = TypeVar("_Item")


class ImportOutcome(StrEnum):
    """What happened to an imported record."""

    NEW = "new"
    MERGED = "merged"
    SKIPPED = "skipped"


@record
class ConflictResult:
    """What happened to one record, and why when a report should say so."""

    outcome: ImportOutcome
    reason: str | None = None


class PendingImport:
    """The store as it will be once the records handled so far are written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stored: dict[str, Memory] = {}
        self._pending: dict[str, Memory] = {}
        self._keys: dict[_Slot, str | None] = {}

    def preload(self, ids: Iterable[str]) -> None:
        """Fetch with one query the memories that will be needed."""
        missing = [name for name in ids if name not in self._stored]
        self._stored.update((memory.id, memory) for memory in self._store.get(missing))

    def get(self, id: str) -> Memory | None:
        """The memory as it will be; only preloaded ids and key holders are known."""
        return self._pending.get(id) or self._stored.get(id)

    def holder(self, memory: Memory) -> Memory | None:
        """The other open memory that holds this memory's key."""
        slot = _slot(memory)
        if slot is None:
            return None
        if slot in self._keys:
            held = self._keys[slot]
            found = self.get(held) if held else None
        else:
            found = self._store.find_key(
                slot[1], project=memory.project, user_scope=memory.scope is Scope.USER
            )
            if found is not None:
                self._stored.setdefault(found.id, found)
        return found if found is not None and found.id != memory.id else None

    def put(self, memory: Memory) -> None:
        """Set how a memory will be."""
        before = self.get(memory.id)
        if before is not None and (slot := _slot(before)) is not None:
            self._keys[slot] = None
        self._pending[memory.id] = memory
        if (slot := _slot(memory)) is not None:
            self._keys[slot] = memory.id

    def changes(self, engine: Engine) -> list[Change]:
        """The changes to write. Closing comes first: it frees keys that others take."""
        closed_first = sorted(self._pending.values(), key=lambda memory: memory.is_open)
        entries = dict(
            zip(self._pending, engine.index_entries(list(self._pending.values())), strict=True)
        )
        return [
            Replace(memory, entries[memory.id], self._stored[memory.id].updated_at)
            if memory.id in self._stored
            else Insert(memory, entries[memory.id])
            for memory in closed_first
        ]


def resolve(pending: PendingImport, incoming: Memory) -> ConflictResult:
    """Decide about one record and note the outcome; UsageError when it is refused."""
    known = pending.get(incoming.id)
    if known is None:
        return _add(pending, incoming, ConflictResult(ImportOutcome.NEW))
    if known.project != incoming.project:
        raise UsageError(f"The memory {incoming.id} already belongs to {known.project!r}.")
    if incoming.updated_at > known.updated_at:
        merged = _merged(incoming, known)
        result = ConflictResult(
            ImportOutcome.MERGED, f"{incoming.short}: the file has the later version"
        )
        return _add(pending, _with_counters(merged, known), result)
    if _differs_in_kind_only(incoming, known):
        raise UsageError(
            f"The memory {incoming.id} has another type or payload but the same updated_at.",
            hint="Give the later one a later updated_at, or edit the Markdown export.",
        )
    merged = _merged(known, incoming)
    if merged == known:
        return ConflictResult(ImportOutcome.SKIPPED)
    pending.put(merged)
    age = "another" if incoming.updated_at == known.updated_at else "an earlier"
    return ConflictResult(
        ImportOutcome.MERGED, f"{incoming.short}: {age} version, kept as evidence"
    )


def _add(pending: PendingImport, memory: Memory, result: ConflictResult) -> ConflictResult:
    """Add a memory. Of two that claim a key, the later one stays open."""
    other = pending.holder(memory)
    if other is None:
        pending.put(memory)
        return result
    if memory.updated_at > other.updated_at:
        pending.put(_closed(other, memory, at=max(other.updated_at, memory.updated_at)))
        pending.put(memory)
        reason = f"key {memory.key!r}: {memory.short} is later and supersedes {other.short}"
    else:
        pending.put(_closed(memory, other, at=memory.updated_at))
        reason = f"key {memory.key!r}: {other.short} is later; {memory.short} is kept as closed"
    return ConflictResult(ImportOutcome.MERGED, reason)


def _closed(memory: Memory, by: Memory, *, at: datetime) -> Memory:
    return replace(
        memory,
        valid_to=max(memory.valid_from, by.valid_from),
        superseded_by=by.id,
        updated_at=at,
    )


def _merged(winner: Memory, loser: Memory) -> Memory:
    """The winner with the content, evidence and sessions of the loser."""
    evidence = _united(winner.evidence, loser.evidence)
    known = {item.note for item in evidence} | {winner.content}
    if loser.content not in known:
        lost = Evidence(EvidenceKind.MERGED, loser.id, loser.content, loser.updated_at)
        evidence = (*evidence, lost)
    return replace(
        winner,
        evidence=evidence,
        provenance_sessions=_united(winner.provenance_sessions, loser.provenance_sessions),
    )


def _with_counters(memory: Memory, known: Memory) -> Memory:
    return replace(
        memory,
        access_count=max(memory.access_count, known.access_count),
        accessed_at=max(memory.accessed_at, known.accessed_at),
    )


def _differs_in_kind_only(left: Memory, right: Memory) -> bool:
    if (left.updated_at, left.content) != (right.updated_at, right.content):
        return False
    return (left.type, left.payload) != (right.type, right.payload)


def _slot(memory: Memory) -> _Slot | None:
    """What makes an open key unique: the project, or the person for `user` memories."""
    if memory.key is None or not memory.is_open:
        return None
    return ("" if memory.scope is Scope.USER else memory.project, memory.key)


def _united(left: tuple[_Item, ...], right: tuple[_Item, ...]) -> tuple[_Item, ...]:
    return tuple(dict.fromkeys((*left, *right)))
