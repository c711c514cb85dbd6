"""Which source files a fact about a running application belongs to: those that the tool named,
those whose text says what was acted on, and those that the page's address means.

A label, an id or a test id that stands in quotes or between tags of one or two files is theirs; one
that stands in more says nothing. Files are read when the first fact asks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path

from wellkept.app.projects.resolver import resolve_project
from wellkept.codegraph.index.source_files import list_files
from wellkept.observe.browser.page_files import MAX_FILES, files_of_page

_MOST_READ, _LARGEST_BYTES = 3_000, 300_000
_SHORTEST = 4
_SUFFIXES = (
    ".tsx", ".jsx", ".vue", ".svelte", ".astro", ".html", ".htm", ".php", ".erb", ".haml", ".jinja",
    ".jinja2", ".j2", ".twig", ".hbs", ".ejs", ".pug", ".cshtml", ".razor", ".templ", ".ts", ".js",
    ".py", ".rb", ".dart", ".swift", ".kt", ".xaml", ".qml",
)  # fmt: skip
_NO_SCREEN = re.compile(
    r"(?:^|/)(?:tests?|spec|__tests__|e2e|cypress|node_modules|vendor|dist|build|\.[^/]+)/"
    r"|[._](?:test|spec)\.|(?:^|/)test_|\.min\."
)
_QUOTED = re.compile(r"`([^`]+)`")
_SELECTOR = re.compile(
    r"#([\w-]+)|\[[\w-]+[~^*|$]?=[\"']?([^\"'\]]+)|\btext=[\"']?([^\"']+)|\.([\w-]{4,})$"
)
_ROLE = re.compile(
    r"(?:^(?:the|a) )|\s+(?:button|link|field|text ?box|input|checkbox|tab|menu(?: ?item)?|icon|"
    r"dropdown|combobox|option|heading|dialog)$",
    re.IGNORECASE,
)


class BrowserSources:
    """The files behind the screens of one project folder."""

    def __init__(self, cwd: str | None) -> None:
        self._cwd = cwd

    def files_of(self, page: str, about: str, named: Sequence[str]) -> tuple[str, ...]:
        """The files of a fact, the surest first."""
        said = next((found for words in labels(about) if (found := self._saying(words))), ())
        by_page = files_of_page(page, named, self._known)
        given = [file for file in by_page if any(file.endswith(name) for name in named)]
        return tuple(dict.fromkeys((*given, *said, *by_page)))[:MAX_FILES]

    def _saying(self, words: str) -> tuple[str, ...]:
        """Files that have these words in quotes or between tags; none where there are too many."""
        plain = words.encode()
        pattern = re.compile(rb"[\"'`>]\s*" + re.escape(plain) + rb"\s*[\"'`<]")
        found = [
            path for path, text in self._texts.items() if plain in text and pattern.search(text)
        ]
        return tuple(found) if len(found) <= MAX_FILES else ()

    @cached_property
    def _root(self) -> Path | None:
        folder = Path(self._cwd) if self._cwd and "\0" not in self._cwd else None
        return resolve_project(folder).root if folder is not None and folder.is_dir() else None

    @cached_property
    def _known(self) -> Collection[str]:
        return {file.path for file in list_files(self._root)} if self._root is not None else ()

    @cached_property
    def _texts(self) -> dict[str, bytes]:
        wanted = [
            p for p in sorted(self._known) if p.endswith(_SUFFIXES) and not _NO_SCREEN.search(p)
        ]
        root = self._root
        texts = {path: _read(root / path) for path in wanted[:_MOST_READ]} if root else {}
        return {path: text for path, text in texts.items() if text}


def labels(action: str) -> list[str]:
    """What a part of the screen is called in an action such as "click `Save changes button`"."""
    found: list[str] = []
    for quoted in _QUOTED.findall(action):
        selected = [str(match[match.lastindex or 0]) for match in _SELECTOR.finditer(quoted)]
        plain = quoted
        while (shorter := _ROLE.sub("", plain).strip("\"' ")) != plain:
            plain = shorter
        found += selected or [plain]
    return [words for words in found if len(words) >= _SHORTEST]


def _read(path: Path) -> bytes:
    try:
        if path.is_symlink() or path.stat().st_size > _LARGEST_BYTES:
            return b""
        return path.read_bytes()
    except OSError:
        return b""
