"""One table in a TOML file that people write by hand: added, changed and taken out as text.

Python reads TOML but does not write it, so the text around a header is edited and the result read
again. Invariant: the text that comes out means what went in, plus or minus exactly that table;
where that cannot be had by editing lines, nothing is done and a ConflictError says so.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from wellkept.clients.install.jsonc import BrokenJsonError, Json
from wellkept.core.errors import ConflictError

_HEADER: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def table(text: str, path: Sequence[str]) -> dict[str, Json] | None:
    """The table that keys lead to; None when there is none."""
    found: object = _read(text)
    for key in path:
        found = cast("dict[str, object]", found).get(key) if isinstance(found, dict) else None
    return cast("dict[str, Json]", found) if isinstance(found, dict) else None


def with_table(text: str, path: Sequence[str], fields: Mapping[str, Json]) -> str:
    """The text with that table, in place of what it says now or at the end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    now = table(text, path)
    section = _section(text, path)
    if now is None or section is None:
        lines = [f"[{_dotted(path)}]", *(_line(*field) for field in fields.items())]
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        edited = text + gap + newline.join(lines) + newline
    else:
        body = text[slice(*section)]
        for name, value in fields.items():
            if now.get(name) != value:
                body = _with_field(body, name, value, newline=newline)
        edited = text[: section[0]] + body + text[section[1] :]
    return _checked(text, edited, path, dict(fields))


def without_table(text: str, path: Sequence[str]) -> str:
    """The text without that table and the tables inside it; comments after it stay."""
    edited = text
    while (section := _section(edited, path, or_inside=True)) is not None:
        start, end = section
        before = edited[:start]
        # The empty line that was put before it goes with it.
        if before.endswith(("\n\n", "\r\n\r\n")):
            before = before[: -2 if before.endswith("\r\n") else -1]
        edited = before + edited[end:]
    return _checked(text, edited, path, None)


# -- Places ---------------------------------------------------------------------------------------


def _section(text: str, path: Sequence[str], *, or_inside: bool = False) -> tuple[int, int] | None:
    """From a table's header to the end of its last line that says something."""
    more = r"(?:[ \t]*\.[^\]\n]*)?" if or_inside else ""
    dotted = r"[ \t]*\.[ \t]*".join(rf"[\"']?{re.escape(key)}[\"']?" for key in path)
    pattern = rf"^[ \t]*\[[ \t]*{dotted}[ \t]*{more}\][^\n]*(?:\n|\Z)"
    header = re.search(pattern, text, re.MULTILINE)
    if header is None:
        return None
    following = _HEADER.search(text, header.end())
    body = text[header.end() : following.start() if following else len(text)]
    return header.start(), header.end() + _said(body)


def _said(body: str) -> int:
    """How much of a body is more than the comments and empty lines at its end."""
    lines = body.splitlines(keepends=True)
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return sum(map(len, lines))


def _with_field(body: str, name: str, value: Json, *, newline: str) -> str:
    pattern = re.compile(rf"^[ \t]*{re.escape(name)}[ \t]*=[^\r\n]*", re.MULTILINE)
    if pattern.search(body):
        return pattern.sub(lambda _: _line(name, value), body, count=1)
    gap = "" if body.endswith("\n") else newline
    return f"{body}{gap}{_line(name, value)}{newline}"


# -- Reading and writing --------------------------------------------------------------------------


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BrokenJsonError(str(error).rstrip(".")) from None


def _checked(text: str, edited: str, path: Sequence[str], fields: Mapping[str, Json] | None) -> str:
    """The edited text, if it means what it should."""
    if _without(_read_or_none(edited), path) == _without(_read(text), path):
        found = table(edited, path)
        if found == fields or (found and fields and fields.items() <= found.items()):
            return edited
    raise ConflictError(
        f"The table {_dotted(path)} is written in a way that cannot be edited safely.",
        hint="Take it out by hand, then try again.",
    )


def _read_or_none(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _without(tree: dict[str, Any] | None, path: Sequence[str]) -> dict[str, Any] | None:
    """What a file means apart from a table and from what only holds it."""
    if tree is None or path[0] not in tree:
        return tree
    if len(path) == 1:
        return {key: value for key, value in tree.items() if key != path[0]}
    inner = tree[path[0]]
    is_table = isinstance(inner, dict)
    rest = _without(cast("dict[str, Any]", inner), path[1:]) if is_table else inner
    others = {key: value for key, value in tree.items() if key != path[0]}
    return others | ({path[0]: rest} if rest else {})


def _dotted(path: Sequence[str]) -> str:
    return ".".join(key if _BARE.fullmatch(key) else _text(key) for key in path)


def _line(name: str, value: Json) -> str:
    return f"{name} = {_value(value)}"


def _value(value: Json) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    # JSON's escapes are TOML's, but for the one control character that JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
