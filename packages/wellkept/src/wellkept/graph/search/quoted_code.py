"""What a request quotes of the code: places in tracebacks, identifiers, and words of messages.

A report that quotes an error message is often about the file that words it; one with a traceback,
about the last file of the project in it; and an identifier leads to the file that defines it. What
several files share counts less for each. Knows nothing of indexes and of other signals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Set
from posixpath import basename
from typing import Final

MAX_PHRASES: Final = 80
MAX_BODY_CHARS: Final = 200_000
_PHRASE_WORDS: Final = 3
_ENOUGH: Final = 3.0
"""So many phrases or identifiers of its own are full evidence for a file."""
_LAST_FRAME, _IN_FRAMES, _PHRASES, _DEFINES, _DEFINES_TITLE = 1.1, 0.3, 0.9, 0.65, 0.3
_PACKAGE_FILE: Final = -0.45
"""Files that only gather the names of a package are named often and changed seldom."""
_PACKAGE_FILES: Final = frozenset(
    {"__init__.py", "index.js", "index.ts", "index.tsx", "mod.rs", "lib.rs"}
)
_FRAME = re.compile(
    r'File "([^"\n]+)", line \d+|^[ \t]*(?:at .*\()?([\w./\\-]+\.\w{1,4}):\d+', re.M
)
_MESSAGE = re.compile(r"error|warning|exception|fail|invalid|cannot|must|not ", re.I)
_WORD = re.compile(r"[a-z]+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}")
_CODE_NAME = re.compile(r"\w_+\w|[a-z][A-Z]")


class QuotedCode:
    """What one request quotes; a short question quotes no phrases."""

    def __init__(self, request: str, *, title: str, with_phrases: bool = True) -> None:
        self._frames = [
            (quoted or plain).replace("\\", "/") for quoted, plain in _FRAME.findall(request)
        ]
        self._phrases = _phrases(request, title) if with_phrases else []
        self._names = _code_names(request)
        self._title_names = frozenset(
            name for name in _IDENTIFIER.findall(title) if len(name) > 3
        )  # fmt: skip

    def scores(
        self, bodies: Mapping[str, str], defined: Mapping[str, Set[str]]
    ) -> dict[str, float]:
        """What speaks for each file, given their texts and the names that they define."""
        phrases = {path: self._found_phrases(body) for path, body in bodies.items()}
        holding = Counter(phrase for found in phrases.values() for phrase in found)
        defining = Counter(name for names in defined.values() for name in names)
        last = self._last_frame(list(bodies))
        made: dict[str, float] = {}
        for path in bodies:
            own = defined.get(path, frozenset[str]())
            made[path] = (
                _LAST_FRAME * (path == last)
                + _IN_FRAMES * any(_is_frame(path, frame) for frame in self._frames)
                + _PHRASES * _share(phrases[path], holding, enough=_ENOUGH)
                + _DEFINES * _share(own & self._names, defining, enough=_ENOUGH)
                + _DEFINES_TITLE * _share(own & self._title_names, defining, enough=1.0)
                + _PACKAGE_FILE * (basename(path) in _PACKAGE_FILES)
            )
        return made

    def _found_phrases(self, body: str) -> frozenset[str]:
        if not self._phrases:
            return frozenset()
        text = f" {' '.join(_WORD.findall(body[:MAX_BODY_CHARS].lower()))} "
        return frozenset(phrase for phrase in self._phrases if phrase in text)

    def _last_frame(self, paths: list[str]) -> str | None:
        """The file of the last frame that is one of these."""
        found = (
            path for frame in reversed(self._frames) for path in paths if _is_frame(path, frame)
        )
        return next(found, None)


def _share(found: Set[str], holding: Mapping[str, int], *, enough: float) -> float:
    """From 0 to 1: each counts by how few files share it."""
    return min(sum(1 / holding[one] for one in found), enough) / enough


def _is_frame(path: str, frame: str) -> bool:
    """Whether a frame is in a file: the end of its path, with a folder, is the same."""
    return frame == path or frame.endswith(f"/{'/'.join(path.split('/')[-2:])}")


def _phrases(request: str, title: str) -> list[str]:
    """Three words in a row, of the title and of lines that look like messages."""
    lines = [title, *(line for line in request.splitlines() if _MESSAGE.search(line))]
    found: dict[str, None] = {}
    for line in lines:
        words = _WORD.findall(line.lower())
        for start in range(len(words) - _PHRASE_WORDS + 1):
            found[f" {' '.join(words[start : start + _PHRASE_WORDS])} "] = None
        if len(found) >= MAX_PHRASES:
            break
    return list(found)[:MAX_PHRASES]


def _code_names(request: str) -> frozenset[str]:
    """Words that are written as code: with underscores or capitals inside, called, in quotes of
    code, or after a dot."""
    found: set[str] = set()
    for match in _IDENTIFIER.finditer(request):
        before, after = (
            request[match.start() - 1 : match.start()],
            request[match.end() : match.end() + 1],
        )
        if after == "(" or before in (".", "`") or _CODE_NAME.search(match[0]):
            found.add(match[0])
    return frozenset(found)
