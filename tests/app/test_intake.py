"""A repository's own documents and history become a first project; twice equals once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.git_repositories import GitRepository
from wellkept.app.imports.repository import RepositoryReport, import_repository
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.memory import Memory, MemoryPatch
from wellkept.core.query import Filter
from wellkept.core.types import EvidenceKind, MemoryType, Scope, Source
from wellkept.memory.edit import forget, revise
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.jsonl import full_export
from wellkept.store import open_store
from wellkept.testing.fakes import ManualClock, WordEmbedder

pytestmark = pytest.mark.feature("A1", "D5")

PROJECT = "git:example.org/acme/widget"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def engine(tmp_path: Path, clock: ManualClock) -> Iterator[Engine]:
    store = open_store(tmp_path / "memory.db", clock=clock)
    yield Engine(store=store, embedder=WordEmbedder, clock=clock)
    store.close()


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    made = GitRepository.create(tmp_path / "widget")
    made.write("README.md", "# Widget\n\nTurns handles.\n\n## Install\n\nRun `make install`.\n")
    made.write(
        "CONTRIBUTING.md", "# Contributing\n\nAlways run the tests.\n\n## Hello\n\nWelcome.\n"
    )
    made.write(
        "docs/decisions/0001-store.md",
        "# Keep everything in one file\n\n## Context\n\nBackups.\n\n## Decision\n\nOne file.\n",
    )
    made.write("docs/guide.md", "# Guide\n\n## Known issues\n\nThe handle sticks.\n")
    made.write("src/gears/README.md", "# Gears\n\nGears mesh.\n")
    made.commit("Begin with a handle")
    return made


def found(engine: Engine) -> dict[str, Memory]:
    """Open memories by key."""
    return {m.key or "": m for m in engine.store.iterate(Filter(project=PROJECT))}


def take(engine: Engine, root: Path) -> RepositoryReport:
    return import_repository(engine, PROJECT, root)


def numbers(report: RepositoryReport) -> tuple[int, int, int, int]:
    return (report.new, report.changed, report.unchanged, report.closed)


# -- Documents ------------------------------------------------------------------------------------


def test_documents_are_split_by_heading_with_types_by_rule(
    engine: Engine, repository: GitRepository
):
    report = take(engine, repository.root)
    assert report.documents == 5
    known = found(engine)
    expected = {
        "doc:README.md#widget": MemoryType.FACT,
        "doc:README.md#install": MemoryType.FACT,
        "doc:CONTRIBUTING.md#contributing": MemoryType.CONVENTION,
        "doc:CONTRIBUTING.md#hello": MemoryType.FACT,
        "doc:docs/decisions/0001-store.md": MemoryType.DECISION,
        "doc:docs/guide.md#known-issues": MemoryType.GOTCHA,
        "doc:src/gears/README.md#gears": MemoryType.MODULE_INSIGHT,
    }
    assert {k: m.type for k, m in known.items() if k.startswith("doc:")} == expected
    install = known["doc:README.md#install"]
    assert install.content == "Widget › Install\n\nRun `make install`."
    assert (install.source, install.files) == (Source.IMPORTED, ("README.md",))
    assert [(e.kind, e.ref) for e in install.evidence] == [
        (EvidenceKind.DOCUMENT, "README.md#install")
    ]
    gears = known["doc:src/gears/README.md#gears"]
    assert (gears.scope, gears.modules) == (Scope.MODULE, ("src/gears",))
    decision = known["doc:docs/decisions/0001-store.md"].content
    assert decision.startswith("Keep everything in one file\n")
    assert "One file." in decision


def test_taken_in_twice_equals_once(engine: Engine, repository: GitRepository):
    first = take(engine, repository.root)
    before = list(engine.store.iterate(full_export(None)))
    second = take(engine, repository.root)
    assert list(engine.store.iterate(full_export(None))) == before
    assert numbers(second) == (0, 0, first.new, 0)
    assert second.links == first.links


def test_without_its_shelf_it_still_knows_what_it_took(engine: Engine, repository: GitRepository):
    first = take(engine, repository.root)
    before = list(engine.store.iterate(full_export(None)))
    again = import_repository(engine, PROJECT, repository.root, refresh=True)
    assert numbers(again) == (0, 0, first.new, 0)
    assert list(engine.store.iterate(full_export(None))) == before


def test_a_changed_section_supersedes_what_it_said(
    engine: Engine, repository: GitRepository, clock: ManualClock
):
    take(engine, repository.root)
    old = found(engine)["doc:README.md#install"]
    repository.write("README.md", "# Widget\n\nTurns handles.\n\n## Install\n\nRun `pip`.\n")
    clock.advance(days=1)
    report = take(engine, repository.root)
    assert (report.new, report.changed, report.closed) == (0, 1, 0)
    new = found(engine)["doc:README.md#install"]
    assert new.content.endswith("Run `pip`.")
    closed = engine.store.get([old.id])[0]
    assert (closed.superseded_by, closed.is_open) == (new.id, False)


def test_a_section_or_document_that_is_gone_is_closed(engine: Engine, repository: GitRepository):
    take(engine, repository.root)
    repository.write("README.md", "# Widget\n\nTurns handles.\n")
    (repository.root / "docs" / "guide.md").unlink()
    assert take(engine, repository.root).closed == 2
    keys = set(found(engine))
    assert "doc:README.md#install" not in keys
    assert "doc:docs/guide.md#known-issues" not in keys
    assert "doc:README.md#widget" in keys


def test_what_a_person_stands_behind_outlives_its_section(
    engine: Engine, repository: GitRepository
):
    take(engine, repository.root)
    kept = found(engine)["doc:README.md#install"]
    revise(engine, kept.id, MemoryPatch(user_verified=True))
    repository.write("README.md", "# Widget\n\nTurns handles.\n")
    assert take(engine, repository.root).closed == 0
    assert "doc:README.md#install" in found(engine)


def test_what_a_person_corrected_or_forgot_stays_that_way(
    engine: Engine, repository: GitRepository
):
    take(engine, repository.root)
    known = found(engine)
    revise(engine, known["doc:README.md#install"].id, MemoryPatch(content="Run `make setup`."))
    forget(engine, [known["doc:README.md#widget"].id])
    assert numbers(take(engine, repository.root))[:2] == (0, 0)
    after = found(engine)
    assert after["doc:README.md#install"].content == "Run `make setup`."
    assert "doc:README.md#widget" not in after


def test_ignored_vendored_and_unsuited_files_are_left_alone(
    engine: Engine, repository: GitRepository, tmp_path: Path
):
    repository.write(".gitignore", "scratch/\n")
    for path in ("scratch/README.md", "node_modules/x/README.md", "docs/vendor/y.md", "LICENSE.md"):
        repository.write(path, "# Not ours\n\nText.\n")
    repository.write("src/notes.md", "# Loose\n\nNot a document.\n")
    (repository.root / "docs" / "binary.md").write_bytes(b"# a\0b")
    (repository.root / "docs" / "latin.md").write_bytes("# caf\xe9".encode("latin-1"))
    (repository.root / "docs" / "huge.md").write_bytes(b"# x\n" + b"word " * 200_000)
    outside = tmp_path / "outside.md"
    outside.write_text("# Secret\n\nOutside.\n")
    (repository.root / "docs" / "out.md").symlink_to(outside)
    (repository.root / "AGENTS.md").symlink_to("CONTRIBUTING.md")
    report = take(engine, repository.root)
    reasons = {skipped.path: skipped.reason for skipped in report.skipped}
    assert set(reasons) == {
        "docs/binary.md",
        "docs/latin.md",
        "docs/huge.md",
        "docs/out.md",
        "AGENTS.md",
    }
    assert "out of the project" in reasons["docs/out.md"]
    assert report.documents == 5
    assert not any(
        "Outside" in m.content or "Not ours" in m.content for m in found(engine).values()
    )


def test_pages_that_are_generated_are_left_to_their_source(
    engine: Engine, repository: GitRepository
):
    repository.write("docs/cli.md", "# Commands\n\nA table of everything.\n")
    take(engine, repository.root)
    assert "doc:docs/cli.md#commands" in found(engine)
    repository.write(".gitattributes", "docs/cli.md linguist-generated\n")
    assert numbers(take(engine, repository.root))[3] == 1
    assert "doc:docs/cli.md#commands" not in found(engine)


def test_a_document_that_became_unreadable_closes_nothing(
    engine: Engine, repository: GitRepository
):
    take(engine, repository.root)
    (repository.root / "README.md").write_bytes(b"\xff\xff")
    assert take(engine, repository.root).closed == 0
    assert "doc:README.md#install" in found(engine)


def test_long_sections_are_cut_between_paragraphs_and_noise_is_dropped(
    engine: Engine, tmp_path: Path
):
    root = tmp_path / "plain"
    root.mkdir()
    body = "\n\n".join(f"Paragraph {n} " + "word " * 60 for n in range(12))
    (root / "README.md").write_text(
        "---\ntitle: x\n---\n[![build](https://ci.example/b.svg)](https://ci.example)\n\n"
        f"# Long\n\n<!-- hidden -->\n## Contents\n\n- [A](#a)\n- [B](#b)\n\n## A\n\n{body}\n\n"
        f"## B\n\n{'x' * 9_000}\n"
    )
    take(engine, root)
    known = found(engine)
    assert set(known) == {
        "doc:README.md#a",
        "doc:README.md#a~2",
        "doc:README.md#b",
        "doc:README.md#b~2",
        "doc:README.md#b~3",
    }
    assert known["doc:README.md#a~2"].content.startswith("Long › A\n\nParagraph")
    assert not any("hidden" in m.content or "svg" in m.content for m in known.values())


def test_without_git_the_documents_are_still_taken_in(
    engine: Engine, repository: GitRepository, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "")
    report = take(engine, repository.root)
    assert (report.documents, report.commits, report.history) == (5, 0, False)


def test_an_empty_repository_is_taken_in_quietly(engine: Engine, tmp_path: Path):
    empty = GitRepository.create(tmp_path / "empty")
    report = take(engine, empty.root)
    assert (report.documents, report.commits, report.new, report.history) == (0, 0, 0, False)


def test_a_folder_that_is_not_there_or_a_negative_limit_is_refused(engine: Engine, tmp_path: Path):
    with pytest.raises(NotFoundError, match="no folder"):
        take(engine, tmp_path / "none")
    with pytest.raises(UsageError, match="negative"):
        import_repository(engine, PROJECT, tmp_path, limit_commits=-1)


def test_a_section_that_cannot_be_kept_does_not_stop_the_rest(
    engine: Engine, repository: GitRepository
):
    repository.commit("<private>all of it</private>", note="x")
    report = take(engine, repository.root)
    assert [skipped.reason for skipped in report.skipped] == [
        "cannot be stored: There is nothing to remember: the content is empty once private parts are"
        " taken out."
    ]
    assert "doc:README.md#install" in found(engine)


@pytest.mark.feature("A10")
def test_secrets_in_documents_and_commits_are_not_kept(engine: Engine, repository: GitRepository):
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z45"
    repository.write("README.md", f"# Widget\n\nUse {secret}.\n")
    repository.commit(f"Use {secret}")
    take(engine, repository.root)
    assert not any(secret in memory.content for memory in engine.store.iterate(full_export(None)))


# -- History --------------------------------------------------------------------------------------


def test_commits_become_dated_records(engine: Engine, repository: GitRepository):
    sha = repository.commit(
        "Oil the handle\n\nIt squeaked.\n\nSigned-off-by: Example Author <author@example.com>",
        handle="oil",
    )
    report = take(engine, repository.root)
    assert report.commits == 2
    record = found(engine)[f"commit:{sha}"]
    assert record.content == "Oil the handle\n\nIt squeaked."
    assert (record.source, record.commit_sha, record.author, record.files) == (
        Source.COMMIT_AUTO,
        sha,
        "Example Author",
        ("handle.txt",),
    )
    assert record.valid_from.isoformat() == "2025-03-01T02:00:00+00:00"
    assert [(e.kind, e.ref) for e in record.evidence] == [(EvidenceKind.COMMIT, sha)]


def test_new_commits_are_added_to_what_is_known(engine: Engine, repository: GitRepository):
    first = take(engine, repository.root)
    repository.commit("One more", more="x")
    assert numbers(take(engine, repository.root)) == (1, 0, first.new, 0)


def test_only_the_latest_commits_are_read(engine: Engine, repository: GitRepository):
    for n in range(4):
        repository.commit(f"Step {n}", step=str(n))
    report = import_repository(engine, PROJECT, repository.root, limit_commits=2)
    assert report.commits == 2
    commits = [m.content for k, m in found(engine).items() if k.startswith("commit:")]
    assert commits == ["Step 2", "Step 3"]
    assert import_repository(engine, PROJECT, repository.root, limit_commits=0).commits == 0


def test_merges_and_bulk_changes_count_for_little(engine: Engine, repository: GitRepository):
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("Side work", side="x")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "Merge branch 'side'", "side")
    repository.git("checkout", "-q", "-b", "other")
    repository.commit("Other work", other="x")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "Join both\n\nWith other work.", "other")
    repository.commit("Release 2.0")
    repository.commit("chore(deps): bump widget from 1 to 2")
    repository.commit("Format all", **{f"file{n}": "x" for n in range(40)})
    report = take(engine, repository.root)
    importance = {m.content.split("\n")[0]: m.importance for m in found(engine).values()}
    assert "Merge branch 'side'" not in importance
    assert not any("2" in subject for subject in importance)
    assert importance["Join both"] == 0.1
    assert importance["Format all"] == 0.15
    assert importance["Side work"] == 0.3
    linked = engine.store.linked_files(PROJECT, ["file1.txt"], min_weight=0.0, limit=5)
    assert linked == []
    assert report.links == 0


def test_files_that_change_together_are_linked(engine: Engine, repository: GitRepository):
    for n in range(4):
        repository.commit(f"Pair {n}", cog=f"{n}", wheel=f"{n}")
    repository.commit("Alone", cog="alone", lever="x")
    take(engine, repository.root)
    links = engine.store.linked_files(PROJECT, ["cog.txt"], min_weight=0.0, limit=5)
    # One joint change is no habit.
    assert [(link.file_a, link.file_b, link.count) for link in links] == [
        ("cog.txt", "wheel.txt", 4)
    ]
    assert links[0].weight > 0.6


def test_links_follow_renames_and_leave_out_what_is_gone(engine: Engine, repository: GitRepository):
    for n in range(3):
        repository.commit(f"Pair {n}", old=f"{n}" * 40, friend=f"{n}", doomed=f"{n}")
    repository.git("mv", "old.txt", "new.txt")
    repository.git("rm", "-q", "doomed.txt")
    repository.commit("Rename")
    take(engine, repository.root)
    links = engine.store.linked_files(PROJECT, ["friend.txt"], min_weight=0.0, limit=5)
    assert [link.file_b for link in links] == ["new.txt"]
    record = next(m for m in found(engine).values() if m.content == "Pair 0")
    assert "new.txt" in record.files


def test_odd_messages_and_file_names_are_read_exactly(engine: Engine, repository: GitRepository):
    sha = "0" * 40
    repository.write("a file\twith ü.txt", "x")
    repository.write("plain.txt", "x")
    commit = repository.commit(f"{sha}\n\nM\n{sha}\n\x1f\x1e end")
    take(engine, repository.root)
    record = found(engine)[f"commit:{commit}"]
    assert record.content == f"{sha}\n\nM\n{sha}\n\x1f\x1e end"
    assert record.files == ("plain.txt",)


def test_nothing_in_the_repository_is_touched(engine: Engine, repository: GitRepository):
    def snapshot() -> dict[str, bytes]:
        files = (path for path in repository.root.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in files}

    before = snapshot()
    take(engine, repository.root)
    assert snapshot() == before


def test_progress_covers_documents_and_commits(engine: Engine, repository: GitRepository):
    seen: list[tuple[int, int]] = []
    report = import_repository(
        engine, PROJECT, repository.root, progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (report.new, report.new)
    assert seen == sorted(seen)
