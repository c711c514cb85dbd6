"""Finds the source files behind a browser fact: files the tool named, files that contain the
element's label, and files that match the page address.

A label or id counts when it occurs, in quotes or between tags, in one or two files. Files are read
on first use.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path

from wellkept.graph.index.source_files import list_files
from wellkept.project.folder_lookup import locate
from wellkept_plugins.browser.page_files import MAX_FILES, files_of_page

_MAX_FILES_READ, _MAX_FILE_BYTES = 3_000, 300_000
_MIN_LABEL_CHARS = 4
_SUFFIXES = (
    ".tsx", ".jsx", ".vue", ".svelte", ".astro", ".html", ".htm", ".php", ".erb", ".haml", ".jinja",
    ".jinja2", ".j2", ".twig", ".hbs", ".ejs", ".pug", ".cshtml", ".razor", ".templ", ".ts", ".js",
    ".py", ".rb", ".dart", ".swift", ".kt", ".xaml", ".qml",
)  # fmt: skip
_IGNORED = re.compile(
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
    """Source files of one project folder, searched by page and label."""

    def __init__(self, cwd: str | None) -> None:
        self._cwd = cwd

    def files_of(self, page: str, about: str, named: Sequence[str]) -> tuple[str, ...]:
        """The files of a fact, most certain first."""
        by_label = next(
            (found for label in labels(about) if (found := self._with_label(label))), ()
        )
        by_page = files_of_page(page, named, self._known)
        by_tool = [file for file in by_page if any(file.endswith(name) for name in named)]
        return tuple(dict.fromkeys((*by_tool, *by_label, *by_page)))[:MAX_FILES]

    def _with_label(self, label: str) -> tuple[str, ...]:
        """Files that contain a label in quotes or between tags; none when there are too many."""
        plain = label.encode()
        pattern = re.compile(rb"[\"'`>]\s*" + re.escape(plain) + rb"\s*[\"'`<]")
        found = [
            path for path, text in self._texts.items() if plain in text and pattern.search(text)
        ]
        return tuple(found) if len(found) <= MAX_FILES else ()

    @cached_property
    def _root(self) -> Path | None:
        folder = Path(self._cwd) if self._cwd and "\0" not in self._cwd else None
        return locate(folder).root if folder is not None and folder.is_dir() else None

    @cached_property
    def _known(self) -> Collection[str]:
        return {file.path for file in list_files(self._root)} if self._root is not None else ()

    @cached_property
    def _texts(self) -> dict[str, bytes]:
        wanted = [
            p for p in sorted(self._known) if p.endswith(_SUFFIXES) and not _IGNORED.search(p)
        ]
        root = self._root
        texts = {path: _read(root / path) for path in wanted[:_MAX_FILES_READ]} if root else {}
        return {path: text for path, text in texts.items() if text}


def labels(action: str) -> list[str]:
    """The element labels in an action such as "click `Save changes button`"."""
    found: list[str] = []
    for quoted in _QUOTED.findall(action):
        selected = [str(match[match.lastindex or 0]) for match in _SELECTOR.finditer(quoted)]
        plain = quoted
        while (shorter := _ROLE.sub("", plain).strip("\"' ")) != plain:
            plain = shorter
        found += selected or [plain]
    return [label for label in found if len(label) >= _MIN_LABEL_CHARS]


def _read(path: Path) -> bytes:
    try:
        if path.is_symlink() or path.stat().st_size > _MAX_FILE_BYTES:
            return b""
        return path.read_bytes()
    except OSError:
        return b""
