"""The README in three languages: short, with the same commands, true badges and figures, whole links."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

import pytest

from tests.docs.pages import READMES, ROOT, blocks

pytestmark = pytest.mark.feature("I4")

TOP_PAGES = sorted(path.name for path in ROOT.glob("*.md"))


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def commands(name: str) -> list[str]:
    """What a reader would type, from all shell blocks."""
    found: list[str] = []
    for language, body in blocks(name):
        for line in body.splitlines():
            if language == "sh" and line.strip():
                found.append(line)
            elif line.startswith("$ "):
                found.append(line.removeprefix("$ "))
    return found


def test_it_is_short_and_says_what_it_is_in_two_lines() -> None:
    lines = text("README.md").splitlines()
    assert len(lines) < 200
    title = lines.index("# Wellkept")
    said = lines[title + 2 : lines.index("", title + 2)]
    assert len(said) == 2
    assert "memory for coding agents" in said[0]


@pytest.mark.parametrize("name", READMES[1:])
def test_a_translation_has_the_same_commands(name: str) -> None:
    english = commands("README.md")
    translated = commands(name)
    assert len(translated) > 10
    assert [line for line in translated if line not in english] == []
    install = [line for line in english if "install" in line or line.startswith("make ")]
    assert set(install) <= set(translated)
    python = [body for language, body in blocks("README.md") if language == "python"]
    assert [body for language, body in blocks(name) if language == "python"] == python


@pytest.mark.parametrize("name", READMES[1:])
def test_a_translation_has_the_same_figures_and_pictures(name: str) -> None:
    english = text("README.md")
    for figure in re.findall(r"\d+\.\d+ %", text(name)):
        assert figure in english
    assert set(re.findall(r"docs/images/[\w.-]+", text(name))) <= set(
        re.findall(r"docs/images/[\w.-]+", english)
    )
    for other in READMES:
        assert other == name or f"({other})" in text(name)


def test_figures_are_those_of_the_benchmarks() -> None:
    measured = text("docs/benchmarks.md") + text("docs/decisions/ranking.md")
    table = text("README.md").partition("## Figures, with the gaps")[2].partition("\n\n## ")[0]
    figures = re.findall(r"\d+\.\d+", table)
    assert len(figures) > 8
    for figure in figures:
        assert re.search(rf"(?<![\d.]){re.escape(figure)}(?!\d)", measured), figure


def test_badges_say_what_is_true() -> None:
    project = tomllib.loads(text("packages/wellkept/pyproject.toml"))["project"]
    pythons = [name.rpartition(" ")[2] for name in project["classifiers"] if ":: 3." in name]
    assert " | ".join(pythons) in text("docs/images/badge-python.svg")
    assert project["license"] in text("docs/images/badge-licence.svg")
    badges = re.findall(r"!\[[^\]]*\]\(([^)]*badge[^)]*)\)", text("README.md"))
    assert all(badge.startswith("docs/images/") for badge in badges), "none asks another server"


def links(name: str) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)\s]+)\)", text(name)):
        if not re.match(r"[a-z]+:", target) and not target.startswith("#"):
            yield target.partition("#")[0]


@pytest.mark.parametrize("name", [*TOP_PAGES, "examples/README.md"])
def test_every_link_of_a_page_outside_the_site_leads_somewhere(name: str) -> None:
    folder = (ROOT / name).parent
    for target in links(name):
        assert (folder / target).exists(), f"{name}: {target}"
