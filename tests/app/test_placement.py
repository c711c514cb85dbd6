"""Whose memory a folder may read: a remote is a claim, the history is the proof."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from tests.support.samples import Samples
from wellkept.api.hook_context import HookContextProvider, open_existing
from wellkept.core.changes import PutSession
from wellkept.core.clock import system_clock
from wellkept.core.git import run as git
from wellkept.core.ports.store import Store
from wellkept.core.session.hook_context import HookContextRequest
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.settings.model import Settings
from wellkept.project import project_decision as placement
from wellkept.project.folder_lookup import folder_mark
from wellkept.project.folder_project import known_project_at, project_at
from wellkept.store import open_store

pytestmark = [
    pytest.mark.feature("A1"),
    pytest.mark.skipif(os.name == "nt", reason="the marks of folders are tested on POSIX"),
]

HOSTED = "git:github.com/acme/widget"
URL = "https://github.com/acme/widget"
SMOKE_RULE = "Always run the smoke test before a release"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(tmp_path / "memory.db")) as opened:
        yield opened


@pytest.fixture
def widget(tmp_path: Path) -> GitRepository:
    made = GitRepository.create(tmp_path / "widget")
    made.commit("begin", readme="hello")
    made.commit("more", readme="hello, world")
    made.git("remote", "add", "origin", URL)
    return made


def stranger(folder: Path, *, url: str = URL) -> GitRepository:
    """A repository of other people that names somebody's remote."""
    made = GitRepository.create(folder)
    made.commit("strange begin", evil="x")
    made.git("remote", "add", "origin", url)
    return made


def project(store: Store, folder: Path) -> str:
    return project_at(store, folder).identity


def use(store: Store, folder: Path) -> str:
    """Place a folder and keep a memory in its project."""
    found = project(store, folder)
    samples = Samples(seed=len(store.projects()) + 7, project=found)
    store.apply([samples.insert(f"known in {folder.name}")])
    return found


# -- Clones and strangers -------------------------------------------------------------------------


def test_the_first_repository_that_names_a_remote_has_its_project(
    store: Store, widget: GitRepository
):
    assert project(store, widget.root) == HOSTED


def test_a_clone_that_shares_history_shares_the_memory(
    store: Store, widget: GitRepository, tmp_path: Path
):
    use(store, widget.root)
    widget.git("clone", "-q", str(widget.root), str(tmp_path / "clone"))
    clone = GitRepository(tmp_path / "clone", commits=3)
    clone.git("remote", "set-url", "origin", "git@github.com:acme/widget.git")
    clone.commit("only here", a="1")
    shutil.rmtree(widget.root)
    assert project(store, clone.root) == HOSTED


def test_a_repository_that_only_names_the_remote_stays_apart_and_is_told_so(
    store: Store, widget: GitRepository, tmp_path: Path
):
    use(store, widget.root)
    other = stranger(tmp_path / "evil")
    placed = project_at(store, other.root)
    assert placed.identity.startswith("root:")
    assert placed.note is not None
    assert HOSTED in placed.note
    assert "wellkept admin join" in placed.note
    assert known_project_at(store, other.root) == placed


def test_a_repository_without_commits_cannot_claim_a_project_in_use(
    store: Store, widget: GitRepository, tmp_path: Path
):
    use(store, widget.root)
    empty = GitRepository.create(tmp_path / "empty")
    empty.git("remote", "add", "origin", URL)
    assert project(store, empty.root) == f"path:{empty.root.as_posix()}"


def test_a_claim_becomes_true_when_the_history_is_fetched(
    store: Store, widget: GitRepository, tmp_path: Path
):
    use(store, widget.root)
    late = GitRepository.create(tmp_path / "late")
    late.git("remote", "add", "origin", URL)
    own = use(store, late.root)
    assert own != HOSTED
    late.git("fetch", "-q", str(widget.root), "main")
    late.git("reset", "-q", "--hard", "FETCH_HEAD")
    assert project(store, late.root) == HOSTED
    assert dict(store.projects()) == {HOSTED: 2}


