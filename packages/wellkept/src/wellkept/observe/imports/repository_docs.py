"""Lists a project's files, and reads Markdown documents as passages, one per section.

Passages are for instruction files and other tools' notes, which are imported on request. Huge,
binary, non-UTF-8 files and links out of the project are skipped and reported. A cautious rule picks
the type of a passage.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from wellkept.core.git.run import ask_git
from wellkept.core.memory import MemoryDraft
from wellkept.core.records import record
from wellkept.core.text import clean
from wellkept.core.types import MemoryType, Scope, Source
from wellkept.memory.exchange.markdown_document import Section, read_front_matter, split_sections
from wellkept.memory.exchange.passages import Passage
from wellkept.text.secrets.redaction import redact

_KEY_HINT = "PRIVATE KEY"
MAX_DOCUMENT_BYTES = 524_288
MAX_PASSAGE_CHARS = 2_000
MAX_DECISION_CHARS = 6_000

_FOLDERS = frozenset("docs doc documentation adr adrs decisions rfcs design".split())
_DECISION_FOLDERS = frozenset("adr adrs decisions decision".split())
_INSTRUCTIONS = frozenset(
    "claude agents gemini contributing style styleguide conventions copilot-instructions".split()
)
_LOGS = frozenset("changelog changes history news releases".split())
_NOT_DECISIONS = frozenset("readme index template".split())
VENDORED = frozenset(
    """node_modules vendor vendored third_party third-party bower_components pods site-packages
    venv env dist build target out __pycache__ testdata fixtures""".split()
)

_RULE = re.compile(r"\b(must|never|always|do not|don't|avoid|prefer|only use|required)\b", re.I)
_RULE_TITLE = re.compile(r"\b(rules?|conventions?|guidelines?|coding style|standards?)\b", re.I)
_GOTCHA_TITLE = re.compile(
    r"\b(gotchas?|pitfalls?|caveats?|troubleshooting|known (issues|problems|limitations))\b", re.I
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BADGES = re.compile(r"^[ \t]*(?:\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?[ \t]*)+$", re.MULTILINE)
_CONTENTS_LINE = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+\[[^\]]*\]\(#[^)]*\)\s*$")


@record
class Skipped:
    """A file that was skipped, and why."""

    path: str
    reason: str


def list_files(root: Path) -> frozenset[str] | None:
    """What git knows and does not ignore, as posix paths; None without git."""
    answer = ask_git(root, ["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    if answer is None:
        return None
    names = answer.decode("utf-8", errors="surrogateescape").split("\0")
    return frozenset(name for name in names if name)


def read_document(root: Path, path: str) -> str | Skipped:
    """The text of a document, or why it is skipped."""
    file = root / path
    try:
        if not file.resolve().is_relative_to(root.resolve()):
            return Skipped(path, "leads out of the project")
        if file.is_symlink() or not file.is_file():
            return Skipped(path, "is a link" if file.is_symlink() else "is not a file")
        with file.open("rb") as opened:
            raw = opened.read(MAX_DOCUMENT_BYTES + 1)
    except (OSError, RuntimeError) as error:
        return Skipped(path, f"cannot be read ({error})")
    if len(raw) > MAX_DOCUMENT_BYTES:
        return Skipped(path, f"is larger than {MAX_DOCUMENT_BYTES:,} bytes")
    if b"\0" in raw:
        return Skipped(path, "is binary or UTF-16")
    try:
        return clean(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Skipped(path, "is not UTF-8 text")


def passages(path: str, text: str) -> list[Passage]:
    """A document as statements, each under a key that its heading gives."""
    _, body = read_front_matter(text)
    body = _BADGES.sub("", _COMMENT.sub("", body)).strip()
    if _KEY_HINT in body:
        # A key whose lines begin with "#" would be cut at its "headings", and its parts look
        # like nothing.
        body = redact(body).text
    if not body:
        return []
    if _is_decision(path) and len(body) <= MAX_DECISION_CHARS:
        return [_passage(path, "", _undecorated(body), MemoryType.DECISION)]
    found: list[Passage] = []
    for section in split_sections(body):
        if section.body.strip() and not _is_contents(section.body):
            found.extend(_section_passages(path, section))
    return found


# -- Which files ----------------------------------------------------------------------------------


def generated_files(root: Path, names: Iterable[str]) -> frozenset[str]:
    """Files that `.gitattributes` marks as generated."""
    stdin = "\0".join(names).encode("utf-8", errors="surrogateescape")
    answer = ask_git(root, ["check-attr", "-z", "--stdin", "linguist-generated"], stdin=stdin)
    fields = (answer or b"").decode("utf-8", errors="surrogateescape").split("\0")
    pairs = zip(fields[::3], fields[2::3], strict=False)
    return frozenset(name for name, value in pairs if value in ("set", "true"))


def walk_files(root: Path) -> Iterator[str]:
    """Files below a folder that git does not know, hidden and foreign folders left out."""
    for parent, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f == ".github" or not _is_foreign(f)]
        for name in names:
            yield Path(parent, name).relative_to(root).as_posix()


def _is_foreign(folder: str) -> bool:
    return folder.startswith(".") or folder.lower() in VENDORED


def _is_decision(name: str) -> bool:
    path = PurePosixPath(name)
    inside = any(folder.lower() in _DECISION_FOLDERS for folder in path.parts[:-1])
    return inside and path.stem.lower() not in _NOT_DECISIONS


# -- What they say --------------------------------------------------------------------------------


def _section_passages(path: str, section: Section) -> Iterator[Passage]:
    titles = section.titles or (_document_title(path),)
    title = " › ".join(title for title in titles if title)
    kind = _type(path, titles, section.body)
    for number, part in enumerate(_parts(section.body), 1):
        slug = section.slug if number == 1 else f"{section.slug}~{number}"
        yield _passage(path, slug, f"{title}\n\n{part}", kind)


def _passage(path: str, slug: str, content: str, kind: MemoryType) -> Passage:
    ref = f"{path}#{slug}" if slug else path
    stem = PurePosixPath(path).stem.lower()
    folder = PurePosixPath(path).parent.as_posix()
    module = folder if _is_module_document(path) else None
    return Passage(
        ref,
        MemoryDraft(
            content=content,
            type=kind,
            key=f"doc:{ref}",
            tags=("document", "changelog") if stem in _LOGS else ("document",),
            files=(path,),
            modules=(module,) if module else (),
            importance=_importance(stem),
            scope=Scope.MODULE if module else Scope.GLOBAL,
            source=Source.IMPORTED,
        ),
    )


def _type(path: str, titles: tuple[str, ...], body: str) -> MemoryType:
    """Decisions by folder, conventions and gotchas by file or heading, else facts."""
    stem = PurePosixPath(path).stem.lower()
    if _is_decision(path):
        return MemoryType.DECISION
    if stem in _LOGS:
        return MemoryType.FACT
    if _GOTCHA_TITLE.search(titles[-1]):
        return MemoryType.GOTCHA
    is_rulebook = stem in _INSTRUCTIONS or _RULE_TITLE.search(titles[-1])
    if is_rulebook and _RULE.search(body):
        return MemoryType.CONVENTION
    return MemoryType.MODULE_INSIGHT if _is_module_document(path) else MemoryType.FACT


def _is_module_document(path: str) -> bool:
    """Whether a document describes the source folder it is in."""
    folders = PurePosixPath(path).parts[:-1]
    return bool(folders) and folders[0].lower() not in _FOLDERS and folders[0] != ".github"


def _importance(stem: str) -> float:
    if stem in _LOGS:
        return 0.3
    return 0.7 if stem in _INSTRUCTIONS else 0.6 if stem == "readme" else 0.5


def _document_title(path: str) -> str:
    name = PurePosixPath(path)
    return name.stem if len(name.parts) == 1 else f"{name.parent.name}/{name.stem}"


def _undecorated(body: str) -> str:
    """A document with its title as the first line."""
    head, _, rest = body.partition("\n")
    return f"{head.lstrip('# ').strip()}\n{rest}".strip()


def _is_contents(body: str) -> bool:
    lines = [line for line in body.split("\n") if line.strip()]
    return all(_CONTENTS_LINE.match(line) for line in lines)


def _parts(body: str) -> Iterator[str]:
    """Split a long section between paragraphs, else between lines."""
    for blocks in _grouped(body.split("\n\n"), joint="\n\n"):
        if len(blocks) <= 2 * MAX_PASSAGE_CHARS:
            yield blocks
        else:
            for lines in _grouped(blocks.split("\n"), joint="\n"):
                yield from _cut(lines)


def _grouped(pieces: Iterable[str], *, joint: str) -> Iterator[str]:
    kept: list[str] = []
    size = 0
    for piece in pieces:
        if kept and size + len(piece) > MAX_PASSAGE_CHARS:
            yield joint.join(kept)
            kept, size = [], 0
        kept.append(piece)
        size += len(piece) + len(joint)
    if joined := joint.join(kept).strip("\n"):
        yield joined


def _cut(text: str) -> Iterator[str]:
    """Split an overlong line (data, minified text) at fixed length."""
    step = 2 * MAX_PASSAGE_CHARS
    return (text[start : start + step] for start in range(0, len(text), step))
