"""Memory as Markdown files: readable, and what is edited in them comes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.memory.exchange_records import memories
from tests.support.samples import Samples
from wellkept.core.changes import Insert, Rescore
from wellkept.core.codec import Json
from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.core.memory import Memory
from wellkept.core.query import Filter
from wellkept.core.types import MemoryType, Scope, Source
from wellkept.memory.edit import revise
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.jsonl import full_export
from wellkept.memory.exchange.markdown_document import (
    MemoryPatch,
    changes_to,
    memory_from_markdown,
    memory_to_markdown,
    read_front_matter,
    split_sections,
    write_front_matter,
)
from wellkept.memory.exchange.markdown_export import INDEX, export_markdown
from wellkept.memory.exchange.markdown_import import MarkdownReport, import_markdown
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("A11")

OPEN = Filter(project="example")


@pytest.fixture
def samples() -> Samples:
    return Samples(seed=5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def memory(engine: Engine, samples: Samples, folder: Path) -> Memory:
    """A decision that has been exported."""
    made = samples.memory(
        "Use PostgreSQL for teams\n\nSQLite stays the default.",
        type=MemoryType.DECISION,
        tags=("database",),
        files=("docs/store.md",),
        key="team-store",
    )
    engine.store.apply([Insert(made, engine.index_entry(made))])
    export_markdown(engine, OPEN, folder)
    return made


def file_of(folder: Path, memory: Memory) -> Path:
    return next(folder.glob(f"*/*-{memory.short}.md"))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def read(engine: Engine, folder: Path, *, dry_run: bool = False) -> MarkdownReport:
    return import_markdown(engine, folder, project="example", dry_run=dry_run)


def counts(report: MarkdownReport) -> tuple[int, int, int, int]:
    return (report.new, report.corrected, report.updated, report.unchanged)


def open_contents(engine: Engine) -> set[str]:
    return {memory.content for memory in engine.store.iterate(OPEN)}


# -- Writing --------------------------------------------------------------------------------------


def test_a_memory_is_a_readable_file_in_the_folder_of_its_type(folder: Path, memory: Memory):
    path = folder / "decision" / f"use-postgresql-for-teams-{memory.short}.md"
    text = path.read_text(encoding="utf-8")
    assert text.endswith("---\n\nUse PostgreSQL for teams\n\nSQLite stays the default.\n")
    front, _ = read_front_matter(text)
    assert (front["id"], front["type"], front["tags"]) == (memory.id, "decision", ["database"])
    index = (folder / INDEX).read_text(encoding="utf-8")
    assert f"(decision/{path.name}) `{memory.id}`" in index


def test_an_export_refuses_a_folder_in_use_unless_asked(
    engine: Engine, folder: Path, memory: Memory
):
    with pytest.raises(ConflictError, match="not empty"):
        export_markdown(engine, OPEN, folder)
    mine = folder / "mine.md"
    mine.write_text("my own note")
    revise(engine, memory.id, MemoryPatch(content="Use MySQL for teams"))
    assert export_markdown(engine, OPEN, folder, overwrite=True) == 1
    names = sorted(path.name for path in folder.rglob("*.md"))
    assert len(names) == 3
    assert mine.read_text() == "my own note"
    assert any(name.startswith("use-mysql") for name in names)


def test_an_export_is_the_same_text_every_time(engine: Engine, folder: Path, memory: Memory):
    before = {path: path.read_bytes() for path in folder.rglob("*.md")}
    export_markdown(engine, OPEN, folder, overwrite=True)
    assert {path: path.read_bytes() for path in folder.rglob("*.md")} == before


def test_a_closed_memory_says_so_and_an_edit_of_it_is_not_applied(
    engine: Engine, folder: Path, memory: Memory
):
    new = revise(engine, memory.id, MemoryPatch(content="Use MySQL for teams"))
    export_markdown(engine, full_export("example"), folder, overwrite=True)
    path = file_of(folder, memory)
    front, _ = read_front_matter(path.read_text())
    assert front["superseded_by"] == new.id
    assert f"{path.name}) (no longer holds)" in (folder / INDEX).read_text()
    assert counts(read(engine, folder)) == (0, 0, 0, 2)
    edit(path, "SQLite", "DuckDB")
    report = read(engine, folder)
    assert [note.path for note in report.outdated] == [f"decision/{path.name}"]
    assert open_contents(engine) == {"Use MySQL for teams"}


@given(memories())
@settings(max_examples=60)
def test_any_memory_reads_back_as_itself(memory: Memory):
    entry = memory_from_markdown(memory_to_markdown(memory))
    assert entry.id == memory.id
    assert entry.fields.type is memory.type
    content = changes_to(memory, entry).content
    assert content is None


# -- Reading back ---------------------------------------------------------------------------------


def test_an_unedited_folder_changes_nothing(engine: Engine, folder: Path, memory: Memory):
    assert counts(read(engine, folder)) == (0, 0, 0, 1)
    assert engine.store.get([memory.id]) == [memory]


def test_edited_words_close_the_memory_and_open_its_successor(
    engine: Engine, folder: Path, memory: Memory
):
    path = file_of(folder, memory)
    edit(path, "SQLite stays", "DuckDB becomes")
    assert counts(read(engine, folder, dry_run=True)) == (0, 1, 0, 0)
    assert engine.store.get([memory.id]) == [memory]
    assert counts(read(engine, folder)) == (0, 1, 0, 0)
    old = engine.store.get([memory.id])[0]
    assert old.superseded_by is not None
    new = engine.store.get([old.superseded_by])[0]
    assert new.content == "Use PostgreSQL for teams\n\nDuckDB becomes the default."
    assert (new.key, new.tags, new.is_open, old.is_open) == (memory.key, memory.tags, True, False)
    assert counts(read(engine, folder)) == (0, 0, 0, 1)


def test_a_file_can_be_edited_and_read_again_and_again(
    engine: Engine, folder: Path, memory: Memory, clock: ManualClock
):
    path = file_of(folder, memory)
    for old, new in [("SQLite", "DuckDB"), ("DuckDB", "MySQL"), ("database", "storage")]:
        clock.advance(hours=1)
        edit(path, old, new)
        report = read(engine, folder)
        assert report.corrected + report.updated == 1
        assert counts(read(engine, folder)) == (0, 0, 0, 1)
    assert open_contents(engine) == {"Use PostgreSQL for teams\n\nMySQL stays the default."}
    assert engine.store.stats(full_export("example")).total == 3


def test_edited_fields_are_changed_in_place(engine: Engine, folder: Path, memory: Memory):
    path = file_of(folder, memory)
    edit(path, 'tags: ["database"]', "tags: storage, team\npinned: true")
    edit(path, "importance: 0.5", "importance: 0.9")
    assert counts(read(engine, folder)) == (0, 0, 1, 0)
    kept = engine.store.get([memory.id])[0]
    assert (kept.tags, kept.pinned, kept.importance) == (("storage", "team"), True, 0.9)
    assert kept.content == memory.content
    assert counts(read(engine, folder)) == (0, 0, 0, 1)


def test_a_file_whose_memory_has_moved_on_is_reported_and_not_applied(
    engine: Engine, folder: Path, memory: Memory, clock: ManualClock
):
    clock.advance(hours=1)
    revise(engine, memory.id, MemoryPatch(content="Use CockroachDB for teams"))
    assert counts(read(engine, folder)) == (0, 0, 0, 1)
    edit(file_of(folder, memory), "PostgreSQL", "MySQL")
    report = read(engine, folder)
    assert counts(report) == (0, 0, 0, 0)
    assert "later version" in report.outdated[0].reason
    assert open_contents(engine) == {"Use CockroachDB for teams"}


def test_edited_words_are_taken_though_the_fields_changed_meanwhile(
    engine: Engine, folder: Path, memory: Memory, clock: ManualClock
):
    clock.advance(hours=1)
    revise(engine, memory.id, MemoryPatch(tags=("storage",)))
    path = file_of(folder, memory)
    edit(path, 'tags: ["database"]', 'tags: ["other"]')
    assert "fields were changed" in read(engine, folder).outdated[0].reason
    edit(path, "PostgreSQL", "MySQL")
    assert read(engine, folder).corrected == 1
    kept = engine.store.find_key("team-store", project="example", user_scope=False)
    assert kept is not None
    assert (kept.tags, kept.content.split("\n")[0]) == (("storage",), "Use MySQL for teams")


def test_decay_since_the_export_is_not_undone(engine: Engine, folder: Path, memory: Memory):
    engine.store.apply([Rescore(memory.id, importance=0.1)])
    assert counts(read(engine, folder)) == (0, 0, 0, 1)
    assert engine.store.get([memory.id])[0].importance == 0.1


def test_a_removed_file_is_reported_and_closed_only_when_asked(
    engine: Engine, folder: Path, memory: Memory
):
    file_of(folder, memory).unlink()
    report = read(engine, folder)
    assert (report.removed, report.closed_removed) == ((memory.id,), False)
    assert engine.store.get([memory.id])[0].is_open
    report = import_markdown(engine, folder, project="example", close_removed=True)
    assert report.removed == (memory.id,)
    assert not engine.store.get([memory.id])[0].is_open
    assert read(engine, folder).removed == ()


def test_a_renamed_file_is_not_a_removed_one(engine: Engine, folder: Path, memory: Memory):
    path = file_of(folder, memory)
    path.rename(folder / "renamed.md")
    report = read(engine, folder)
    assert (report.removed, counts(report)) == ((), (0, 0, 0, 1))


def test_hand_written_files_become_memories(engine: Engine, folder: Path):
    (folder / "gotcha").mkdir(parents=True)
    (folder / "README.md").write_text("# About this folder\n")
    (folder / "gotcha" / "ports.md").write_text("Port 8080 is taken on the build machine.\n")
    (folder / "style.md").write_text(
        "---\ntype: convention\ntags:\n  - style\n  - python\nscope: user\ntitle: mine\n---\n"
        "# Style\n\nPrefer small functions.\n\n## Names\n\nUnits in names.\n"
    )
    assert counts(read(engine, folder)) == (2, 0, 0, 0)
    found = {memory.key: memory for memory in engine.store.iterate(OPEN)}
    port, style = found["md:gotcha/ports.md"], found["md:style.md"]
    assert (port.type, port.source) == (MemoryType.GOTCHA, Source.IMPORTED)
    assert (style.type, style.tags, style.scope) == (
        MemoryType.CONVENTION,
        ("style", "python"),
        Scope.USER,
    )
    assert counts(read(engine, folder)) == (0, 0, 0, 2)


def test_sections_of_one_hand_written_file_are_memories_of_their_own(engine: Engine, folder: Path):
    folder.mkdir()
    notes = folder / "notes.md"
    notes.write_text("# Notes\n\n## Build\n\nRun make.\n\n## Deploy\n\nPush a tag.\n")
    assert counts(read(engine, folder)) == (2, 0, 0, 0)
    edit(notes, "Run make.", "Run ninja.")
    assert counts(read(engine, folder)) == (0, 1, 0, 1)
    assert open_contents(engine) == {
        "Notes › Build\n\nRun ninja.",
        "Notes › Deploy\n\nPush a tag.",
    }


def test_a_correction_of_a_hand_written_memory_is_not_undone_by_its_unchanged_file(
    engine: Engine, folder: Path
):
    folder.mkdir()
    (folder / "a.md").write_text("The limit is 10.\n")
    read(engine, folder)
    kept = engine.store.find_key("md:a.md", project="example", user_scope=False)
    assert kept is not None
    revise(engine, kept.id, MemoryPatch(content="The limit is 20."))
    assert counts(read(engine, folder)) == (0, 0, 0, 1)
    assert open_contents(engine) == {"The limit is 20."}


def test_files_that_cannot_be_taken_are_named(engine: Engine, folder: Path, memory: Memory):
    path = file_of(folder, memory)
    text = path.read_text()
    path.write_text(text + "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    (folder / "binary.md").write_bytes(b"\xff\xfe\x00")
    (folder / "empty.md").write_text("\n")
    (folder / "rumour.md").write_text("---\ntype: rumour\n---\nHm.\n")
    (folder / "odd.md").write_text("---\nimportance: high\n---\nHm.\n")
    (folder / "link.md").symlink_to(path)
    report = read(engine, folder)
    assert counts(report) == (0, 0, 0, 0)
    reasons = {note.path: note.reason for note in report.refused}
    assert "merge conflict" in reasons[f"decision/{path.name}"]
    assert "not UTF-8" in reasons["binary.md"]
    assert "no content" in reasons["empty.md"]
    assert "Unknown memory type" in reasons["rumour.md"]
    assert "not a number" in reasons["odd.md"]
    assert "link" in reasons["link.md"]
    assert report.removed == ()


def test_a_file_of_another_project_is_refused(engine: Engine, folder: Path, memory: Memory):
    edit(file_of(folder, memory), "SQLite", "DuckDB")
    report = import_markdown(engine, folder, project="elsewhere")
    assert "another project" in report.refused[0].reason


def test_windows_line_ends_are_no_edit(engine: Engine, folder: Path, memory: Memory):
    path = file_of(folder, memory)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert counts(read(engine, folder)) == (0, 0, 0, 1)


def test_a_folder_that_is_not_there_is_said_to_be_missing(engine: Engine, tmp_path: Path):
    with pytest.raises(NotFoundError, match="no folder"):
        read(engine, tmp_path / "none")


@pytest.mark.feature("A10", "A11")
def test_secrets_in_edited_files_are_redacted(engine: Engine, folder: Path, memory: Memory):
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z45"
    edit(file_of(folder, memory), "SQLite", secret)
    (folder / "new.md").write_text(f"The token is {secret}.\n")
    read(engine, folder)
    assert not any(secret in text for text in open_contents(engine))


# -- Structure ------------------------------------------------------------------------------------


def test_sections_follow_headings_of_both_styles_but_not_in_code():
    text = (
        "Before.\n\nTitle\n=====\n\nIntro.\n\n## Install ##\n\n```sh\n# not a heading\nmake\n```\n"
        "\nMinor\n-----\nText.\n\n- item\n---\n\n## Install\n\nAgain.\n\n# *Other* [page](x.md)\nEnd."
    )
    found = [(section.titles, section.slug) for section in split_sections(text)]
    assert found == [
        ((), ""),
        (("Title",), "title"),
        (("Title", "Install"), "install"),
        (("Title", "Minor"), "minor"),
        (("Title", "Install"), "install-1"),
        (("Other page",), "other-page"),
    ]
    assert "# not a heading" in split_sections(text)[2].body


def test_front_matter_reads_what_it_writes_and_what_people_write():
    fields: dict[str, Json] = {
        "a": "plain words",
        "b": "yes",
        "c": ["x", "y: z"],
        "d": 0.5,
        "e": True,
        "f": 'q"',
    }
    assert read_front_matter(write_front_matter(fields) + "body") == (fields, "body")
    front, body = read_front_matter("---\ntags: [one, 'two']\nquote: 'it''s'\nnone:\n---\n")
    assert (front, body) == ({"tags": ["one", "two"], "quote": "it's", "none": None}, "")
    assert read_front_matter("no front\n---\nx") == ({}, "no front\n---\nx")
