"""Record docs/images/tour.svg: real commands in a real terminal, as a moving picture.

    python -m scripts.record_tour             record anew and write the picture
    python -m scripts.record_tour --check     fail when the picture is not what would be recorded

The commands run one after the other in a pseudo-terminal, in a small project made for it, with a
home of their own. What they print is read from the screen, with its colours. Only ids and dates are
replaced by fixed ones, so that two recordings are the same, byte for byte.

The picture is one SVG file without script: each line appears at its moment, typed lines grow letter
by letter. Who asked their system for less motion sees the whole at once.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any, Final

import pexpect
import pyte

ROOT: Final = Path(__file__).resolve().parent.parent
PICTURE: Final = ROOT / "docs" / "images" / "tour.svg"
COLUMNS: Final = 96
# Higher than any single output: a screen is read after each command and never scrolls.
ROWS: Final = 60

REMARK, COMMAND = "remark", "command"
SCRIPT: Final = (
    (REMARK, "# In your project: read what it says about itself"),
    (COMMAND, "wellkept init"),
    (COMMAND, 'wellkept recall "how do I run one test file?" --limit 1'),
    (REMARK, "# You correct your agent, once, in plain words"),
    (COMMAND, 'wellkept remember --apply "no, we use pnpm here, not npm"'),
    (REMARK, "# Things change: the old belief is closed, and stays in the history"),
    (COMMAND, 'wellkept remember "The API server listens on port 8080"'),
    (COMMAND, 'wellkept remember "The API server listens on port 9090"'),
    (REMARK, "# The next session, in any client, begins with this"),
    (COMMAND, "wellkept context --moment session"),
)
PROJECT: Final = {
    "README.md": "# Shop\n\nSells fruit, and keeps a ledger.\n\n## Tests\n\n"
    "Run `make test`; one file: `make test FILE=tests/test_ledger.py`.\n",
    "src/ledger.py": "def total(rows):\n    return sum(rows)\n",
    "Makefile": "test:\n\t@python -m pytest $(FILE)\n",
}
FIXED_DATE: Final = "2026-12-01"
FIXED_IDS: Final = (
    *("7k2mx9qa", "c4t8ezw1", "hn5rv3yd", "pb6gs0jf", "w9a3dk7x", "e1yq5zmt", "r8vf2cnh"),
    *("2dj4wq8s", "t6mz1kxa", "9fhc3evp", "y0gn7rbk", "q5xs2tda", "k3wv8ehz", "m7pj4cyf"),
)

# Seconds.
TYPING, AFTER_TYPING, AFTER_OUTPUT, AFTER_REMARK, AT_THE_END = 0.030, 0.35, 1.1, 0.55, 7.0
LINE_DELAY: Final = 0.05
# Pixels.
CHAR, LINE, PAD, BAR, FONT = 8.4, 19, 18, 34, 14
INK: Final = {
    "default": "#d7dde5",
    "black": "#6b7684",
    "red": "#ff8b7e",
    "green": "#7ee2a8",
    "brown": "#f2cf74",
    "blue": "#86b7ff",
    "magenta": "#d9a6ff",
    "cyan": "#6fdbe0",
    "white": "#ffffff",
}
PROMPT_INK, REMARK_INK, TYPED_INK = "#56d4a0", "#8593a3", "#ffffff"


@dataclass(frozen=True)
class Run:
    """A piece of a line in one colour."""

    column: int
    text: str
    ink: str
    bold: bool = False


@dataclass(frozen=True)
class Line:
    """A line of the picture, and when it appears. A typed one grows for `typing_s`."""

    runs: tuple[Run, ...]
    at_s: float
    typing_s: float = 0.0


def record() -> list[tuple[str, str, list[tuple[Run, ...]]]]:
    """Run the script for real; returns each step with the lines that it printed."""
    with tempfile.TemporaryDirectory(prefix="wellkept-tour-") as folder:
        project, environment = _project(Path(folder))
        steps = [
            (kind, text, _run(text, project, environment) if kind == COMMAND else [])
            for kind, text in SCRIPT
        ]
        known = _ids(project, environment)
    return [(kind, text, [_stable(line, known) for line in lines]) for kind, text, lines in steps]


def _project(folder: Path) -> tuple[Path, dict[str, str]]:
    project = folder / "shop"
    for name, text in PROJECT.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, "utf-8")
    as_somebody = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com"]
    said = "ledger: sum integer cents, floats lost a cent in May"
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        [*as_somebody, "commit", "-qm", said],
    ):
        subprocess.run(["git", *words], cwd=project, check=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WELLKEPT_")}
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return project, kept | {
        "PATH": programs,
        "WELLKEPT_HOME": str(folder / "home"),
        "WELLKEPT_EMBEDDING_PROVIDER": "static",
        "TERM": "xterm-256color",
        "COLUMNS": str(COLUMNS),
        "LINES": str(ROWS),
    }


def _run(line: str, project: Path, environment: dict[str, str]) -> list[tuple[Run, ...]]:
    """Run one command in a terminal of its own; the lines on its screen at the end."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    start: Any = pexpect.spawn  # pyright: ignore[reportUnknownMemberType]
    child = start(
        "sh",
        ["-c", line],
        cwd=str(project),
        env=environment,
        dimensions=(ROWS, COLUMNS),
        timeout=60,
    )
    child.expect(pexpect.EOF)
    child.close()
    if child.exitstatus:
        raise SystemExit(f"«{line}» ended with {child.exitstatus}.")
    stream.feed((child.before or b"").decode("utf-8"))
    rows = [_runs(screen, row) for row in range(ROWS)]
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _runs(screen: pyte.Screen, row: int) -> tuple[Run, ...]:
    """A row of the screen as pieces of one colour each."""
    cells = [screen.buffer[row][column] for column in range(COLUMNS)]
    found: list[Run] = []
    for column, cell in enumerate(cells):
        ink = INK.get(cell.fg, INK["default"])
        last = found[-1] if found else None
        if last and (last.ink, last.bold) == (ink, cell.bold):
            found[-1] = Run(last.column, last.text + cell.data, ink, last.bold)
        else:
            found.append(Run(column, cell.data, ink, cell.bold))
    return tuple(
        Run(run.column, run.text.rstrip(), run.ink, run.bold) for run in found if run.text.strip()
    )


