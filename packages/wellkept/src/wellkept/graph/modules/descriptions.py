"""Reads the purpose of a module from its README, package comment or file comments.

Takes the first paragraph, without badges, headings, licences and markup. Reads only the beginning
of a few files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from posixpath import basename
from typing import Final

from wellkept.core.text import clean, shorten
from wellkept.graph.index.source_files import stat_file

_HEAD_BYTES: Final = 16_384
_MAX_CHARS: Final = 400
_MIN_CHARS: Final = 15
_MAX_READ_FILES: Final = 8
_MAX_QUOTED_FILES: Final = 3
_README: Final = re.compile(r"readme(?:\.(?:md|markdown|rst|txt|adoc))?", re.IGNORECASE)
_PACKAGE_FILE: Final = re.compile(
    r"^(?:__init__\.pyi?|mod\.rs|lib\.rs|doc\.go|package-info\.java|index\.[cm]?[jt]sx?)$"
)
_NOT_PROSE: Final = re.compile(
    r"^(?:#|=|-{3}|\*{3}|~{3}|!\[|\[!\[|<|\||>|\.\. |:\w+:|```|\[[^\]]+\]:|[-*+·•‣–x$] |\d+\. |@\w)"
)
_LEGAL: Final = re.compile(
    r"copyright|\(c\) |©|licen[cs]ed?\b|spdx|all rights reserved|permission is hereby|redistributi"
    r"|this file is part of|without warrant|do not (?:edit|modify)|(?:auto|code)?-?generated\b"
    r"|frozen_string_literal|@author|\beslint\b|\bcoding[:=]|pylint:|noqa|type: ignore|@ts-"
    r"|prettier-ignore|\bgo:(?:build|generate|embed)\b|^\+build\b|nolint|\bvim?:|-\*-",
    re.IGNORECASE,
)
_CODE: Final = re.compile(
    r"^[\w.]+\s*=\s|[{};]$|^/?\s*(?:import|from|def|class|const|let|package)\s\S+"
    r"|^(?:TODO|FIXME|XXX|HACK)\b"
)
_DOCSTRING: Final = re.compile(r'\A(?:\s*(?:#[^\n]*)?\n)*\s*[rRuU]?("""|\'\'\')(.*?)\1', re.DOTALL)
_BLOCK: Final = re.compile(r"\A\s*/\*+!?(.*?)\*/", re.DOTALL)
_LINES: Final = re.compile(
    r"\A(?:[ \t]*(?://[/!]?|#(?!!?\[|[ \t]*(?:include|import|define|undef|if|pragma|region|endif"
    r"|else)))[^\n]*\n?)+"
)
_ITEM_DOCS: Final = re.compile(r"^[ \t]*///(?!/)[^\n]*\n", re.MULTILINE)
_BEFORE: Final = re.compile(r"\A(?:\s*(?:<\?php|#!|\"use strict\";|'use strict';)[^\n]*\n?)*\s*")
_MODULEDOC: Final = re.compile(r'@moduledoc\s+(?:~[sS])?"""(.*?)(?:"""|\Z)', re.DOTALL)
_NOT_YET: Final = re.compile(
    r"(?:\s*(?:package|import|using|use|namespace|module|require\w*|declare|from|#!?\[|#\s*(?:include"
    r"|pragma|ifndef|define|if)|extern crate|@file:|'use |\"use )[^\n]*\n)*\s*"
)
"""What stands between the licence of a file and the comment of what it defines."""
_DEFINES: Final = re.compile(
    r"\s*(?:(?:@|#\[|\[)[^\n]*\n\s*)*(?:[a-z]+ )*(?:class|interface|object|enum|struct|trait|record"
    r"|module|type|def|impl|template)\b"
)
_TAG: Final = re.compile(r"^(?:[\\@](?:file|brief|module|overview|packageDocumentation)\b\s*)+")
_MARKUP: Final = re.compile(
    r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])|</?(?!https?:)\w[^>]*>|`{1,2}|\*\*|\{@\w+ ([^}]*)\}"
)


def purpose_of(
    root: Path, folder: str, files: Sequence[str], *, is_main: bool = False
) -> tuple[str, tuple[str, ...]]:
    """The purpose of a folder, and the files it was read from. `files` are most important first.

    The main folder falls back to the README of the root. Without a description of the whole, the
    first sentences of its main files are used.
    """
    direct = [path for path in files if path.rpartition("/")[0] == folder]
    whole = [*_readmes(root, folder), *(p for p in direct if _PACKAGE_FILE.match(basename(p)))]
    for path in [*whole, *(_readmes(root, "") if is_main else ())]:
        if text := lead(_head(root, path), path):
            return text, (path,)
    sentences = [
        (path, _sentence(text))
        for path in files[:_MAX_READ_FILES]
        if len(text := lead(_head(root, path), path)) >= _MIN_CHARS
    ][:_MAX_QUOTED_FILES]
    # Files of many folders are often called the same: the folder tells them apart.
    inside = f"{folder}/" if folder else ""
    joined = " ".join(f"{path.removeprefix(inside)}: {text}" for path, text in sentences)
    return shorten(joined, limit=_MAX_CHARS), tuple(path for path, _ in sentences)


def lead(text: str, path: str) -> str:
    """The first paragraph of a document, or of the first comment of a source file."""
    if _README.fullmatch(basename(path)):
        return _first_paragraph(text.split("\n"))
    if path.endswith(".rs"):  # `///` is about one item, `//!` about the file
        text = _ITEM_DOCS.sub("", text)
    found = (_first_paragraph(lines) for lines in _comments(text))
    return next((paragraph for paragraph in found if paragraph), "")


