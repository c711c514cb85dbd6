"""Where things are: the module map and the main files, with what they define.

Needs no parser and no graph: folders and sizes, the first comment of a file, and definitions at the
start of a line. The code graph says more and takes over when it is built.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from posixpath import basename, dirname, splitext

from wellkept.core.graph import SourceFile
from wellkept.core.query import FileLink
from wellkept.core.text import shorten
from wellkept.core.types import MemoryType
from wellkept.graph.history.commits import is_test, subject
from wellkept.graph.index.file_kind import FileKind, file_kind
from wellkept.graph.modules.descriptions import lead, purpose_of
from wellkept.graph.modules.module_map import module_folders
from wellkept.project.repository.ownership import FilePast, who
from wellkept.project.repository.project_files import ProjectFiles, Statement

MODULE_LABEL = "Where things are: "
LAYOUT_LABEL = "Layout, how the code is laid out and organised, the structure of its folders:"
LAYOUT_KEY = "layout:all"
MAX_LAYOUT = 16
MAX_MODULES = 30
MAX_FILES = 60
_MAX_LANGUAGE_FILES = 6_000
_BYTES_A_LINE = 35
_MAX_NAMES = 20
_MAX_MODULE_FILES = 10
_LEAD_CHARS = 220
_MAX_PARTNERS = 4
_MANY_FOLDERS = 8
_MAX_EXPLAINED = 3
_ALSO = "- also: "
_DEFINITIONS: Mapping[str, re.Pattern[str]] = {
    ".py": re.compile(r"^(?:class|(?:async )?def) ([A-Za-z]\w*)", re.MULTILINE),
    ".go": re.compile(r"^(?:func (?:\([^)]*\) )?|type )([A-Z]\w*)", re.MULTILINE),
    ".rs": re.compile(
        r"^\s{0,4}pub(?:\([^)]*\))? (?:const |unsafe |async )*(?:fn|struct|enum|trait|mod"
        r"|type) (\w+)",
        re.MULTILINE,
    ),
    ".rb": re.compile(
        r"^\s{0,8}(?:class|module) ([A-Z][\w:]*)|^\s{2,6}def (?:self\.)?([a-z]\w*[?!]?)",
        re.MULTILINE,
    ),
    ".php": re.compile(
        r"^(?:(?:abstract|final|readonly) )*(?:class|interface|trait|enum|function) (\w+)",
        re.MULTILINE,
    ),
    ".java": re.compile(
        r"^(?:\s{2,4})?(?:public |protected |final |abstract |static |sealed )*(?:class"
        r"|interface|enum"
        r"|record|@interface) ([A-Z]\w*)",
        re.MULTILINE,
    ),
    ".ts": re.compile(
        r"^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:class|function\*?|const|let"
        r"|interface|type|enum|namespace) (\w+)",
        re.MULTILINE,
    ),
    ".js": re.compile(
        r"^(?:export (?:default )?)?(?:async )?(?:class|function\*?) (\w+)"
        r"|^export (?:const|let) (\w+)|^module\.exports\.(\w+)|^(?:exports"
        r"|[A-Z]\w*\.prototype)\.(\w+) =",
        re.MULTILINE,
    ),
}  # fmt: skip
_COMMENT = re.compile(
    r"(?:/\*\*(?:(?!\*/).)*\*/|(?:[ \t]*(?://|#(?!\[))[^\n]*\n)+)\s*(?:[@#]\[?[^\n]*\n\s*)*\Z", re.S
)
_DOCSTRING = re.compile(r"[^\n]*(?:\([^()]*\)[^\n]*)?:\s*\n\s*[rRuU]?\"\"\"(.*?)\"\"\"", re.DOTALL)
_LEFT = re.compile(r"(?:#|//|/\*|\*|--|;|%)[ \t]*(?:@)?(TODO|FIXME|XXX)\b[:\s(]*(\S[^\n]*)")
_SAME = {
    ".pyi": ".py", ".tsx": ".ts", ".mts": ".ts", ".cts": ".ts", ".jsx": ".js", ".mjs": ".js",
    ".cjs": ".js", ".kt": ".java", ".scala": ".java", ".groovy": ".java", ".cs": ".java",
}  # fmt: skip

_SOURCES = frozenset(
    (*_DEFINITIONS, *_SAME, *".c .h .cc .cpp .cxx .hpp .hh .m .mm .swift .ex .exs .erl .hs .ml .clj"
    " .lua .pl .pm .r .jl .dart .zig .nim .sh .bash .fs .vb .vue .svelte .proto .graphql".split())
)  # fmt: skip


class Places:
    """The source files of a project with their sizes and definitions."""

    def __init__(self, files: ProjectFiles) -> None:
        self.files = files
        code = [n for n in files.names if file_kind(n) in (FileKind.CODE, FileKind.TEST)]
        self.code = [n for n in code if splitext(n)[1].lower() in _SOURCES][:_MAX_LANGUAGE_FILES]
        self._names: dict[str, tuple[str, ...]] = {}
        self._by_subject: dict[str, str] | None = None

    def definitions(self, path: str) -> tuple[str, ...]:
        """Names of what a file defines at its top level, in order."""
        if path not in self._names:
            ending = splitext(path)[1].lower()
            shape = _DEFINITIONS.get(_SAME.get(ending, ending))
            found = shape.finditer(self.files.text(path)) if shape else ()
            names = [next(filter(None, one.groups()), "") for one in found]
            shown = (name for name in names if name and not name.startswith("_"))
            self._names[path] = tuple(dict.fromkeys(shown))
        return self._names[path]

    def explained(self, path: str) -> Iterator[str]:
        """What the comments of the first definitions say: their first sentences."""
        text, ending = self.files.text(path), splitext(path)[1].lower()
        shape, told = _DEFINITIONS.get(_SAME.get(ending, ending)), 0
        for one in shape.finditer(text) if shape else ():
            name = next(filter(None, one.groups()), "")
            below = _DOCSTRING.match(text, one.end()) if ending == ".py" else None
            above = (
                None if below else _COMMENT.search(text[max(0, one.start() - 1_500) : one.start()])
            )
            comment = below[1] if below else above[0] if above else ""
            sentence = _sentence(comment)
            if name and " " in sentence and told < _MAX_EXPLAINED:
                told += 1
                yield f"{name}: {sentence}"

    def lines(self, path: str) -> int:
        """About how many lines a file has."""
        return len(self.files.text(path)) // _BYTES_A_LINE + 1

    def test_of(self, path: str) -> str | None:
        """The test file that is called like a source file."""
        return self._tests.get(subject(path)) if not is_test(path) else None

    @property
    def _tests(self) -> dict[str, str]:
        if self._by_subject is None:
            tests = [n for n in self.code if is_test(n) and is_test(basename(n))]
            tests.sort(key=lambda n: (-n.count("/"), n))
            self._by_subject = {subject(name): name for name in tests}
        return self._by_subject


def module_statements(places: Places, pasts: Mapping[str, FilePast]) -> Iterator[Statement]:
    """One statement for each module: what it is for, its main files and what they define."""
    files = places.files
    sources = [
        SourceFile(path=path, language=splitext(path)[1], content_hash="", size_bytes=0, mtime_ns=0,
                   line_count=places.lines(path), is_test=is_test(path))
        for path in places.code
    ]  # fmt: skip
    chosen = module_folders(sources, limit=MAX_MODULES)
    grouped: defaultdict[str, list[str]] = defaultdict(list)
    for path in places.code:
        folder = dirname(path)
        while folder and folder not in chosen:
            folder = dirname(folder)
        grouped[folder].append(path)
    total = sum(map(places.lines, places.code)) or 1
    for folder, paths in sorted(grouped.items()):
        is_tests = is_test(f"{folder}/x")
        busy = sorted(
            paths, key=lambda p: (not is_tests and is_test(p), -_weight(places, pasts, p), p)
        )
        purpose, read_from = purpose_of(files.root, folder, busy) if folder else ("", ())
        told = [_with_names(places, path, folder) for path in busy[:_MAX_MODULE_FILES]]
        where = f"{folder}/" if folder else "the root folder"
        share = sum(map(places.lines, paths)) / total
        below = Counter(p.removeprefix(f"{folder}/").partition("/")[0] for p in paths if folder)
        below = Counter(one for one in below if f"{folder}/{one}" not in paths)
        if len(below) >= _MANY_FOLDERS and read_from and dirname(read_from[0]) != folder:
            several = ", ".join(f"{one}/" for one in [*below][:_MANY_FOLDERS])
            purpose = f"{len(below)} folders such as {several}. {purpose}"
        said = f"{MODULE_LABEL}{where}"
        said += f": {_ended(shorten(purpose, limit=_LEAD_CHARS))}" if purpose else "."
        said += f"\nIts {'main ' * (len(paths) > len(told))}files: {', '.join(told)}."
        yield Statement(
            key=f"module:{folder or '.'}",
            text=shorten(said, limit=1_000),
            read_from=read_from[0] if read_from else folder or ".",
            type=MemoryType.MODULE_INSIGHT,
            importance=0.3 if is_tests else 0.45 + round(0.15 * share, 3),
            tags=("module",),
            files=tuple(busy[:5]),
            module=folder or ".",
        )


def folder_order(folder: str) -> tuple[bool, bool, str]:
    """Folders of code come first, then tests, then hidden ones."""
    return folder.startswith(".") and folder != ".", is_test(f"{folder}/x"), folder


def layout_text(modules: Sequence[tuple[str, str]]) -> str:
    """The layout of a project as one text: its folders, each with what it says about itself. Those
    that say nothing, and those beyond the first, are only named."""
    told = [(folder, line) for folder, line in modules if line][:MAX_LAYOUT]
    lines = [f"- {folder}/: {line}" for folder, line in told]
    named = [f"{folder}/" for folder, _ in modules if folder not in dict(told)]
    also = [_ALSO + ", ".join(named)] if named else []
    return "\n".join((LAYOUT_LABEL, *lines, *also))


def layout_folders(text: str) -> list[str]:
    """The folders that a text of `layout_text` names."""
    found: list[str] = []
    for line in text.split("\n")[1:]:
        names = (
            line.removeprefix(_ALSO).split(", ")
            if line.startswith(_ALSO)
            else [line.removeprefix("- ").partition("/:")[0]]
        )
        found += [name.removesuffix("/") for name in names]
    return found


def layout_statement(files: ProjectFiles, modules: Sequence[Statement]) -> Iterator[Statement]:
    """How the code is laid out: the folders that hold code, tests last, then what else there is."""
    named = [(str(one.module), module_line(one.text, str(one.module))) for one in modules]
    named.sort(key=lambda one: folder_order(one[0]))
    tops = {folder.partition("/")[0] for folder, _ in named}
    others = Counter(name.partition("/")[0] for name in files.names if "/" in name)
    if named:
        yield Statement(
            key=LAYOUT_KEY,
            text=layout_text([*named, *((one, "") for one in others if one not in tops)]),
            read_from=".",
            type=MemoryType.MODULE_INSIGHT,
            importance=0.7,
            tags=("layout",),
            files=tuple(one.read_from for one in modules if one.read_from != one.module),
        )


def module_line(text: str, folder: str) -> str:
    """What a statement about a module says of it, without its label; its main files when it says
    nothing about itself."""
    first, _, rest = text.partition("\n")
    where = "the root folder" if folder == "." else f"{folder}/"
    first = first.removeprefix(MODULE_LABEL).removeprefix(where)
    if first != ".":
        return first.removeprefix(":").strip()
    return shorten(rest.partition(": ")[2].rstrip("."), limit=_LEAD_CHARS)


def _with_names(places: Places, path: str, folder: str) -> str:
    names = [name for name in places.definitions(path) if not name.lower().startswith("test")]
    short = path.removeprefix(f"{folder}/") if folder else path
    return f"{short} ({', '.join(names[:4])})" if names else short


def _weight(places: Places, pasts: Mapping[str, FilePast], path: str) -> float:
    past = pasts.get(path)
    return places.lines(path) / 100 + (past.changes if past else 0)


def file_statements(
    places: Places, pasts: Mapping[str, FilePast], links: Sequence[FileLink]
) -> Iterator[Statement]:
    """One statement for each main file: what it defines, what changes with it, who knows it."""
    partners: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for link in sorted(links, key=lambda one: -one.weight):
        partners[link.file_a].append((link.file_b, link.count))
        partners[link.file_b].append((link.file_a, link.count))
    code = [path for path in places.code if not is_test(path)]
    busy = sorted(code, key=lambda path: (-_weight(places, pasts, path), path))[:MAX_FILES]
    users = _users(places, busy)
    for path in busy:
        text = "".join(_file_text(places, path, pasts.get(path), partners[path], users[path]))
        if text:
            yield Statement(
                key=f"file:{path}",
                text=f"{path} {text}",
                read_from=path,
                type=MemoryType.MODULE_INSIGHT,
                importance=0.4,
                tags=("file",),
                files=(path,),
                module=dirname(path) or None,
            )


def _file_text(
    places: Places,
    path: str,
    past: FilePast | None,
    partners: Sequence[tuple[str, int]],
    users: Sequence[str],
) -> Iterator[str]:
    names = places.definitions(path)
    if names:
        more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        are = "are" if len(names) > 1 else "is"
        yield f"is where {', '.join(names[:_MAX_NAMES])}{more} {are} defined and implemented."
    else:
        yield "is one of the main files."
    said = lead(places.files.text(path)[:8_000], path) or " ".join(places.explained(path))
    if said:
        yield f" {_ended(shorten(said, limit=_LEAD_CHARS))}"
    tested = places.test_of(path)
    beside = [f"{other} ({count} commits)" for other, count in partners[:_MAX_PARTNERS]]
    breaks = [*beside, *(one for one in users if one not in dict(partners))][: _MAX_PARTNERS + 3]
    if breaks:
        yield f" Touching {path} may break, and usually changes with it: {', '.join(breaks)}."
    if tested:
        yield f" It is covered by {tested}."
    if past and past.authors:
        yield f" Written mostly by {who(past.authors, most=2)} of {past.changes} commits."


def open_ends(places: Places) -> Iterator[Statement]:
    """What the code says is left to do."""
    found = {
        path: notes for path in places.code if (notes := _LEFT.findall(places.files.text(path)))
    }
    if not found:
        return
    busy = sorted(found, key=lambda path: (-len(found[path]), path))
    count = sum(map(len, found.values()))
    counted = ", ".join(f"{path} ({len(found[path])})" for path in busy[:5])
    notes = "; ".join(
        f"{path}: {shorten(found[path][0][1].strip(), limit=110)}" for path in busy[:8]
    )
    yield Statement(
        key="left:code",
        text=f"What is left to do, open tasks in the code: {count} TODO and FIXME comments, most in"
        f" {counted}. The first of each: {notes}.",
        read_from=busy[0],
        importance=0.4,
        tags=("left",),
        files=tuple(busy[:5]),
    )


def _users(places: Places, paths: Sequence[str]) -> dict[str, list[str]]:
    """For each file, other source files that speak of the names that only it defines."""
    defined: Counter[str] = Counter(n for p in places.code for n in places.definitions(p))
    owner = {
        name: path
        for path in paths
        for name in places.definitions(path)[:30]
        if defined[name] == 1 and len(name) > 4
    }
    found: dict[str, Counter[str]] = {path: Counter() for path in paths}
    if not owner:
        return {path: [] for path in paths}
    word = re.compile(r"[A-Za-z_]\w{4,}")
    for path in places.code[:3_000]:
        if is_test(path):
            continue
        for name in set(word.findall(places.files.text(path))) & owner.keys():
            if owner[name] != path:
                found[owner[name]][path] += 1
    return {path: [one for one, _ in counts.most_common(4)] for path, counts in found.items()}


def _sentence(comment: str) -> str:
    """The first sentence of a comment, without its marks."""
    lines = [
        re.sub(r"^\s*(?:/\*+|\*+/?|//[/!]?|#+)\s?|\s*\*/$", "", x) for x in comment.split("\n")
    ]
    prose = " ".join(" ".join(lines).split())
    return _ended(re.split(r"(?<=[.!?])\s|\s@\w|\s:param", prose, maxsplit=1)[0]) if prose else ""


def _ended(text: str) -> str:
    text = text.strip()
    return text if text[-1:] in ".!?…" else f"{text}."
