"""Documents in three markups are pointed to by path and heading, bounded (I1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from wellkept.core.types import MemoryType
from wellkept.project.repository.documents import (
    MAX_PAGES,
    MAX_SECTIONS,
    document_statements,
    is_document,
)
from wellkept.project.repository.project_files import ProjectFiles
from wellkept.project.repository.sections import digest, document_sections

pytestmark = pytest.mark.feature("I1", "A11")

RST = """
=======
Hacking
=======

.. _setup:

Setting up
----------

Install it in a virtual environment::

    pip install -e .
    pytest

Style
~~~~~

Use ``black`` and see :ref:`the rules <rules>`.
"""

ADOC = """
= Releasing

Once a month.

== Steps

. Tag it.

----
git tag v1
# not a heading
----
"""


def said(path: str, text: str) -> list[tuple[tuple[str, ...], str, str]]:
    found = [digest(section) for section in document_sections(path, text)]
    return [(one.titles, one.lead, one.code) for one in found if not one.is_empty]


def statements(root: Path, files: dict[str, str]) -> dict[str, str]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return {one.key: one.text for one in document_statements(ProjectFiles(root, files))}


def test_restructured_text_keeps_headings_and_code():
    assert said("docs/hacking.rst", RST) == [
        (
            ("Hacking", "Setting up"),
            "Install it in a virtual environment:",
            "pip install -e .\npytest",
        ),
        (("Hacking", "Setting up", "Style"), "Use `black` and see the rules.", ""),
    ]


def test_asciidoc_keeps_headings_and_code():
    assert said("RELEASING.adoc", ADOC) == [
        (("Releasing",), "Once a month.", ""),
        (("Releasing", "Steps"), ". Tag it.", "git tag v1\n# not a heading"),
    ]


def test_code_in_markdown_stays_whole_and_noise_is_dropped():
    text = (
        "---\ntitle: x\n---\n[![b](https://ci.example/b.svg)](https://ci.example)\n\n# Long\n\n"
        "<!-- hidden -->\nUse [the tool](https://x.example).\n\n```sh\n# set up\nmake a\n\nmake b\n```\n"
    )
    assert said("README.md", text) == [(("Long",), "Use the tool.", "# set up\nmake a\n\nmake b")]


def test_a_code_block_that_is_too_long_is_left_to_the_document():
    (one,) = said("README.md", "# A\n\nSee below.\n\n```\n" + "x = 1\n" * 200 + "```\n")
    assert one == (("A",), "See below.", "")


def test_a_guide_gives_one_statement_with_its_headings(tmp_path: Path):
    found = statements(
        tmp_path,
        {"docs/plugins.md": "# Plugins\n\nHow to write one of your own.\n\n## Hooks\n\nx\n"},
    )
    assert found == {
        "page:docs/plugins.md": "docs/plugins.md documents Plugins: How to write one of your own."
        " Sections: Hooks."
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "!!! warning\n    {0}\n\nMore.\n"),
        ("a.md", "> [!WARNING]\n> {0}\n\nMore.\n"),
        ("a.md", "> #### Watch out {{: .warning}}\n>\n> {0}\n\nMore.\n"),
        ("a.md", "::: caution\n{0}\n:::\nMore.\n"),
        ("a.md", "**Warning:** {0}\n\nMore.\n"),
        ("a.rst", ".. warning::\n\n    {0}\n\nMore.\n"),
        ("a.adoc", "WARNING: {0}\n\nMore.\n"),
    ],
)
def test_what_a_page_warns_of_is_a_trap(tmp_path: Path, name: str, text: str):
    warning = "Closing the pool twice loses the rows that wait in it."
    files = {f"docs/{name}": text.format(warning)}
    for path, said in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(said, "utf-8")
    traps = [
        one
        for one in document_statements(ProjectFiles(tmp_path, files))
        if one.type is MemoryType.GOTCHA
    ]
    assert [one.text.endswith(f": {warning}") for one in traps] == [True]


def test_prose_that_begins_with_a_warning_word_is_no_trap(tmp_path: Path):
    found = statements(
        tmp_path, {"docs/a.md": "# A\n\nWarning signs are painted yellow here, always.\n"}
    )
    assert not any(key.startswith("warning:") for key in found)


def test_decision_records_say_what_and_why(tmp_path: Path):
    text = "# 7. Use one queue\n\nStatus: Accepted\n\n## Context\n\nTwo lost jobs.\n\n## Decision\n\nOne queue.\n"
    found = statements(
        tmp_path, {"docs/adr/0007-queue.md": text, "docs/adr/README.md": "# Index\n"}
    )
    assert found["decision:docs/adr/0007-queue.md"] == (
        "Decision (accepted): Use one queue. One queue. Reason: Two lost jobs."
        " See docs/adr/0007-queue.md."
    )


def test_a_change_log_is_named_and_not_stored(tmp_path: Path):
    text = "# Changes\n\n## Unreleased\n\nx\n\n## 4.13.3\n\n- A fix.\n"
    assert statements(tmp_path, {"CHANGELOG.md": text}) == {
        "changelog:CHANGELOG.md": "Changes of each version are recorded in the change log"
        " CHANGELOG.md; its newest entry is “4.13.3”."
    }


def test_however_many_documents_there_are_the_number_of_statements_is_bounded(tmp_path: Path):
    sections = "".join(f"## Part {n}\n\nText of part {n} is here.\n\n" for n in range(400))
    files = {f"docs/contributing/testing{n}/testing.md": f"# T\n\n{sections}" for n in range(8)}
    files |= {f"docs/page{n}.md": "# Page\n\nSome text about a page.\n" for n in range(400)}
    files["CONTRIBUTING.md"] = f"# C\n\n{sections}## Releasing\n\nTag it and push.\n"
    found = statements(tmp_path, files)
    assert len(found) <= MAX_SECTIONS + MAX_PAGES
    assert "doc:CONTRIBUTING.md#releasing" in found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("README.md", True),
        ("README.zh.md", False),
        ("README.中文.md", False),
        ("docs/guide.rst", True),
        ("docs/notes.txt", False),
        ("src/a/README.adoc", True),
        ("src/a/notes.md", False),
        (".github/CONTRIBUTING.md", True),
        (".github/ISSUE_TEMPLATE/bug.md", False),
        ("node_modules/x/README.md", False),
        ("LICENSE.md", False),
        ("requirements-dev.txt", False),
    ],
)
def test_what_counts_as_a_document(name: str, expected: bool):
    assert is_document(name) is expected


def test_rules_of_a_contribution_guide_are_conventions(tmp_path: Path):
    (tmp_path / "CONTRIBUTING.md").write_text("# C\n\n## Style\n\nAlways sort imports.\n", "utf-8")
    (one,) = document_statements(ProjectFiles(tmp_path, ["CONTRIBUTING.md"]))
    assert (one.type, one.text) == (
        MemoryType.CONVENTION,
        "CONTRIBUTING.md › Style: Always sort imports.",
    )
