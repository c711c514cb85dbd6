"""The client's root folders, from its answer to `roots/list`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast
from urllib.parse import unquote, urlsplit


def folders_of(result: object) -> list[Path]:
    """The folders in an answer of any shape; what is not a local folder is left out."""
    if not isinstance(result, Mapping):
        return []
    roots = cast("Mapping[str, object]", result).get("roots")
    if not isinstance(roots, list):
        return []
    uris = (
        cast("Mapping[str, object]", root).get("uri")
        for root in cast("list[object]", roots)
        if isinstance(root, Mapping)
    )
    return [path for uri in uris if isinstance(uri, str) and (path := _path(uri))]


def _path(uri: str) -> Path | None:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
        return None
    local = unquote(parts.path)
    if os.name == "nt":
        from urllib.request import url2pathname  # 14 ms that only Windows needs

        local = url2pathname(parts.path)
    path = Path(local)
    return path if path.is_absolute() else None
