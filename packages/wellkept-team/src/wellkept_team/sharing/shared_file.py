"""One shared memory as one small Markdown file, the same bytes for everybody.

The front matter holds what a reviewer should see; `mark` is the fingerprint of the statement and
its labels, without importance and confidence, which drift with use. What a file claims about itself
is not trusted: a taken-in memory is `imported`, never verified or pinned.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast
from uuid import NAMESPACE_URL, uuid5

from wellkept.core.clock import format_moment, parse_moment
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.ids import is_full_id, short_id
from wellkept.core.memory import Memory, Relation
from wellkept.core.records import record
from wellkept.core.text import comparison_key, first_line
from wellkept.core.types import TYPE_RULES, MemoryType, RelationType, Scope, parse_type
from wellkept.memory.exchange.markdown_document import (
    read_front_matter,
    slugify,
    write_front_matter,
)
from wellkept.memory.exchange.passages import fingerprint
from wellkept.text.instructions import reads_as_instruction
from wellkept.text.secrets.redaction import redact

MAX_CHARS = 4_000
MAX_LABELS = 50
MAX_LABEL_CHARS = 300
_RAW = (
    MemoryType.PROMPT,
    MemoryType.OBSERVATION,
    MemoryType.TIMELINE,
    MemoryType.EPISODE,
    MemoryType.WORK_STATE,
)
SHARED_TYPES = tuple(
    one for one in MemoryType if one not in _RAW and not TYPE_RULES[one].payload_required
)
_CONFLICT_MARKS = ("<<<<<<< ", ">>>>>>> ")


@record(kw_only=True)
class SharedMemory:
    """What a file says. `replaces` are the ids of memories that it took the place of."""

    id: str
    type: MemoryType
    content: str
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    scope: Scope = Scope.GLOBAL
    importance: float = 0.5
    confidence: float = 0.8
    author: str | None = None
    since: datetime
    replaces: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """Equal for files that say the same."""
        labels = ("\n".join(sorted(one)) for one in (self.tags, self.files, self.modules))
        return fingerprint("\0".join((self.type.value, self.content, *labels)))

    @property
    def statement(self) -> str:
        """Equal for two people who say the same in the same words."""
        return _statement(self.type, self.content)

    @property
    def path(self) -> str:
        """Where a new file is put. It stays there when the statement is edited later."""
        slug = slugify(first_line(self.content, limit=60), limit=48) or "memory"
        return f"{self.type.value}/{slug}{path_end(self.id)}"


def shared_statement(memory: Memory) -> str:
    """The fingerprint that the statement of a memory has when it is shared."""
    return _statement(memory.type, memory.content)


def _statement(kind: MemoryType, content: str) -> str:
    return fingerprint(f"{kind.value}\0{comparison_key(content)}")


def path_end(full_id: str) -> str:
    """The end of the path of a memory's file."""
    return f"-{short_id(full_id)}.md"


def shared_form(memory: Memory, *, author: str | None = None) -> SharedMemory:
    """A memory as it would be shared; UsageError says why it cannot be."""
    if memory.scope is Scope.USER:
        raise UsageError(
            f"{memory.short} is about you, not the project.", hint="Personal memories stay here."
        )
    if memory.type not in SHARED_TYPES:
        raise UsageError(f"{memory.short} is a {memory.type.value}, which cannot be shared.")
    if not memory.is_open:
        raise UsageError(f"{memory.short} no longer holds.", hint="Share what replaced it.")
    content = memory.content.strip()
    if len(content) > MAX_CHARS:
        raise UsageError(f"{memory.short} has more than {MAX_CHARS:,} characters.")
    texts = (content, *memory.tags, *memory.files, *memory.modules)
    if any(redact(text, shown=True).changed for text in texts):
        raise UsageError(
            f"{memory.short} holds a secret, so it is not shared.", hint="Correct it first."
        )
    return SharedMemory(
        id=memory.id,
        type=memory.type,
        content=content,
        tags=memory.tags,
        files=memory.files,
        modules=memory.modules,
        scope=memory.scope,
        importance=round(memory.importance, 2),
        confidence=round(memory.confidence, 2),
        author=author or memory.author,
        since=memory.valid_from,
        replaces=tuple(_replaced(memory.relations)),
    )


