"""Read the pages: their code blocks by language, and their command lines."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
READMES = ("README.md", "README.zh.md", "README.ja.md")
_BLOCK = re.compile(r"^( *)```([a-z]*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
SHELLS = frozenset({"sh", "shell", "bash", "console", ""})


def pages() -> list[str]:
    """Every page that people read, relative to the repository."""
    named = [path.relative_to(ROOT).as_posix() for path in sorted(DOCS.rglob("*.md"))]
    others = ["CONTRIBUTING.md", "SECURITY.md", "examples/README.md", *READMES]
    apart = [
        path.relative_to(ROOT).as_posix()
        for pattern in ("plugins/*/*.md", "packages/*/README.md")
        for path in sorted(ROOT.glob(pattern))
    ]
    return [*named, *others, *apart, "examples/plugin-template/README.md"]


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """The code blocks of a page as (language, text)."""
    text = (ROOT / page).read_text("utf-8")
    for indent, language, body in _BLOCK.findall(text):
        yield language, textwrap.dedent(body) if indent else body


def command_lines(page: str) -> Iterator[str]:
    """The lines of a page's shell blocks that call `wellkept`, without prompt and remark."""
    for language, body in blocks(page):
        if language not in SHELLS:
            continue
        for line in body.replace("\\\n", " ").splitlines():
            said = re.sub(r"^\$ ", "", line)
            if re.match(r"(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?wellkept(?: |$)", said):
                yield re.sub(r"\s+#(?: .*)?$", "", said)


def words_of(line: str) -> list[str]:
    """A command line as the words after `wellkept`."""
    words = shlex.split(line)
    start = next(number for number, word in enumerate(words) if word.endswith("wellkept"))
    return words[start + 1 :]