# -- Inside ---------------------------------------------------------------------------------------


def _readmes(root: Path, folder: str) -> list[str]:
    try:
        names = [entry.name for entry in (root / folder).iterdir()]
    except OSError:
        return []
    found = sorted(name for name in names if _README.fullmatch(name))
    return [f"{folder}/{name}" if folder else name for name in found]


def _head(root: Path, path: str) -> str:
    if stat_file(root, path) is None:
        return ""
    try:
        with (root / path).open("rb") as file:
            return clean(file.read(_HEAD_BYTES).decode("utf-8", "replace").replace("\r\n", "\n"))
    except OSError:
        return ""


def _comments(text: str) -> Iterator[list[str]]:
    """The lines of each comment before any code."""
    if found := _DOCSTRING.match(text):
        yield found[2].split("\n")
        return
    if found := _MODULEDOC.search(text):
        yield found[1].split("\n")
        return
    rest = text[match.end() :] if (match := _BEFORE.match(text)) else text
    while found := _BLOCK.match(rest) or _LINES.match(rest):
        yield _bare(found)
        rest = rest[found.end() :].lstrip("\n \t")
    between = _NOT_YET.match(rest)
    rest = rest[between.end() :] if between else rest
    found = _BLOCK.match(rest) or _LINES.match(rest)
    if found and _DEFINES.match(rest, found.end()):
        yield _bare(found)


def _bare(comment: re.Match[str]) -> list[str]:
    """The lines of a comment without its marks."""
    lines = comment[comment.lastindex or 0].split("\n")
    return [re.sub(r"^\s*(?://[/!]?|#+|\*)\s?", "", line) for line in lines]


def _first_paragraph(lines: Iterable[str]) -> str:
    """The first prose paragraph; else the first one that introduces a list."""
    told = [*prose(lines)]
    leads = (f"{one[:-1]}." for one in told)
    return shorten(next((x for x in told if x[-1] != ":"), next(leads, "")), limit=_MAX_CHARS)


def prose(lines: Iterable[str]) -> Iterator[str]:
    """Each paragraph that says something, without its markup."""
    for paragraph in _paragraphs(lines):
        text = " ".join(_MARKUP.sub(r"\1\2", " ".join(paragraph)).split()).strip("*_")
        is_told = len(text) >= _MIN_CHARS and " " in text
        if is_told and not _LEGAL.search(text) and not _CODE.search(text):
            yield text


def _paragraphs(lines: Iterable[str]) -> Iterator[list[str]]:
    """Paragraphs of prose: no headings, lists, tables, badges or code blocks."""
    here: list[str] = []
    is_code = False
    for line in lines:
        bare = _TAG.sub("", line.strip())
        if bare.startswith(("```", "~~~")):
            is_code = not is_code
            bare = ""
        is_title = bool(here) and set(bare) <= set("=-~^") and len(bare) > 2
        if is_code or not bare or is_title or _NOT_PROSE.match(bare):
            if here and not is_title:
                yield here
            here = []
            continue
        here.append(bare)
    if here:
        yield here


def _sentence(text: str) -> str:
    first = re.split(r"(?<=[.!?])\s", text.lstrip("?!. -*"), maxsplit=1)[0]
    return shorten(first if first[-1:] in ".!?" else f"{first}.", limit=160)