def _ids(project: Path, environment: dict[str, str]) -> list[str]:
    """The short ids of this recording, oldest first."""
    line = ["wellkept", "list", "--validity", "any", "--limit", "50", "--json"]
    done = subprocess.run(line, cwd=project, env=environment, check=True, capture_output=True)
    found = [one["short"] for one in reversed(json.loads(done.stdout)["items"])]
    if len(found) > len(FIXED_IDS):
        raise SystemExit(f"{len(found)} memories, but only {len(FIXED_IDS)} fixed ids; add some.")
    return found


def _stable(line: Sequence[Run], known: list[str]) -> tuple[Run, ...]:
    """The line with fixed ids and dates, of the same length."""
    today = datetime.now(UTC).date().isoformat()

    def fixed(text: str) -> str:
        for short, fixed_id in zip(known, FIXED_IDS, strict=False):
            text = text.replace(short, fixed_id)
        return text.replace(today, FIXED_DATE)

    return tuple(Run(run.column, fixed(run.text), run.ink, run.bold) for run in line)


def timed(steps: Sequence[tuple[str, str, list[tuple[Run, ...]]]]) -> tuple[list[Line], float]:
    """All lines with their moments, and how long the whole takes."""
    lines: list[Line] = []
    now = 0.0
    for kind, text, printed in steps:
        if kind == REMARK:
            if lines:
                lines.append(Line((), now))
            lines.append(Line((Run(0, text, REMARK_INK),), now))
            now += AFTER_REMARK
            continue
        typing = TYPING * len(text)
        runs = (Run(0, "$", PROMPT_INK, bold=True), Run(2, text, TYPED_INK))
        lines.append(Line(runs, now, typing))
        now += typing + AFTER_TYPING
        for one in printed:
            lines.append(Line(one, now))
            now += LINE_DELAY
        now += AFTER_OUTPUT
    return lines, round(now + AT_THE_END, 2)


