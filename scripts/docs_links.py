"""What MkDocs is told beyond mkdocs.yml: links out of docs/, and pages that the order lacks.

A page may link to a file of the repository outside docs/ (`../../SECURITY.md`): right on the code
host, broken on a site. Here such a link becomes the file's address on the code host; one that leads
nowhere stays as it is, so that the strict build fails.

A new page in a folder of the site joins that folder's part of the order by itself, by its title.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FOLDERS = {
    "Quick start": "start",
    "Guides": "guides",
    "Reference": "reference",
    "Contributing": "contributing",
    "Decisions": "decisions",
}
_LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")


def on_config(config: Any) -> Any:
    """Add the pages that the order does not name."""
    named = {page for entry in config.nav for page in _pages(entry)}
    for entry in config.nav:
        section = cast("dict[str, list[Any]]", entry if isinstance(entry, dict) else {})
        for title in section.keys() & FOLDERS.keys():
            section[title] += [page for page in pages_in(FOLDERS[title]) if page not in named]
    loose = [path.name for path in sorted(DOCS.glob("*.md")) if path.name not in named]
    if loose:
        config.nav.append({"More": loose})
    return config


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Rewrite the links of a page."""
    return outside_links(markdown, DOCS / page.file.src_uri, repository=repository())


def outside_links(markdown: str, path: Path, *, repository: str) -> str:
    """The text with links to files outside docs/ as addresses on the code host."""

    def address(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(path.parent / match[2]))
        if target.is_relative_to(DOCS) and not target.is_dir():
            return match[0]
        if not target.is_relative_to(ROOT) or not target.exists():
            return match[0]
        kind = "tree" if target.is_dir() else "blob"
        return f"{match[1]}{repository}/{kind}/main/{target.relative_to(ROOT)}{match[3]}"

    return _LINK.sub(address, markdown)


def repository() -> str:
    """The address of the repository, as the distribution names it."""
    text = (ROOT / "packages/wellkept/pyproject.toml").read_text("utf-8")
    return tomllib.loads(text)["project"]["urls"]["Repository"]


def pages_in(folder: str) -> list[str]:
    """The pages of a folder, as the order names them."""
    return [f"{folder}/{path.name}" for path in sorted((DOCS / folder).glob("*.md"))]


def _pages(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
        return
    inside = cast("Iterable[Any]", entry.values() if isinstance(entry, dict) else entry)
    for one in inside:
        yield from _pages(one)
