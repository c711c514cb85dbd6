"""Read, write and remove one table of a TOML file that people edit by hand.

tomlkit keeps the layout of the rest. Two things are done around it: added lines get the file's line
ends, and comments in front of the next table stay with that table (tomlkit counts them to the table
above, and deletes them with it). Invariant: the result parses to the old content plus or minus
exactly that table. Otherwise ConflictError, and nothing is written.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from wellkept.clients.install.jsonc import Json, ParseError
from wellkept.core.errors import ConflictError

if TYPE_CHECKING:
    from tomlkit.items import Table

# Cannot occur in TOML: marks where a table begins and ends in the written text.
_MARK = "\x00"


def table(text: str, path: Sequence[str]) -> dict[str, Json] | None:
    """The table at a path of keys; None when there is none."""
    found: object = _read(text)
    for key in path:
        found = cast("dict[str, object]", found).get(key) if isinstance(found, dict) else None
    return cast("dict[str, Json]", found) if isinstance(found, dict) else None


def with_table(text: str, path: Sequence[str], fields: Mapping[str, Json]) -> str:
    """The text with these fields in the table; a new table goes to the end of the file."""
    newline = "\r\n" if "\r\n" in text else "\n"
    edited: str | None = None
    if table(text, path) is None:
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        edited = text + gap + _new_table(path, fields).replace("\n", newline)
    if edited is None or _read_or_none(edited) is None:
        # There is such a table, or it has to go into an inline table.
        complete = text if text.endswith("\n") else text + newline
        edited = _changed(complete, path, fields, newline=newline)
    return _checked(text, edited, path, fields)


def without_table(text: str, path: Sequence[str]) -> str:
    """The text without the table and its sub-tables; comments after it stay."""
    return _checked(text, _removed(text, path), path, None)


# -- Editing --------------------------------------------------------------------------------------


def _new_table(path: Sequence[str], fields: Mapping[str, Json]) -> str:
    import tomlkit

    inner = tomlkit.table()
    for name, value in fields.items():
        inner.append(name, value)
    for key in reversed(path[1:]):
        outer = tomlkit.table(is_super_table=True)
        outer.append(key, inner)
        inner = outer
    return tomlkit.document().append(path[0], inner).as_string()


def _changed(text: str, path: Sequence[str], fields: Mapping[str, Json], *, newline: str) -> str:
    """The text with fields of an existing table set, or an inline table added to its parent."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import Table

    document = tomlkit.parse(text)
    try:
        parent = _at(document, path[:-1])
        if path[-1] not in parent:
            parent[path[-1]] = tomlkit.inline_table()
        target = parent[path[-1]]
        comments = _detach_comments(target) if isinstance(target, Table) else []
        for name, value in fields.items():
            is_new = name not in target
            if is_new or target[name] != value:
                target[name] = value
            if is_new and isinstance(target, Table):
                target[name].trivia.trail = newline
        if isinstance(target, Table):
            target.value.body.extend(comments)
    except (TOMLKitError, ValueError, TypeError, KeyError, AttributeError):
        raise _conflict(path) from None
    return document.as_string()


def _removed(text: str, path: Sequence[str]) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import Comment, Table, Trivia

    document = tomlkit.parse(text)
    try:
        parent = _at(document, path[:-1])
        target = parent[path[-1]]
        if not isinstance(target, Table):
            del parent[path[-1]]
            edited = document.as_string()
            if edited.count("#") < text.count("#"):
                raise _conflict(path)  # tomlkit may have deleted comments of other tables
            return edited
        last = target
        while last.value.body and isinstance(inner := last.value.body[-1][1], Table):
            last = inner
        comments = "".join(item.as_string() for _, item in _detach_comments(last))
        target.trivia.indent = _MARK
        last.value.body.append((None, Comment(Trivia(comment=_MARK, trail="\n"))))
    except (TOMLKitError, ValueError, TypeError, KeyError, AttributeError):
        raise _conflict(path) from None
    before, _, rest = document.as_string().partition(_MARK)
    # The empty line that was added before it goes too.
    if before.endswith(("\n\n", "\r\n\r\n")):
        before = before[: -2 if before.endswith("\r\n") else -1]
    return before + comments + rest.partition(_MARK + "\n")[2]


def _at(document: Any, path: Sequence[str]) -> Any:
    for key in path:
        document = document[key]
    return document


def _detach_comments(target: Table) -> list[Any]:
    """Take the comments and empty lines at the end of a table out of it."""
    body: list[Any] = target.value.body
    end = len(body)
    while end and body[end - 1][0] is None:
        end -= 1
    comments = body[end:]
    del body[end:]
    return comments


# -- Reading and checking -------------------------------------------------------------------------


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParseError(str(error).rstrip(".")) from None


def _read_or_none(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _checked(text: str, edited: str, path: Sequence[str], fields: Mapping[str, Json] | None) -> str:
    """The edited text, if it means what it should."""
    if _without(_read_or_none(edited), path) == _without(_read(text), path):
        found = table(edited, path)
        if found == fields or (found and fields and fields.items() <= found.items()):
            return edited
    raise _conflict(path)


def _conflict(path: Sequence[str]) -> ConflictError:
    return ConflictError(
        f"The table {'.'.join(path)} cannot be edited safely as it is written.",
        hint="Remove it by hand, then try again.",
    )


def _without(tree: dict[str, Any] | None, path: Sequence[str]) -> dict[str, Any] | None:
    """The content apart from the table and from parents that hold nothing else."""
    if tree is None or path[0] not in tree:
        return tree
    if len(path) == 1:
        return {key: value for key, value in tree.items() if key != path[0]}
    inner = tree[path[0]]
    is_table = isinstance(inner, dict)
    rest = _without(cast("dict[str, Any]", inner), path[1:]) if is_table else inner
    others = {key: value for key, value in tree.items() if key != path[0]}
    return others | ({path[0]: rest} if rest else {})
