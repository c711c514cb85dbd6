"""Hand-over of a branch: what the next person's agent needs to go on with this work.

Made from the same parts as a session start, written into the team's shared folder as a file or sent
to the team's server, and told at session starts on that branch until somebody there went on. A file
is read only from the branch of the team's own remote, never from the work tree, and only where
sharing is on.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.context.sections import Section, SectionLine, SectionLines
from wellkept.core.clock import format_moment, parse_moment
from wellkept.core.errors import UsageError
from wellkept.core.git.run import ask_git
from wellkept.core.records import record
from wellkept.core.text import shorten
from wellkept.memory.exchange.markdown_document import (
    read_front_matter,
    slugify,
    write_front_matter,
)
from wellkept.text.instructions import fact_of
from wellkept.text.secrets.redaction import redact

if TYPE_CHECKING:
    from wellkept.context.packing import ContextPack
    from wellkept.observe.session.digest import SessionDigest

FOLDER = "handoff"
MAX_LINES = 12
_MAX_ASKED, _MAX_CHECKS = 3, 4
MAX_LINE_CHARS = 320
_TOLD = (Section.LEFT_OFF, Section.EARLIER, Section.GIT)
_MAX_FILE_CHARS = 16_000


@record(kw_only=True)
class Handoff:
    """What is handed over: titled sections with their lines."""

    branch: str
    author: str | None
    at: datetime
    sections: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def text(self) -> str:
        """The hand-over as people read it."""
        parts = [f"# Hand-over of {self.branch}"]
        for title, lines in self.sections:
            parts.append(f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines))
        return "\n\n".join(parts) + "\n"


def handoff_of(
    pack: ContextPack,
    digest: SessionDigest | None,
    *,
    decided: Sequence[str] = (),
    branch: str,
    author: str | None,
    at: datetime,
) -> Handoff:
    """The parts of a session start that say where work stands, what was decided lately, and what
    the digest has besides: what was asked, and how each check ended."""
    found = [
        (section.title, tuple(line.removeprefix("- ") for line in section.lines))
        for section in pack.sections
        if section.name in _TOLD and section.lines
    ]
    found.append(("Decisions", tuple(shorten(one, limit=MAX_LINE_CHARS) for one in decided)))
    if digest is not None:
        checks = [
            f"`{one.typed}` {'passed' if one.ok else f'failed: {one.error}'}"
            for one in digest.checks[-_MAX_CHECKS:]
        ]
        found += [("Asked", digest.asked[-_MAX_ASKED:]), ("Checks as they ended", tuple(checks))]
    kept = tuple((title, lines) for title, lines in found if lines)
    return Handoff(branch=branch, author=author, at=at, sections=kept)


def handoff_path(branch: str) -> str:
    """Where the file of a branch lies in the shared folder."""
    return f"{FOLDER}/{slugify(branch, limit=80) or 'branch'}.md"


def write_handoff(handoff: Handoff) -> str:
    """The text of the file, without anything that looks like a secret."""
    front = write_front_matter(
        {
            "branch": handoff.branch,
            **({"author": handoff.author} if handoff.author else {}),
            "at": format_moment(handoff.at),
        }
    )
    return f"{front}\n{redact(handoff.text, shown=True).text}"


def read_handoff(text: str) -> Handoff:
    """What a file says; UsageError when it is none."""
    front, body = read_front_matter(text[:_MAX_FILE_CHARS])
    branch, author = front.get("branch"), front.get("author")
    if not isinstance(branch, str):
        raise UsageError("The file names no branch.")
    sections: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line.startswith("## "):
            sections.append((shorten(line[3:].strip(), limit=80), []))
        elif line.startswith("- ") and sections:
            sections[-1][1].append(line[2:].strip())
    return Handoff(
        branch=branch,
        author=shorten(author, limit=80) if isinstance(author, str) else None,
        at=parse_moment(str(front.get("at"))),
        sections=tuple((title, tuple(lines)) for title, lines in sections if lines),
    )


def handed_over(
    root: Path, folder: str, branch: str, *, me: Collection[str], seen_until: datetime | None
) -> SectionLines | None:
    """The lines for a session start on a branch, from the file that its remote has."""
    place = f"refs/remotes/origin/{branch}:{folder}/{handoff_path(branch)}"
    raw = ask_git(root, ["cat-file", "blob", place])
    text = "" if raw is None else raw.decode("utf-8", "replace")
    return told_of(text, branch, me=me, seen_until=seen_until)


def told_of(
    text: str, branch: str, *, me: Collection[str], seen_until: datetime | None
) -> SectionLines | None:
    """The lines of a hand-over; None when it is none, is by this person, or somebody here went on
    since."""
    try:
        handoff = read_handoff(text) if text else None
    except UsageError:
        return None
    if handoff is None:
        return None
    is_old = seen_until is not None and seen_until > handoff.at
    if handoff.branch != branch or is_old or handoff.author in me:
        return None
    lines = _facts(handoff.sections)
    if not lines:
        return None
    by = f" by {handoff.author}" if handoff.author else ""
    title = f"Handed over{by} ({handoff.at:%Y-%m-%d %H:%M} UTC, this branch)"
    told = (SectionLine.of(Section.HANDED_OVER, one, reason="handed over") for one in lines)
    return SectionLines(Section.HANDED_OVER, tuple(told), title=title)


def _facts(sections: Sequence[tuple[str, tuple[str, ...]]]) -> list[str]:
    """The lines as facts: a file from outside may hold text written for the agent."""
    facts = (fact_of(" ".join(line.split())) for _, lines in sections for line in lines)
    told = [shorten(redact(one, shown=True).text, limit=MAX_LINE_CHARS) for one in facts if one]
    return told[:MAX_LINES]
