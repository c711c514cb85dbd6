"""A repository's own documents and history become a first project; twice equals once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.git_repositories import GitRepository
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.memory import Memory, MemoryDraft, MemoryPatch
from wellkept.core.query import Filter
from wellkept.core.types import EvidenceKind, MemoryType, Source
from wellkept.memory.edit import forget, revise
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.jsonl import full_export
from wellkept.memory.exchange.passages import Passage, fingerprint, remember_passages
from wellkept.observe.imports.repository import RepositoryReport, import_repository
from wellkept.store import open_store
from wellkept.testing.fakes import ManualClock, WordEmbedder

pytestmark = pytest.mark.feature("I1", "C7", "D5")

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
    made.write(
        "README.md",
        "# Widget\n\nTurns handles.\n\n## Install\n\nRun `make install`.\n\n```\nmake install\n```\n",
    )
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


def test_a_section_points_to_its_heading_with_its_code_whole(
    engine: Engine, repository: GitRepository
):
    report = take(engine, repository.root)
    assert report.documents == 5
    known = found(engine)
    expected = {
        "repo:doc:README.md#widget": MemoryType.FACT,
        "repo:doc:README.md#install": MemoryType.FACT,
        "repo:doc:CONTRIBUTING.md#contributing": MemoryType.CONVENTION,
        "repo:doc:CONTRIBUTING.md#hello": MemoryType.FACT,
        "repo:decision:docs/decisions/0001-store.md": MemoryType.DECISION,
        "repo:page:docs/guide.md": MemoryType.FACT,
        "repo:doc:src/gears/README.md#gears": MemoryType.FACT,
    }
    documents = ("repo:doc:", "repo:page:", "repo:decision:")
    assert {k: m.type for k, m in known.items() if k.startswith(documents)} == expected
    install = known["repo:doc:README.md#install"]
    assert install.content == "README.md › Install: Run `make install`.\n```\nmake install\n```"
    assert (install.source, install.files) == (Source.IMPORTED, ("README.md",))
    assert [(e.kind, e.ref) for e in install.evidence] == [
        (EvidenceKind.DOCUMENT, "README.md#install")
    ]
    decision = known["repo:decision:docs/decisions/0001-store.md"].content
    assert decision == (
        "Decision: Keep everything in one file. One file. Reason: Backups."
        " See docs/decisions/0001-store.md."
    )


def test_a_changed_section_supersedes_what_it_said(
    engine: Engine, repository: GitRepository, clock: ManualClock
):
    take(engine, repository.root)
    old = found(engine)["repo:doc:README.md#install"]
    repository.write("README.md", "# Widget\n\nTurns handles.\n\n## Install\n\nRun `pip`.\n")
    clock.advance(days=1)
    report = take(engine, repository.root)
    assert (report.new, report.changed, report.closed) == (0, 1, 0)
    new = found(engine)["repo:doc:README.md#install"]
    assert new.content.endswith("Run `pip`.")
    closed = engine.store.get([old.id])[0]
    assert (closed.superseded_by, closed.is_open) == (new.id, False)


def test_a_section_or_document_that_is_gone_is_closed(engine: Engine, repository: GitRepository):
    take(engine, repository.root)
    repository.write("README.md", "# Widget\n\nTurns handles.\n")
    (repository.root / "docs" / "guide.md").unlink()
    assert take(engine, repository.root).closed == 2
    keys = set(found(engine))
    assert "repo:doc:README.md#install" not in keys
    assert "repo:page:docs/guide.md" not in keys
    assert "repo:doc:README.md#widget" in keys


def test_what_a_person_stands_behind_outlives_its_section(
    engine: Engine, repository: GitRepository
):
    take(engine, repository.root)
    kept = found(engine)["repo:doc:README.md#install"]
    revise(engine, kept.id, MemoryPatch(user_verified=True))
    repository.write("README.md", "# Widget\n\nTurns handles.\n")
    assert take(engine, repository.root).closed == 0
    assert "repo:doc:README.md#install" in found(engine)


def test_what_a_person_corrected_or_forgot_stays_that_way(
    engine: Engine, repository: GitRepository
):
    take(engine, repository.root)
    known = found(engine)
    corrected = known["repo:doc:README.md#install"].id
    revise(engine, corrected, MemoryPatch(content="Run `make setup`."))
    forget(engine, [known["repo:doc:README.md#widget"].id])
    assert numbers(take(engine, repository.root))[:2] == (0, 0)
    after = found(engine)
    assert after["repo:doc:README.md#install"].content == "Run `make setup`."
    assert "repo:doc:README.md#widget" not in after


def test_chunks_and_raw_messages_of_an_earlier_version_are_replaced(
    engine: Engine, repository: GitRepository
):
    former = [
        Passage("README.md#old", MemoryDraft(content="A whole section.", key="doc:README.md#old")),
        Passage("a1", MemoryDraft(content="4.13.3", key="commit:a1")),
    ]
    remember_passages(engine, former, project=PROJECT)
    marks = {one.draft.key or "": fingerprint(one.draft.content) for one in former}
    engine.store.put_value("intake", PROJECT, dict(marks))
    report = take(engine, repository.root)
    assert (report.replaced, report.closed) == (2, 0)
    assert not {"doc:README.md#old", "commit:a1"} & set(found(engine))


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
    texts = [memory.content for memory in found(engine).values()]
    assert not any("Outside" in text or "Not ours" in text for text in texts)


def test_pages_that_are_generated_are_left_to_their_source(
    engine: Engine, repository: GitRepository
):
    repository.write("docs/cli.md", "# Commands\n\nA table of everything there is.\n")
    take(engine, repository.root)
    assert "repo:page:docs/cli.md" in found(engine)
    repository.write(".gitattributes", "docs/cli.md linguist-generated\n")
    assert numbers(take(engine, repository.root))[3] == 1
    assert "repo:page:docs/cli.md" not in found(engine)


def test_a_document_that_became_unreadable_closes_nothing(
    engine: Engine, repository: GitRepository
):
    take(engine, repository.root)
    (repository.root / "README.md").write_bytes(b"\xff\xff")
    assert take(engine, repository.root).closed == 0
    assert "repo:doc:README.md#install" in found(engine)


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


@pytest.mark.feature("A10")
def test_secrets_in_documents_and_commits_are_not_kept(engine: Engine, repository: GitRepository):
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z45"
    repository.write("README.md", f"# Widget\n\nUse {secret}.\n")
    repository.commit(f"Use {secret}")
    take(engine, repository.root)
    assert not any(secret in memory.content for memory in engine.store.iterate(full_export(None)))


# -- History --------------------------------------------------------------------------------------


def test_a_commit_with_a_body_is_kept_whole_without_its_trailers(
    engine: Engine, repository: GitRepository
):
    sha = repository.commit(
        "Oil the handle\n\nIt squeaked because the axle was dry.\n\n"
        "Signed-off-by: Example Author <author@example.com>",
        handle="oil",
    )
    report = take(engine, repository.root)
    assert report.commits == 2
    record = found(engine)[f"repo:commit:{sha}"]
    assert record.content == "Oil the handle\n\nIt squeaked because the axle was dry."
    assert (record.type, record.commit_sha, record.author, record.files) == (
        MemoryType.EPISODE,
        sha,
        "Example Author",
        ("handle.txt",),
    )
    assert record.valid_from.isoformat() == "2025-03-01T02:00:00+00:00"
    assert [(e.kind, e.ref) for e in record.evidence] == [(EvidenceKind.COMMIT, sha)]


def test_a_revert_is_kept_with_its_reason(engine: Engine, repository: GitRepository):
    first = repository.commit("Grease everything with butter", butter="x")
    sha = repository.commit(
        f'Revert "Grease everything with butter"\n\nThis reverts commit {first}.\n\n'
        "Mice came in because of the smell.",
        butter="",
    )
    take(engine, repository.root)
    text = found(engine)[f"repo:commit:{sha}"].content
    assert text.startswith('Revert "Grease everything with butter"')
    assert text.endswith("Mice came in because of the smell.")


def test_bumps_merges_releases_and_plain_work_are_no_statements(
    engine: Engine, repository: GitRepository
):
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("Side work", side="x")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "Merge branch 'side'", "side")
    for subject in (
        "4.13.3",
        "Release 2.0 because it is Friday",
        "chore(deps): bump widget from 1 to 2, because of a fix",
        "Fix typo, since the word was wrong",
        "Update changelog so that it is complete",
    ):
        repository.commit(subject, note=subject)
    report = take(engine, repository.root)
    assert [key for key in found(engine) if key.startswith("repo:commit:")] == []
    assert report.kinds.get("commit") is None


def test_what_was_decided_stays_when_new_commits_come(engine: Engine, repository: GitRepository):
    repository.commit("Drop the old handle", handle="1")
    take(engine, repository.root)
    repository.commit("Require two hands", hands="2")
    report = take(engine, repository.root)
    assert report.closed == 0
    decided = [m.content for k, m in found(engine).items() if k.startswith("repo:commit:")]
    assert [("Drop" in text, "Require" in text) for text in decided] == [
        (True, False),
        (False, True),
    ]


def test_only_the_latest_commits_are_read(engine: Engine, repository: GitRepository):
    for n in range(4):
        repository.commit(f"Require step {n}", step=str(n))
    report = import_repository(engine, PROJECT, repository.root, limit_commits=2)
    assert report.commits == 2
    decided = [m.content for k, m in found(engine).items() if k.startswith("repo:commit:")]
    assert decided == ["Require step 2", "Require step 3"]
    assert import_repository(engine, PROJECT, repository.root, limit_commits=0).commits == 0


def test_links_follow_renames_and_leave_out_what_is_gone(engine: Engine, repository: GitRepository):
    for n in range(3):
        repository.commit(f"Pair {n}", old=f"{n}" * 40, friend=f"{n}", doomed=f"{n}")
    repository.git("mv", "old.txt", "new.txt")
    repository.git("rm", "-q", "doomed.txt")
    repository.commit("Rename")
    take(engine, repository.root)
    links = engine.store.linked_files(PROJECT, ["friend.txt"], min_weight=0.0, limit=5)
    assert [link.file_b for link in links] == ["new.txt"]


def test_progress_covers_reading_and_storing(engine: Engine, repository: GitRepository):
    seen: list[tuple[int, int]] = []
    import_repository(
        engine, PROJECT, repository.root, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]
    assert len(seen) > 8


@pytest.mark.feature("A10")
def test_one_statement_that_cannot_be_kept_does_not_stop_the_rest(
    engine: Engine, repository: GitRepository
):
    repository.commit("<private>Drop all of it because of reasons</private>", note="x")
    take(engine, repository.root)
    assert "repo:doc:README.md#install" in found(engine)
    assert not any("because of reasons" in m.content for m in found(engine).values())


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


def test_nothing_in_the_repository_is_touched(engine: Engine, repository: GitRepository):
    def snapshot() -> dict[str, bytes]:
        files = (path for path in repository.root.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in files}

    before = snapshot()
    take(engine, repository.root)
    assert snapshot() == before
