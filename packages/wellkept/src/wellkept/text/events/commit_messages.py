"""Read commit messages: what they say, and whether they say anything.

Version bumps, merges, dependency bumps and release notes of a bot tell nothing that the history
does not. A body says more than its subject.
"""

from __future__ import annotations

import re

_TRAILER = re.compile(
    r"[A-Za-z][A-Za-z-]*-(?:by|to|id|for|with): \S.*|🤖.*|\(cherry picked from .*"
    r"|(?:Fixes|Closes|Refs?):? #\d+|Generated with .*|Change-Id: .*|Signed-off-by.*",
    re.I,
)
_BULLET = re.compile(r"\s*(?:[-*•+]|\d{1,2}[.)])\s+")
_MIN_BODY_CHARS = 40
_BY_A_TOOL = re.compile(r"\b(?:deps|dependabot|renovate|bump|release|merge|version)\b", re.I)
_EMPTY_SUBJECTS = (
    r"merged? (?:branch|pull request|tag|commit|remote|main|master|develop|upstream|into|from|pr)\b"
    r".*",
    r"v?\d+(?:\.\d+)+(?:[-.+]?[\w.]+)?(?: \(#\d+\))?",
    r"(?:bump|release|prepare(?: for)?|cut|tag|publish|set)(?:ing|d)?(?: (?:the|new|next|a|for))*"
    r"(?: version| release)?(?: to| of|:)?[ /]*v?\d[\w.+-]*.*",
    r"(?:version )?(?:bump|release)s?(?: version)?",
    r"(?:bump|update|upgrade)s? (?:version|changelog|lock ?file|(?:the )?dependenc\w+|deps?"
    r"|submodules?|packages?)\b.*",
    r"(?:bump|update|upgrade)s? \S+ (?:requirement )?from \S+ to \S+.*",
    r"(?:initial|first) commit|init|wip\b.*|te?mp|tests?|fix(?:es|ed)?|fixup!?.*|squash!?.*",
    r"updates?|updated|changes|minor|misc|clean ?up|typos?|fix typos?|formatting|format|oops",
    r"lint|fix lint\w*|run (?:prettier|black|ruff|lint\w*)|style|stuff|\.+|save|checkpoint|sync",
    r"update (?:readme|changelog|docs?|documentation)(?:\.md)?",
    r"apply suggestions? from code review|address (?:review )?(?:comments|feedback)",
    r"review comments?|pr feedback|revert \"?revert.*|\[skip ci\].*",
    r"automatic\w*.*|auto-?(?:commit|merge|update).*|\[?release\]?.*\bv?\d+\.\d+.*",
)
_EMPTY = re.compile(
    r"(?:(?:chore|build)\(deps[^)]*\)|deps(?:\([^)]*\))?):.*"
    rf"|(?:[a-z]+(?:\([^)]*\))?!?: *|\[[^\]]+\] *)?(?:{'|'.join(_EMPTY_SUBJECTS)})\W*",
    re.I,
)


def commit_points(body: str) -> list[str]:
    """The points of a commit's body, one line each: wrapped lines joined, trailers left out."""
    points: list[str] = []
    fresh = True
    for line in body.splitlines():
        text = line.strip()
        if not text or _TRAILER.fullmatch(text):
            fresh = True
            continue
        bullet = _BULLET.match(line)
        if bullet or fresh or not points:
            points.append(line[bullet.end() :].strip() if bullet else text)
        else:
            points[-1] = f"{points[-1]} {text}"
        fresh = False
    return [point for point in points if point.strip(" -*#")]


def without_trailers(message: str) -> str:
    """A commit message without the lines that tools add at its end."""
    lines = [line for line in message.strip().splitlines() if not _TRAILER.fullmatch(line.strip())]
    return "\n".join(lines).strip()


def says_something(subject: str, body: str = "") -> bool:
    """Whether a commit message tells what was done or why."""
    if _EMPTY.fullmatch(subject.strip()) is None:
        return True
    told = sum(map(len, commit_points(body)))
    return told >= _MIN_BODY_CHARS and _BY_A_TOOL.search(subject) is None
