"""Which module a file counts to, for everything that is counted by module.

Apart from other records because every answer about a file asks this, and should load nothing else.
"""

from __future__ import annotations

MODULE_DEPTH = 3


def module_of(path: str) -> str:
    """The module that a file counts to: its folder, at most three levels deep; "." at the top."""
    folders = path.replace("\\", "/").split("/")[:-1]
    return "/".join(folders[:MODULE_DEPTH]) or "."
