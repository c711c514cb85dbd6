"""Maps a page address to source files by name.

`/orders/new` matches the layouts of common frameworks (`app/orders/new/page.tsx`,
`pages/orders/new.vue`, `routes/orders.new.tsx`, `templates/orders/new.html`), else a component of
that name. When too many files match, none is returned. Pure: the known files are passed in.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

MAX_FILES = 2
_COMPONENTS = (".tsx", ".jsx", ".vue", ".svelte", ".astro")
_TEMPLATES = (
    ".html", ".htm", ".php", ".erb", ".haml", ".jinja", ".jinja2", ".j2", ".twig", ".hbs",
    ".ejs", ".pug", ".cshtml", ".razor", ".templ",
)  # fmt: skip
_ROOTS = frozenset({"app", "pages", "routes", "views", "templates", "screens"})
_INDEX_NAMES = frozenset({"page", "+page", "index", "route", "view"})
_SUFFIX = re.compile(r"(?:-(?:page|view|screen|panel|component|container))+$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GROUP = re.compile(r"\(.*\)|@.*")
_VARIABLE = re.compile(r"\[.*\]|\$.*|:.*|_id|<.*>")
_IGNORED = re.compile(
    r"(?:^|/)(?:tests?|__tests__|e2e|node_modules|dist|build)/|[._](?:test|spec)\."
)


def files_of_page(page: str, named: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """The files of a page: those named by the tool first, then those matching the address."""
    found = dict.fromkeys(file for name in named for file in _ending_in(name, known))
    if page.startswith("/"):
        found |= dict.fromkeys(_by_address(page, known))
    return tuple(found)[:MAX_FILES]


def _ending_in(name: str, known: Collection[str]) -> list[str]:
    if name in known:
        return [name]
    found = [file for file in known if file.endswith(f"/{name}")]
    return found if len(found) == 1 else []


def _by_address(page: str, known: Collection[str]) -> list[str]:
    wanted = [part.casefold() for part in page.split("/") if part]
    by_folder: list[str] = []
    by_name: list[str] = []
    for file in sorted(known):
        if not file.endswith(_COMPONENTS + _TEMPLATES) or _IGNORED.search(file):
            continue
        parts = list(_parts(file))
        if wanted in _below_roots(parts):
            by_folder.append(file)
        elif wanted and _tail(parts, len(wanted)) == wanted:
            by_name.append(file)
    best = by_folder or by_name
    return best if len(best) <= MAX_FILES else []


def _parts(file: str) -> Iterator[str]:
    """The parts of a path, normalised like an address."""
    *folders, name = file.split("/")
    stem, *_ = name.split(".") if name.endswith(_TEMPLATES) else (name.rpartition(".")[0],)
    for part in (*folders, *stem.split(".")):
        if _GROUP.fullmatch(part):
            continue
        plain = _CAMEL.sub("-", part).casefold().replace("_", "-")
        yield "n" if _VARIABLE.fullmatch(part) else _SUFFIX.sub("", plain) or plain


def _below_roots(parts: list[str]) -> list[list[str]]:
    """The parts below each page folder, without index names such as `page`."""
    roots = [n for n, part in enumerate(parts[:-1]) if part in _ROOTS]
    return [_tail(parts[n + 1 :], len(parts)) for n in roots]


def _tail(parts: list[str], count: int) -> list[str]:
    own = parts[:-1] if parts and parts[-1] in _INDEX_NAMES else parts
    return own[-count:] if count else []
