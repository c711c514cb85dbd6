"""Draw docs/architecture.svg: the packages by layer, and which imports which.

Layers come from the import contract in pyproject.toml, arrows from the import statements (lazy ones
too), descriptions from each package's docstring. Imports of `core` are left out: everybody has one.
`scripts.generate_docs` writes the file and checks that it is fresh.
"""

from __future__ import annotations

import ast
import tomllib
from html import escape
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "packages" / "wellkept" / "src" / "wellkept"
_BOX_WIDTH, _BOX_HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 270, 74, 34, 46, 30
_LINE_CHARS, _LINES = 40, 2


def layers() -> list[list[str]]:
    """Packages by layer, top first, as the import contract has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for contract in contracts["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers":
            names = [[name.strip(" ()") for name in row.split("|")] for row in contract["layers"]]
            return [[name for name in row if (PACKAGE / name).is_dir()] for row in names]
    raise SystemExit("pyproject.toml has no layers contract.")


def imports() -> set[tuple[str, str]]:
    """Which package imports which other one."""
    found: set[tuple[str, str]] = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.relative_to(PACKAGE).parts[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            for name in _imported(node):
                parts = name.split(".")
                if len(parts) > 1 and parts[0] == "wellkept" and parts[1] != source:
                    found.add((source, parts[1]))
    return found


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        if node.module == "wellkept":
            return [f"wellkept.{alias.name}" for alias in node.names]
        return [node.module]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def description(package: str) -> str:
    """The first sentence of a package's docstring."""
    source = (PACKAGE / package / "__init__.py").read_text("utf-8")
    text = " ".join((ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".")


def draw() -> str:
    """The picture as SVG."""
    rows = layers()
    width = max(len(row) for row in rows) * (_BOX_WIDTH + _GAP_X) - _GAP_X + 2 * _MARGIN
    height = len(rows) * (_BOX_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _MARGIN
    boxes = _places(rows, width)
    arrows = [
        _arrow(boxes[source], boxes[target])
        for source, target in sorted(imports())
        if source in boxes and target in boxes and target != "core"
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            ' font-family="system-ui, sans-serif" role="img"'
            ' aria-label="Packages of Wellkept by layer, with their imports">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
            ' markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#8a94a6"/></marker>'
            "</defs>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *arrows,
            *(_box(name, *place) for name, place in boxes.items()),
            "</svg>",
            "",
        ]
    )


def _places(rows: list[list[str]], width: int) -> dict[str, tuple[int, int]]:
    places: dict[str, tuple[int, int]] = {}
    for number, row in enumerate(rows):
        taken = len(row) * (_BOX_WIDTH + _GAP_X) - _GAP_X
        left = (width - taken) // 2
        for column, name in enumerate(row):
            x = left + column * (_BOX_WIDTH + _GAP_X)
            places[name] = (x, _MARGIN + number * (_BOX_HEIGHT + _GAP_Y))
    return places


def _box(name: str, x: int, y: int) -> str:
    lines = wrap(
        description(name).replace("`", ""), _LINE_CHARS, max_lines=_LINES, placeholder=" …"
    )
    text = "".join(
        f'<text x="{x + 12}" y="{y + 44 + 16 * number}" font-size="11" fill="#4a5568">'
        f"{escape(line)}</text>"
        for number, line in enumerate(lines)
    )
    return (
        f'<g><rect x="{x}" y="{y}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="8"'
        ' fill="#f5f7fa" stroke="#3b4a63"/>'
        f'<text x="{x + 12}" y="{y + 24}" font-size="15" font-weight="600" fill="#1c2536">'
        f"{escape(name)}</text>"
        f"{text}</g>"
    )


def _arrow(source: tuple[int, int], target: tuple[int, int]) -> str:
    (x1, y1), (x2, y2) = source, target
    start_x, end_x = x1 + _BOX_WIDTH // 2, x2 + _BOX_WIDTH // 2
    start_y, end_y = y1 + _BOX_HEIGHT, y2
    bend = (start_y + end_y) // 2
    return (
        f'<path d="M{start_x} {start_y} C{start_x} {bend} {end_x} {bend} {end_x} {end_y}"'
        ' fill="none" stroke="#8a94a6" stroke-opacity="0.55" marker-end="url(#tip)"/>'
    )