def test_a_forged_commit_is_no_history(store: Store, widget: GitRepository, tmp_path: Path):
    use(store, widget.root)
    other = stranger(tmp_path / "evil")
    for name in widget.git("rev-list", "--all").split():
        # A commit object under the name of another one: git itself walks it without a look.
        content = other.git("cat-file", "commit", "HEAD").encode() + b"\n"
        packed = zlib.compress(b"commit %d\0" % len(content) + content)
        path = other.root / ".git" / "objects" / name[:2] / name[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(packed)
        (other.root / ".git" / "refs" / "heads" / f"x{name[:6]}").write_text(f"{name}\n")
    assert project(store, other.root) != HOSTED


def test_a_stranger_who_comes_first_does_not_read_what_the_owner_keeps_later(
    store: Store, widget: GitRepository, tmp_path: Path
):
    first = use(store, stranger(tmp_path / "squatter").root)
    assert first == HOSTED
    assert use(store, widget.root) != HOSTED


def test_a_fork_with_a_remote_of_its_own_is_apart(
    store: Store, widget: GitRepository, tmp_path: Path
):
    use(store, widget.root)
    widget.git("clone", "-q", str(widget.root), str(tmp_path / "fork"))
    fork = GitRepository(tmp_path / "fork")
    fork.git("remote", "set-url", "origin", "https://github.com/me/widget")
    assert project(store, fork.root) == "git:github.com/me/widget"


def test_a_fork_does_not_take_what_a_local_repository_keeps(store: Store, tmp_path: Path):
    local = GitRepository.create(tmp_path / "local")
    local.commit("begin", a="1")
    kept = use(store, local.root)
    local.git("clone", "-q", str(local.root), str(tmp_path / "fork"))
    fork = GitRepository(tmp_path / "fork")
    fork.git("remote", "set-url", "origin", "https://github.com/me/widget")
    assert project(store, fork.root) == "git:github.com/me/widget"
    assert dict(store.projects()) == {kept: 1}
    assert project(store, local.root) == kept


def test_a_shallow_clone_shares_when_a_commit_is_known(
    store: Store, widget: GitRepository, tmp_path: Path
):
    use(store, widget.root)
    widget.commit("newer than what was recorded", b="2")
    widget.git("clone", "-q", "--depth=1", f"file://{widget.root}", str(tmp_path / "shallow"))
    shallow = GitRepository(tmp_path / "shallow")
    shallow.git("remote", "set-url", "origin", URL)
    assert project(store, shallow.root) == HOSTED


def test_a_full_clone_shares_with_a_shallow_one_that_came_first(
    store: Store, widget: GitRepository, tmp_path: Path
):
    widget.git("clone", "-q", "--depth=1", f"file://{widget.root}", str(tmp_path / "shallow"))
    GitRepository(tmp_path / "shallow").git("remote", "set-url", "origin", URL)
    assert use(store, tmp_path / "shallow") == HOSTED
    shutil.rmtree(tmp_path / "shallow")
    assert project(store, widget.root) == HOSTED


def test_worktrees_links_and_subfolders_share(store: Store, widget: GitRepository, tmp_path: Path):
    widget.git("worktree", "add", "-q", str(tmp_path / "side"), "-b", "side")
    (tmp_path / "link").symlink_to(widget.root)
    inner = widget.write("packages/one/a.py", "x").parent
    places = [widget.root, tmp_path / "side", tmp_path / "link", inner]
    assert {project(store, place) for place in places} == {HOSTED}
    assert project_at(store, tmp_path / "side").root == tmp_path / "side"


def test_a_submodule_is_decided_by_its_own_history(
    store: Store, widget: GitRepository, tmp_path: Path
):
    library = GitRepository.create(tmp_path / "library")
    library.commit("library", lib="x")
    library.git("remote", "add", "origin", "https://github.com/acme/library")
    use(store, library.root)
    use(store, widget.root)
    widget.git("submodule", "--quiet", "add", str(library.root), "vendor/library")
    module = widget.root / "vendor" / "library"
    GitRepository(module).git("remote", "set-url", "origin", "https://github.com/acme/library")
    assert project(store, module) == "git:github.com/acme/library"
    GitRepository(module).git("remote", "set-url", "origin", URL)
    assert project(store, module) != HOSTED


# -- The same folder over time --------------------------------------------------------------------


def test_a_folder_keeps_its_memory_from_plain_to_repository_to_remote(store: Store, tmp_path: Path):
    folder = tmp_path / "grows"
    folder.mkdir()
    first = use(store, folder)
    assert first == f"path:{folder.as_posix()}"
    repository = GitRepository.create(folder)
    assert project(store, folder) == first
    repository.commit("begin", a="1")
    second = use(store, folder)
    assert second.startswith("root:")
    repository.git("remote", "add", "origin", URL)
    assert project(store, folder) == HOSTED
    assert dict(store.projects()) == {HOSTED: 2}


def test_a_new_address_keeps_the_memory_and_later_clones_find_it(
    store: Store, widget: GitRepository, tmp_path: Path
):
    use(store, widget.root)
    widget.git("remote", "set-url", "origin", "https://github.com/new-owner/widget")
    assert project(store, widget.root) == HOSTED
    widget.git("clone", "-q", str(widget.root), str(tmp_path / "clone"))
    clone = GitRepository(tmp_path / "clone")
    clone.git("remote", "set-url", "origin", "https://github.com/new-owner/widget")
    assert project(store, clone.root) == HOSTED
    other = stranger(tmp_path / "evil", url="https://github.com/new-owner/widget")
    assert project(store, other.root) != HOSTED


def test_a_remote_that_names_another_project_does_not_lead_there(
    store: Store, widget: GitRepository, tmp_path: Path
):
    use(store, widget.root)
    other = GitRepository.create(tmp_path / "other")
    other.commit("begin", other="o")
    other.git("remote", "add", "origin", "https://github.com/acme/other")
    assert use(store, other.root) == "git:github.com/acme/other"
    other.git("remote", "set-url", "origin", URL)
    assert project(store, other.root) == "git:github.com/acme/other"


def test_a_removed_or_renamed_remote_keeps_the_memory(store: Store, widget: GitRepository):
    use(store, widget.root)
    widget.git("remote", "rename", "origin", "hub")
    assert project(store, widget.root) == HOSTED
    widget.git("remote", "remove", "hub")
    assert project(store, widget.root) == HOSTED


def test_another_repository_in_place_of_the_old_one_does_not_inherit(
    store: Store, widget: GitRepository
):
    use(store, widget.root)
    assert known_project_at(store, widget.root) is not None
    shutil.rmtree(widget.root / ".git")
    stranger(widget.root)
    assert known_project_at(store, widget.root) is None
    assert project(store, widget.root) != HOSTED


@pytest.mark.parametrize("commits", [True, False])
def test_a_repository_at_an_old_path_does_not_inherit(store: Store, tmp_path: Path, commits: bool):
    folder = tmp_path / "notes"
    folder.mkdir()
    old = use(store, folder)
    folder.rmdir()
    made = GitRepository.create(folder)
    if commits:
        made.commit("begin", a="1")
    assert known_project_at(store, folder) is None
    assert project(store, folder) != old


def test_a_new_plain_folder_at_an_old_path_does_not_inherit(store: Store, tmp_path: Path):
    folder = tmp_path / "notes"
    for _ in range(3):
        folder.mkdir()
        marks = folder_mark(folder)
        assert marks
        use(store, folder)
        assert known_project_at(store, folder) is not None
        folder.rmdir()
    assert sorted(count for _, count in store.projects()) == [1, 1, 1]


def test_a_folder_that_is_gone_still_takes_its_late_events(store: Store, tmp_path: Path):
    folder = tmp_path / "short-lived"
    folder.mkdir()
    kept = use(store, folder)
    folder.rmdir()
    assert project(store, folder) == kept


def test_a_folder_made_where_an_unseen_one_was_does_not_inherit(store: Store, tmp_path: Path):
    folder = tmp_path / "gone"
    kept = use(store, folder)
    folder.mkdir()
    assert project(store, folder) != kept


# -- Stores from before ---------------------------------------------------------------------------


def test_an_older_store_keeps_its_project_and_records_the_history(
    store: Store, widget: GitRepository, tmp_path: Path
):
    store.apply([Samples(project=HOSTED).insert("from before")])
    store.put_value(placement.LEGACY_FOLDERS, f"{HOSTED}|{widget.root}", True)
    known = known_project_at(store, widget.root)
    assert known is not None
    assert known.identity == HOSTED
    assert project(store, stranger(tmp_path / "evil").root) != HOSTED
    assert project(store, widget.root) == HOSTED


def test_an_older_store_knows_folders_by_their_sessions(
    store: Store, widget: GitRepository, tmp_path: Path
):
    at = system_clock()
    session = SessionRecord(
        id="s1", client="cli", project=HOSTED, started_at=at, last_event_at=at, cwd=str(widget.root)
    )
    store.apply([PutSession(session)])
    assert known_project_at(store, widget.root) is not None
    assert project(store, stranger(tmp_path / "evil").root) != HOSTED
    assert project(store, widget.root) == HOSTED
    widget.git("clone", "-q", str(widget.root), str(tmp_path / "clone"))
    GitRepository(tmp_path / "clone").git("remote", "set-url", "origin", URL)
    assert project(store, tmp_path / "clone") == HOSTED


def test_an_older_store_keeps_plain_folders_and_what_became_repositories(
    store: Store, tmp_path: Path
):
    folder = tmp_path / "plain"
    folder.mkdir()
    name = f"path:{folder.as_posix()}"
    store.apply([Samples(project=name).insert("from before")])
    GitRepository.create(folder).commit("begin", a="1")
    assert project(store, folder).startswith("root:")
    assert store.projects() == [(project(store, folder), 1)]


# -- Cheap questions ------------------------------------------------------------------------------


def test_the_hook_runs_no_git_and_says_nothing_of_a_folder_nobody_decided_for(
    widget: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    environment = {"WELLKEPT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    with wellkept.open(cwd=widget.root, embedder="none", environment=environment) as memory:
        memory.remember(SMOKE_RULE, type="convention", source="user_taught")
    other = stranger(tmp_path / "evil")

    def refuse(*_: object, **__: object) -> bytes | None:
        raise AssertionError("git was run")

    monkeypatch.setattr(git, "git_program", refuse)
    provider = HookContextProvider(
        lambda folder: open_existing(folder, environment=environment, busy_timeout_ms=50)
    )
    try:
        asked = [
            provider(
                HookContextRequest(client="c", session="s1", moment="session", cwd=str(folder)),
                frozenset(),
            ).text
            for folder in (widget.root, other.root, widget.root)
        ]
    finally:
        provider.close()
    assert "smoke test" in asked[0]
    assert "smoke test" not in asked[1]
    assert "smoke test" in asked[2]


def test_a_long_lived_process_notices_another_repository_in_the_folder(
    widget: GitRepository, tmp_path: Path
):
    environment = {"WELLKEPT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    with wellkept.open(cwd=widget.root, embedder="none", environment=environment) as memory:
        memory.remember(SMOKE_RULE, type="convention", source="user_taught")
    provider = HookContextProvider(
        lambda folder: open_existing(folder, environment=environment, busy_timeout_ms=50)
    )
    request = HookContextRequest(client="c", session="s1", moment="session", cwd=str(widget.root))
    try:
        assert "smoke test" in provider(request, frozenset()).text
        shutil.rmtree(widget.root / ".git")
        stranger(widget.root)
        assert "smoke test" not in provider(request, frozenset()).text
    finally:
        provider.close()


@pytest.mark.feature("A10")
def test_a_checkout_with_a_forbidden_setting_is_answered_all_the_same(
    widget: GitRepository, tmp_path: Path
):
    widget.write(".wellkept.toml", "project = 'stolen'\n[store]\npath = '/tmp/elsewhere.db'\n")
    environment = {"WELLKEPT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    with wellkept.open(cwd=widget.root, embedder="none", environment=environment) as memory:
        memory.remember(SMOKE_RULE, type="convention", source="user_taught")
        assert memory.project == HOSTED
        assert len(memory.settings.warnings) == 2
    provider = HookContextProvider(
        lambda folder: open_existing(
            folder, environment=environment, busy_timeout_ms=50, with_skills=True
        )
    )
    request = HookContextRequest(client="c", session="s1", moment="session", cwd=str(widget.root))
    try:
        assert "smoke test" in provider(request, frozenset()).text
    finally:
        provider.close()


def test_a_read_only_memory_decides_without_writing(widget: GitRepository, tmp_path: Path):
    path = tmp_path / "memory.db"
    with closing(open_store(path)) as store:
        use(store, widget.root)
    other = stranger(tmp_path / "evil")
    with wellkept.open(
        path, cwd=other.root, embedder="none", settings=Settings(), environment={}, read_only=True
    ) as memory:
        assert memory.project != HOSTED
        assert memory.project_note is not None
