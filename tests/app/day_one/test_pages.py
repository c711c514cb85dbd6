"""Project pages are rendered from records; an edit of a line corrects its record (I1)."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from wellkept import Wellkept
from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.core.settings.model import Settings
from wellkept.project.pages import PageName, ProjectPage, as_markdown, gives_reason, read_markdown

pytestmark = pytest.mark.feature("I1", "H10")


@pytest.fixture
def wk(tmp_path: Path) -> Wellkept:
    made = GitRepository.create(tmp_path / "shop")
    made.write("Makefile", "test:\n\tpytest\n")
    made.write("src/__init__.py", '"""What a stay costs."""\n')
    made.write("src/prices.py", "def price():\n    return 1\n" * 20)
    made.commit("Start")
    opened = wellkept.open(cwd=made.root, settings=Settings(embedding_provider="none"))
    opened.import_repository()
    return opened


def page(wk: Wellkept, name: PageName) -> ProjectPage:
    (found,) = wk.pages(name.value).pages
    return found


def test_the_layout_has_the_words_of_the_code_with_their_source(wk: Wellkept):
    line = next(one for one in page(wk, PageName.LAYOUT).lines if one.label == "src/")
    assert (line.text, line.source.where) == ("What a stay costs.", "src/__init__.py")


def test_how_the_code_is_laid_out_is_answered_from_the_layout(wk: Wellkept):
    first = wk.recall("How is the code laid out?").hits[0].memory
    assert "src/: What a stay costs." in first.content


def test_a_corrected_folder_is_told_in_the_answer_and_survives_another_import(wk: Wellkept):
    line = next(one for one in page(wk, PageName.LAYOUT).lines if one.label == "src/")
    done = wk.page.edit(line.id, text="Prices by season.", if_updated_at=line.updated_at)
    (wk.root / "src" / "__init__.py").write_text('"""Other words."""\n', "utf-8")
    wk.import_repository()
    texts = [one.text for one in page(wk, PageName.LAYOUT).lines]
    assert "Prices by season." in texts
    assert (
        "src/: Prices by season." in wk.recall("How is the code laid out?").hits[0].memory.content
    )
    assert done.undo_id is not None
    wk.undo(done.undo_id)


def test_a_corrected_command_is_what_the_first_session_is_told(wk: Wellkept):
    line = next(one for one in page(wk, PageName.COMMANDS).lines if one.label == "test")
    wk.page.edit(line.id, text="make quick")
    assert "test: `make quick` (you)" in "\n".join(
        line for one in wk.context(moment="session").sections for line in one.lines
    )


def test_a_line_that_somebody_else_changed_is_a_conflict(wk: Wellkept):
    line = page(wk, PageName.COMMANDS).lines[0]
    wk.page.edit(line.id, text="first")
    with pytest.raises(ConflictError):
        wk.page.edit(line.id, text="second", if_updated_at=line.updated_at)


def test_edits_in_a_file_are_taken_over_and_the_file_is_in_step_again(wk: Wellkept):
    files = wk.page.write()
    path = Path(files.folder) / "commands.md"
    before = path.read_text("utf-8")
    path.write_text(before.replace("make test", "make quick"), "utf-8")
    assert wk.page.write().taken == 1
    assert "make quick" in [one.text for one in page(wk, PageName.COMMANDS).lines]
    assert wk.page.write().taken == 0


def test_a_file_of_older_words_changes_nothing_and_other_words_are_a_conflict(wk: Wellkept):
    path = Path(wk.page.write().folder) / "commands.md"
    old = path.read_text("utf-8")
    line = next(one for one in page(wk, PageName.COMMANDS).lines if one.label == "test")
    wk.page.edit(line.id, text="make quick")
    assert wk.page.write().conflicts == ()
    path.write_text(old.replace("make test", "make slow"), "utf-8")
    (conflict,) = wk.page.write().conflicts
    assert (conflict.yours, conflict.now) == ("make slow", "make quick")
    assert "make slow" in path.read_text("utf-8")


def test_a_page_reads_back_what_it_wrote(wk: Wellkept):
    wk.remember("Round half up.\n\nNever to even: the office checks it.", type="rule")
    for one in wk.pages().pages:
        assert read_markdown(as_markdown(one)) == {
            line.id: line.text or "Says nothing about itself." for line in one.lines
        }


def test_an_unknown_page_names_those_there_are(wk: Wellkept):
    with pytest.raises(NotFoundError, match="no page 'laws'"):
        wk.pages("laws")


def test_rules_that_only_counting_found_are_on_no_page(wk: Wellkept):
    wk.remember("a.py changes with b.py.", type="pattern", source="observer_inferred")
    assert not [one for one in page(wk, PageName.RULES).lines if "a.py" in one.text]


@pytest.mark.parametrize(
    ("message", "is_decision"),
    [
        ("Use UTC everywhere by default\n\nBecause tides were an hour off.", True),
        ("Fix crash, always close the file\n\nBecause it leaked.", False),
        ("Replace the parser\n\nThe new one is in parse.py.", False),
        ("Add a page\n\nBecause people asked.", False),
    ],
)
def test_a_commit_is_a_decision_only_where_it_lays_down_and_says_why(
    message: str, is_decision: bool
):
    assert gives_reason(message) is is_decision
