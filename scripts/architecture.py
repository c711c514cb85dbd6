"""Draw docs/architecture.svg: rooms and distributions by layer, and what each imports.

Layers come from the import contracts in pyproject.toml, imports from the import statements (lazy
ones too), descriptions from each package's docstring. Imports of `core` are left out: everybody has
one. `scripts.generate_docs` writes the file and checks that it is fresh.
"""

from __future__ import annotations

import ast
import tomllib
from html import escape
from pathlib import Path
from textwrap import shorten, wrap

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ROOT / "packages" / "wellkept" / "src" / "wellkept"
_WIDTH, _BOX_HEIGHT, _GAP, _MARGIN = 940, 84, 12, 24
_CHAR_WIDTH = 5.8  # of the small text, on average


def layers() -> list[list[str]]:
    """Distributions and rooms by layer, top first, as the import contracts have them."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    rows = [row for one in contracts if one["type"] == "layers" for row in one["layers"]]
    named = [[name.strip(" ()") for name in row.split("|")] for row in rows]
    drawn = [[name for name in row if _is_drawn(name)] for row in named]
    return [row for row in drawn if row]


def _is_drawn(name: str) -> bool:
    return name not in ("wellkept", "testing") and folder(name).is_dir()


def folder(name: str) -> Path:
    """The sources of a room, or of a package beside `wellkept`."""
    return next(ROOT.glob(f"packages/*/src/{name}"), ROOMS / name)


def imports(name: str) -> list[str]:
    """The rooms that a room or distribution imports, top first; without `core`."""
    found: set[str] = set()
    for path in folder(name).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            found |= {one.split(".")[1] for one in _imported(node) if one.startswith("wellkept.")}
    order = [room for row in layers() for room in row]
    return [room for room in order if room in found - {name, "core"}]


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        if node.module == "wellkept":
            return [f"wellkept.{alias.name}" for alias in node.names]
        return [node.module]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def description(name: str) -> str:
    """The first sentence of a package's docstring."""
    source = (folder(name) / "__init__.py").read_text("utf-8")
    text = " ".join((ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".")


def draw() -> str:
    """The picture as SVG."""
    rows = layers()
    height = len(rows) * (_BOX_HEIGHT + _GAP) - _GAP + 2 * _MARGIN
    boxes = [
        _box(name, column, len(row), _MARGIN + number * (_BOX_HEIGHT + _GAP))
        for number, row in enumerate(rows)
        for column, name in enumerate(row)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"'
            ' font-family="system-ui, sans-serif" role="img"'
            ' aria-label="Rooms and distributions of Wellkept by layer, with their imports">',
            f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
            *boxes,
            "</svg>",
            "",
        ]
    )


def _box(name: str, column: int, columns: int, y: int) -> str:
    width = (_WIDTH - 2 * _MARGIN - (columns - 1) * _GAP) // columns
    x = _MARGIN + column * (width + _GAP)
    chars = int((width - 24) / _CHAR_WIDTH)
    used = imports(name)
    said = shorten(description(name).replace("`", ""), chars, placeholder=" …")
    listed = wrap(f"imports {', '.join(used)}", chars) if used else []
    lines = [
        _text(x + 12, y + 42 + 16 * number, 11, line) for number, line in enumerate([said, *listed])
    ]
    return (
        f'<g><rect x="{x}" y="{y}" width="{width}" height="{_BOX_HEIGHT}" rx="8"'
        f' fill="#f5f7fa" stroke="#3b4a63"/>{_text(x + 12, y + 24, 15, name)}{"".join(lines)}</g>'
    )


def _text(x: int, y: int, size: int, text: str) -> str:
    look = 'font-weight="600" fill="#1c2536"' if size > 11 else 'fill="#4a5568"'
    return f'<text x="{x}" y="{y}" font-size="{size}" {look}>{escape(text)}</text>'