def write_shared(shared: SharedMemory) -> str:
    """The text of a file."""
    front: dict[str, Json] = {
        "id": shared.id,
        "type": shared.type.value,
        **{
            name: list(values)
            for name, values in (
                ("tags", shared.tags),
                ("files", shared.files),
                ("modules", shared.modules),
                ("replaces", shared.replaces),
            )
            if values
        },
        **({"scope": shared.scope.value} if shared.scope is not Scope.GLOBAL else {}),
        "importance": shared.importance,
        "confidence": shared.confidence,
        **({"author": shared.author} if shared.author else {}),
        "since": format_moment(shared.since),
    }
    return f"{write_front_matter(front)}\n{shared.content}\n"


def read_shared(text: str, *, project: str = "", path: str = "") -> SharedMemory:
    """What a file says; UsageError says why it is refused.

    A file that somebody wrote by hand needs no front matter: its folder names the type, and its
    path in the project is its identity.
    """
    if any(line.startswith(_CONFLICT_MARKS) for line in text.splitlines()):
        raise UsageError("There is a merge conflict in the file.", hint="Resolve it first.")
    front, body = read_front_matter(text)
    if body.lstrip("\ufeff").startswith("---"):
        raise UsageError(
            "The front matter at the head of the file does not end.", hint="Close it with ---."
        )
    full_id = _id(front.get("id"), project=project, path=path)
    kind = parse_type(str(front.get("type") or path.partition("/")[0]))
    if kind not in SHARED_TYPES:
        raise UsageError(f"A {kind.value} cannot be shared.")
    content = body.strip()
    if not content:
        raise UsageError("The file says nothing.")
    if len(content) > MAX_CHARS:
        raise UsageError(f"The statement has more than {MAX_CHARS:,} characters.")
    if reason := reads_as_instruction(content):
        raise UsageError(f"The text reads as an instruction to an agent ({reason}).")
    author = front.get("author")
    return SharedMemory(
        id=full_id,
        type=kind,
        content=redact(content).text,
        tags=_labels(front.get("tags")),
        files=_labels(front.get("files")),
        modules=_labels(front.get("modules")),
        scope=_scope(front.get("scope")),
        importance=_share(front.get("importance"), 0.5),
        confidence=_share(front.get("confidence"), 0.8),
        author=first_line(redact(author).text, limit=80) if isinstance(author, str) else None,
        since=_moment(front.get("since")),
        replaces=tuple(one for one in _labels(front.get("replaces")) if is_full_id(one)),
    )


def stated_id(text: str, *, project: str, path: str) -> str | None:
    """The id of a file, also of one whose text is refused; None where it cannot be told."""
    try:
        return _id(read_front_matter(text)[0].get("id"), project=project, path=path)
    except UsageError:
        return None


def _id(stated: Json, *, project: str, path: str) -> str:
    if stated is None and path:
        return str(uuid5(NAMESPACE_URL, f"wellkept:{project}:{path}"))
    if not isinstance(stated, str) or not is_full_id(stated):
        raise UsageError(
            f"{str(stated)[:60]!r} is not the id of a memory.",
            hint="Put the id back as it was, or remove the line for a new memory.",
        )
    return stated


def _replaced(relations: tuple[Relation, ...]) -> list[str]:
    return sorted(
        one.target_id
        for one in relations
        if one.type is RelationType.SUPERSEDES and one.target_id is not None
    )


def _labels(value: Json) -> tuple[str, ...]:
    given = cast("list[Json]", value) if isinstance(value, list) else []
    lines = (" ".join(one.split())[:MAX_LABEL_CHARS] for one in given if isinstance(one, str))
    return tuple(dict.fromkeys(redact(one, shown=True).text for one in lines if one))[:MAX_LABELS]


def _scope(value: Json) -> Scope:
    """Never `user`: a file of the team says nothing about this person."""
    known = {one.value: one for one in Scope if one is not Scope.USER}
    return known.get(str(value), Scope.GLOBAL)


def _share(value: Json, default: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return min(1.0, max(0.0, float(value)))


def _moment(value: Json) -> datetime:
    try:
        return parse_moment(str(value))
    except UsageError:
        return datetime(2000, 1, 1, tzinfo=UTC)