def draw(lines: Sequence[Line], total_s: float) -> str:
    """The picture."""
    width = round(COLUMNS * CHAR + 2 * PAD)
    height = BAR + PAD + LINE * len(lines) + PAD // 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-labelledby="title">',
        '<title id="title">Wellkept in a terminal: a correction is kept, a contradiction closes '
        "the old belief, and the next session begins with both</title>",
        f"<style>{''.join(_styles(lines, total_s))}</style>",
        f'<rect width="{width}" height="{height}" rx="10" fill="#12161c"/>',
        f'<path d="M0 10a10 10 0 0 1 10-10h{width - 20}a10 10 0 0 1 10 10v{BAR - 10}H0z" '
        'fill="#1d242d"/>',
        *(
            f'<circle cx="{20 + 20 * number}" cy="{BAR / 2:g}" r="6" fill="{ink}"/>'
            for number, ink in enumerate(("#ff6b5f", "#f5bf4f", "#57c353"))
        ),
        f'<text x="{width / 2:g}" y="{BAR / 2 + 5:g}" text-anchor="middle" fill="#8593a3" '
        'xml:space="preserve">shop</text>',
        *(_element(number, line) for number, line in enumerate(lines)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _styles(lines: Sequence[Line], total_s: float) -> Iterator[str]:
    fonts = (
        "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
    )
    yield f"text{{font:{FONT}px {fonts}}}"
    yield f".l{{animation:{total_s:g}s linear infinite}}"
    for number, line in enumerate(lines):
        if not line.runs:
            continue
        start = 100 * line.at_s / total_s
        if not start:
            continue
        yield f"#l{number}{{animation-name:l{number}}}"
        yield (
            f"@keyframes l{number}{{0%,{start - 0.01:.2f}%{{opacity:0}}"
            f"{start:.2f}%,100%{{opacity:1}}}}"
        )
        if line.typing_s:
            end = 100 * (line.at_s + line.typing_s) / total_s
            letters = sum(len(run.text) for run in line.runs[1:])
            yield f"#t{number}{{animation:t{number} {total_s:g}s steps({letters},end) infinite}}"
            yield (
                f"@keyframes t{number}{{0%,{start:.2f}%{{transform:scaleX(0)}}"
                f"{end:.2f}%,100%{{transform:scaleX(1)}}}}"
            )
    yield "@media(prefers-reduced-motion:reduce){.l,.t{animation:none!important}}"


def _element(number: int, line: Line) -> str:
    if not line.runs:
        return ""
    y = BAR + PAD + LINE * number + FONT - 4
    texts = "".join(_text(run, y) for run in line.runs)
    if not line.typing_s:
        return f'<g class="l" id="l{number}">{texts}</g>'
    letters = sum(len(run.text) for run in line.runs[1:])
    x = PAD + 2 * CHAR
    clip = (
        f'<clipPath id="c{number}"><rect class="t" id="t{number}" x="{x:g}" y="{y - FONT}" '
        f'width="{letters * CHAR + 1:.1f}" height="{LINE}" '
        f'style="transform-origin:{x:g}px 0"/></clipPath>'
    )
    typed = "".join(_text(run, y) for run in line.runs[1:])
    return (
        f'{clip}<g class="l" id="l{number}">{_text(line.runs[0], y)}'
        f'<g clip-path="url(#c{number})">{typed}</g></g>'
    )


def _text(run: Run, y: float) -> str:
    lead = len(run.text) - len(run.text.lstrip())
    shown = run.text.strip()
    weight = ' font-weight="600"' if run.bold else ""
    return (
        f'<text x="{PAD + (run.column + lead) * CHAR:g}" y="{y}" fill="{run.ink}"{weight} '
        f'textLength="{len(shown) * CHAR:.1f}" lengthAdjust="spacingAndGlyphs" '
        f'xml:space="preserve">{escape(shown, quote=False)}</text>'
    )


def commands_in(picture: str) -> list[str]:
    """The typed lines of a picture."""
    shown = re.findall(rf'fill="{TYPED_INK}"[^>]*>([^<]*)<', picture)
    return [line.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") for line in shown]


def main(arguments: Sequence[str]) -> int:
    """Record, then write or compare."""
    picture = draw(*timed(record()))
    if "--check" in arguments:
        is_fresh = PICTURE.exists() and PICTURE.read_text("utf-8") == picture
        print("" if is_fresh else "stale: docs/images/tour.svg; run python -m scripts.record_tour")
        return 0 if is_fresh else 1
    PICTURE.write_text(picture, "utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {len(picture):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
