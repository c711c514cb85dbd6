"""The site: builds strictly, fetches nothing from elsewhere, and every page says what one can do."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from scripts.docs_links import outside_links, repository
from tests.docs.pages import DOCS, ROOT

pytestmark = pytest.mark.feature("I4")


class Fetched(HTMLParser):
    """What a browser fetches for a page by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("script", "img", "iframe", "source", "video"):
            self.addresses.append(given.get("src", ""))
        if tag == "link" and given.get("rel") not in ("canonical", "edit", "next", "prev"):
            self.addresses.append(given.get("href", ""))


def test_the_site_builds_strictly_and_fetches_nothing_from_elsewhere(tmp_path: Path) -> None:
    out = tmp_path / "site"
    line = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    read = 0
    for page in out.rglob("*.html"):
        text = page.read_text("utf-8")
        seen = Fetched()
        seen.feed(text)
        assert not [one for one in seen.addresses if one.startswith(("http", "//"))], page
        # The theme asks the code host for stars, and loads a drawing library, for these two.
        assert 'data-md-component="source"' not in text
        assert 'class="mermaid"' not in text
        read += 1
    assert read > 60
    for sheet in out.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//", sheet.read_text("utf-8")), sheet


def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Home\n\n[gone](gone.md)\n", "utf-8")
    settings = (ROOT / "mkdocs.yml").read_text("utf-8").partition("nav:\n  - index.md")[0]
    settings = settings.replace("  - scripts/docs_links.py", "").replace("hooks:", "hooks: []")
    (tmp_path / "mkdocs.yml").write_text(settings, "utf-8")
    line = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "gone.md" in done.stdout + done.stderr


def test_links_out_of_the_docs_become_addresses() -> None:
    page = DOCS / "guides" / "rules.md"
    text = "[s](../../SECURITY.md#x) [c](corrections.md) [n](../../gone.md) [e](../../examples)"
    address = repository()
    assert outside_links(text, page, repository=address) == (
        f"[s]({address}/blob/main/SECURITY.md#x) [c](corrections.md) [n](../../gone.md)"
        f" [e]({address}/tree/main/examples)"
    )


PAGES = [
    path.relative_to(DOCS).as_posix()
    for path in sorted(DOCS.rglob("*.md"))
    if path.parent.name != "decisions"
]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_starts_with_what_you_can_do(page: str) -> None:
    title, lead = (DOCS / page).read_text("utf-8").split("\n\n")[:2]
    assert title.startswith("# ")
    assert lead.startswith("You can ")


def checks_of(path: Path) -> set[str]:
    """The names of doctor's checks in a module: the first word of each finding it makes."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        first = node.args[0]
        if name in ("Finding", "_error", "_warning") and isinstance(first, ast.Constant):
            found.add(str(first.value))
    return found


def test_troubleshooting_has_every_finding_of_doctor() -> None:
    text = (DOCS / "troubleshooting.md").read_text("utf-8")
    table = text.partition("| check |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:] if line.startswith("|")]
    listed = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    source = ROOT / "packages" / "wellkept" / "src" / "wellkept"
    named = checks_of(source / "api/maintenance/doctor.py") | {"text model"}
    named |= checks_of(source / "store/sqlite/checks.py") | {"words", "fragments"}
    assert {"settings", "spool", "damage", "labels"} <= named
    assert named - listed == set(), "doctor finds what the page does not explain"
    assert listed - named == set(), "the page explains what doctor never finds"
