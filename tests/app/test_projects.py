"""One resolver says which project a folder belongs to."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from tests.app.git_repositories import GitRepository
from wellkept.core.errors import UsageError
from wellkept.memory.file_presence import relative_path
from wellkept.project.resolver import (
    ProjectKind,
    path_identity,
    resolve_project,
)

pytestmark = pytest.mark.feature("A1")

HOSTED = "git:github.com/acme/widget"


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    made = GitRepository.create(tmp_path / "widget")
    made.commit("begin", readme="hello")
    return made


def identity(folder: Path) -> str:
    return resolve_project(folder).identity


def test_an_explicit_name_wins_over_everything(repository: GitRepository):
    repository.git("remote", "add", "origin", "https://github.com/acme/widget")
    project = resolve_project(repository.root, explicit_name="  Acme  Shop ")
    assert (project.identity, project.name, project.kind) == (
        "name:acme shop",
        "Acme Shop",
        ProjectKind.NAME,
    )
    assert project.root == repository.root


@pytest.mark.parametrize("name", ["", "   ", "a\x00b", "x" * 300])
def test_a_name_that_names_nothing_is_refused(tmp_path: Path, name: str):
    with pytest.raises(UsageError, match="cannot name a project"):
        resolve_project(tmp_path, explicit_name=name)


def test_a_remote_names_the_project_from_any_subfolder(repository: GitRepository):
    repository.git("remote", "add", "origin", "git@github.com:Acme/Widget.git")
    inner = repository.write("src/deep/a.py", "x").parent
    project = resolve_project(inner)
    assert (project.identity, project.name, project.root) == (HOSTED, "Widget", repository.root)
    assert identity(inner / "a.py") == HOSTED
    assert identity(inner / "not" / "there" / "yet") == HOSTED


def test_origin_comes_first_then_upstream_then_by_name(repository: GitRepository):
    repository.git("remote", "add", "backup", "https://example.org/b/b")
    repository.git("remote", "add", "another", "https://example.org/a/a")
    assert identity(repository.root) == "git:example.org/a/a"
    repository.git("remote", "add", "upstream", "https://example.org/u/u")
    assert identity(repository.root) == "git:example.org/u/u"
    repository.git("remote", "add", "origin", "https://example.org/o/o")
    assert identity(repository.root) == "git:example.org/o/o"


def test_clones_with_different_address_forms_share_a_project(
    repository: GitRepository, tmp_path: Path
):
    other = GitRepository.create(tmp_path / "elsewhere")
    repository.git("remote", "add", "origin", "https://user:secret@github.com:443/acme/widget.git/")
    other.git("remote", "add", "origin", "ssh://git@ssh.github.com:443/acme/widget")
    assert identity(repository.root) == identity(other.root) == HOSTED


def test_worktrees_share_their_project_but_have_their_own_root(
    repository: GitRepository, tmp_path: Path
):
    repository.git("worktree", "add", "-q", str(tmp_path / "side"), "-b", "side")
    main, side = resolve_project(repository.root), resolve_project(tmp_path / "side")
    assert main.identity == side.identity
    assert side.root == tmp_path / "side"
    repository.git("remote", "add", "origin", "https://github.com/acme/widget")
    assert identity(tmp_path / "side") == HOSTED


def test_a_worktree_on_an_orphan_branch_still_shares_the_root_commit(
    repository: GitRepository, tmp_path: Path
):
    before = identity(repository.root)
    repository.git("checkout", "-q", "--orphan", "pages")
    repository.commit("pages begin", index="page")
    assert identity(repository.root) == before


def test_a_repository_without_remote_goes_by_its_root_commit(
    repository: GitRepository, tmp_path: Path
):
    root = repository.git("rev-list", "--max-parents=0", "HEAD")
    repository.commit("more", a="1")
    project = resolve_project(repository.root)
    assert (project.identity, project.kind) == (f"root:{root}", ProjectKind.ROOT)
    shutil.copytree(repository.root, tmp_path / "copy")
    assert identity(tmp_path / "copy") == f"root:{root}"


def test_merging_in_an_older_history_does_not_rename_the_project(
    repository: GitRepository, tmp_path: Path
):
    before = identity(repository.root)
    older = GitRepository.create(tmp_path / "older")
    older.commit("ancient", lib="x")
    repository.git("fetch", "-q", str(older.root), "main")
    repository.git("merge", "-q", "--allow-unrelated-histories", "-m", "join", "FETCH_HEAD")
    assert identity(repository.root) == before


def test_a_local_clone_shares_the_root_commit_of_its_source(
    repository: GitRepository, tmp_path: Path
):
    repository.git("clone", "-q", str(repository.root), str(tmp_path / "clone"))
    assert identity(tmp_path / "clone") == identity(repository.root)


def test_a_local_clone_follows_its_source_to_the_hosted_remote(
    repository: GitRepository, tmp_path: Path
):
    repository.git("remote", "add", "origin", "https://github.com/acme/widget")
    repository.git("clone", "-q", f"file://{repository.root}", str(tmp_path / "one"))
    repository.git("clone", "-q", str(tmp_path / "one"), str(tmp_path / "two"))
    assert identity(tmp_path / "one") == identity(tmp_path / "two") == HOSTED


def test_repositories_that_are_each_others_remote_do_not_loop(tmp_path: Path):
    left, right = (GitRepository.create(tmp_path / side) for side in ("left", "right"))
    left.git("remote", "add", "origin", str(right.root))
    right.git("remote", "add", "origin", str(left.root))
    assert resolve_project(left.root).kind is ProjectKind.PATH


def test_a_shallow_clone_goes_by_path_and_says_why(repository: GitRepository, tmp_path: Path):
    repository.commit("second", a="1")
    repository.git("clone", "-q", "--depth=1", f"file://{repository.root}", str(tmp_path / "s"))
    project = resolve_project(tmp_path / "s")
    assert project.kind is ProjectKind.PATH
    assert project.note is not None
    assert "shallow" in project.note


def test_a_submodule_is_a_project_of_its_own(repository: GitRepository, tmp_path: Path):
    library = GitRepository.create(tmp_path / "library")
    library.commit("library", lib="x")
    repository.git("submodule", "--quiet", "add", str(library.root), "vendor/library")
    project = resolve_project(repository.root / "vendor" / "library")
    assert project.identity == identity(library.root) != identity(repository.root)
    assert project.root == repository.root / "vendor" / "library"


def test_a_bare_repository_shares_the_project_of_its_clones(
    repository: GitRepository, tmp_path: Path
):
    repository.git("clone", "-q", "--bare", str(repository.root), str(tmp_path / "hub.git"))
    assert identity(tmp_path / "hub.git") == identity(repository.root)
    assert identity(tmp_path / "hub.git" / "hooks") == identity(repository.root)


def test_the_git_folder_itself_belongs_to_its_work_tree(repository: GitRepository):
    project = resolve_project(repository.root / ".git" / "hooks")
    assert project.root == repository.root


def test_a_symlink_into_a_repository_belongs_to_it(repository: GitRepository, tmp_path: Path):
    inner = repository.write("src/a.py", "x").parent
    (tmp_path / "link").symlink_to(inner)
    assert resolve_project(tmp_path / "link").root == repository.root


def test_a_plain_folder_goes_by_its_real_path(tmp_path: Path):
    folder = tmp_path / "plain"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    project = resolve_project(tmp_path / "link")
    assert (project.identity, project.name) == (f"path:{folder.as_posix()}", "plain")


def test_an_empty_repository_goes_by_path(tmp_path: Path):
    empty = GitRepository.create(tmp_path / "empty")
    project = resolve_project(empty.root)
    assert (project.kind, project.note) == (ProjectKind.PATH, None)


@pytest.mark.parametrize("pointer", ["gitdir: /nowhere/at/all", "nonsense", "", "\0\1binary"])
def test_a_broken_git_file_goes_by_path_and_says_why(tmp_path: Path, pointer: str):
    (tmp_path / ".git").write_text(pointer)
    project = resolve_project(tmp_path)
    assert (project.kind, project.root) == (ProjectKind.PATH, tmp_path)
    assert project.note


def test_an_empty_git_folder_is_passed_over(repository: GitRepository):
    inner = repository.root / "inner"
    (inner / ".git").mkdir(parents=True)
    assert resolve_project(inner).root == repository.root


def test_without_the_git_program_a_remote_still_names_the_project(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch
):
    root_identity = identity(repository.root)
    monkeypatch.setenv("PATH", "")
    without = resolve_project(repository.root)
    assert root_identity.startswith("root:")
    assert without.kind is ProjectKind.PATH
    assert without.note
    config = repository.root / ".git" / "config"
    config.write_text(config.read_text() + '[remote "origin"]\n\turl = github.com:acme/widget\n')
    assert identity(repository.root) == HOSTED


def test_another_repository_in_the_environment_is_ignored(
    repository: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before = identity(repository.root)
    other = GitRepository.create(tmp_path / "other")
    other.commit("other", a="b")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    assert identity(repository.root) == before


def test_a_dotfiles_repository_at_home_does_not_swallow_other_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home = GitRepository.create(tmp_path / "home")
    home.git("remote", "add", "origin", "https://github.com/acme/dotfiles")
    monkeypatch.setenv("HOME", str(home.root))
    work = home.root / "work"
    work.mkdir()
    assert identity(home.root) == "git:github.com/acme/dotfiles"
    assert resolve_project(work).kind is ProjectKind.PATH
    assert identity(Path("~/work")) == identity(work)


def test_included_configuration_and_shorthand_are_put_to_git(
    repository: GitRepository, tmp_path: Path
):
    extra = tmp_path / "extra.cfg"
    extra.write_text('[remote "origin"]\n\turl = https://github.com/acme/widget\n')
    repository.git("config", "include.path", str(extra))
    assert identity(repository.root) == HOSTED

    other = GitRepository.create(tmp_path / "short")
    other.git("remote", "add", "origin", "gh:acme/widget")
    other.git("config", "url.https://github.com/.insteadOf", "gh:")
    assert identity(other.root) == HOSTED


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PureWindowsPath("C:\\Users\\Me\\Repo"), "path:c:/users/me/repo"),
        (PureWindowsPath("c:/users/me/repo"), "path:c:/users/me/repo"),
        (PureWindowsPath("\\\\?\\C:\\Users\\Me\\Repo"), "path:c:/users/me/repo"),
        (PureWindowsPath("\\\\Server\\Share\\Repo"), "path:server/share/repo"),
        (PureWindowsPath("\\\\?\\UNC\\Server\\Share\\Repo"), "path:server/share/repo"),
        (PurePosixPath("/srv/Repo"), "path:/srv/Repo"),
        (PurePosixPath("/srv/\udcff"), "path:/srv/\ufffd"),
    ],
)
def test_a_path_identity_is_the_same_however_it_is_written(path: PurePosixPath, expected: str):
    assert path_identity(path) == expected


class TestRelativePaths:
    def test_paths_inside_become_posix_and_relative(self, tmp_path: Path):
        for given in ("src/a.py", "./src//a.py", "src\\a.py", tmp_path / "src/a.py"):
            assert relative_path(tmp_path, given) == "src/a.py"
        assert relative_path(tmp_path, "lib/../src/a.py") == "src/a.py"

    @pytest.mark.parametrize(
        "given", ["../x", "/etc/passwd", "a/../../x", "C:\\x", "C:/x", "\\\\host\\share\\x"]
    )
    def test_paths_outside_are_refused(self, tmp_path: Path, given: str):
        with pytest.raises(UsageError, match="outside the project"):
            relative_path(tmp_path, given)

    @pytest.mark.parametrize("given", ["", "a\0b"])
    def test_what_is_no_path_is_refused(self, tmp_path: Path, given: str):
        with pytest.raises(UsageError, match="not a file path"):
            relative_path(tmp_path, given)

    def test_a_link_that_leads_out_is_refused_and_one_inside_keeps_its_name(self, tmp_path: Path):
        root = tmp_path / "root"
        root.mkdir()
        (root / "real.py").touch()
        (root / "alias.py").symlink_to(root / "real.py")
        (root / "out.py").symlink_to(tmp_path / "elsewhere.py")
        assert relative_path(root, "alias.py") == "alias.py"
        with pytest.raises(UsageError, match="outside"):
            relative_path(root, "out.py")

    def test_a_root_reached_through_a_link_accepts_the_real_path(self, tmp_path: Path):
        (tmp_path / "root").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "root")
        assert relative_path(tmp_path / "link", tmp_path / "root" / "a.py") == "a.py"
