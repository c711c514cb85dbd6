"""Files that change together are learned from history alone, and followed through renames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.graph.history.co_change import SIGNALS, WEIGHTS, CoChange, train
from wellkept.graph.history.commits import (
    ChangeStatus,
    CommitFile,
    FileNumbers,
    PastCommit,
    is_test,
    subject,
)

pytestmark = pytest.mark.feature("D5")


def commit(*paths: str, message: str = "work") -> PastCommit:
    changes = tuple(CommitFile(ChangeStatus.CHANGED, path, path) for path in paths)
    return PastCommit(sha="0" * 40, message=message, changes=changes)


def renamed(old: str, new: str) -> PastCommit:
    return PastCommit("0" * 40, "move", (CommitFile(ChangeStatus.RENAMED, old, new),))


def deleted(path: str) -> PastCommit:
    return PastCommit("0" * 40, "drop", (CommitFile(ChangeStatus.DELETED, path, path),))


def names(model: CoChange, path: str, limit: int = 5) -> list[str]:
    return [partner.path for partner in model.partners(path, limit=limit)]


NOISE = [commit(f"noise/{i % 7}.py", f"noise/{(i + 3) % 7}.py") for i in range(30)]


def test_a_file_that_always_changes_with_it_comes_first() -> None:
    model = train([*[commit("src/db.py", "docs/schema.md")] * 6, *NOISE])
    first = model.partners("src/db.py")[0]
    assert first.path == "docs/schema.md"
    assert first.together == 6
    assert first.likelihood > 0.5
    assert "changed together 6 times" in first.reasons


def test_a_test_is_named_for_its_source_before_they_ever_changed_together() -> None:
    history = [commit("src/pool.py", "src/core.py"), commit("tests/test_pool.py", "tests/util.py")]
    model = train([*history, *NOISE])
    assert "tests/test_pool.py" in names(model, "src/pool.py", limit=3)


def test_a_renamed_file_keeps_its_history() -> None:
    history = [*[commit("a/old.py", "a/friend.py")] * 5, renamed("a/old.py", "b/new.py"), *NOISE]
    model = train(history)
    assert names(model, "b/new.py")[0] == "a/friend.py"
    assert "b/new.py" in names(model, "a/friend.py")
    assert "a/old.py" not in names(model, "a/friend.py", limit=50)


def test_a_deleted_file_is_never_named() -> None:
    model = train([*[commit("a.py", "gone.py")] * 5, deleted("gone.py"), *NOISE])
    assert "gone.py" not in names(model, "a.py", limit=50)


def test_a_bulk_commit_is_ignored() -> None:
    bulk = commit(*(f"all/{i}.py" for i in range(200)))
    model = train([bulk, *NOISE])
    assert all(partner.together == 0 for partner in model.partners("all/1.py", limit=50))


def test_what_changed_together_lately_outranks_what_did_long_ago() -> None:
    old, new = [commit("a.py", "then.py")] * 6, [commit("a.py", "now.py")] * 6
    model = train([*old, *NOISE * 20, *new])
    order = names(model, "a.py", limit=10)
    assert order.index("now.py") < order.index("then.py")


def test_a_new_file_is_predicted_by_its_folder() -> None:
    model = train([*[commit("api/users.py", "api/routes.py")] * 5, *NOISE])
    assert "api/routes.py" in names(model, "api/orders.py")


def test_files_with_similar_names_in_parallel_folders_predict_each_other() -> None:
    languages = ["de", "es", "fr", "ja"]
    pages = [commit(f"docs/{name}/async.md", f"docs/{name}/features.md") for name in languages]
    alone = [commit("docs/pt/async.md"), commit("docs/pt/features.md"), commit("docs/pt/other.md")]
    model = train([*alone, *NOISE, *pages, *NOISE])
    named = {partner.path: partner for partner in model.partners("docs/pt/async.md")}
    assert "like files with similar names" in named["docs/pt/features.md"].reasons
    assert "docs/pt/other.md" not in named


def test_a_file_expected_by_similar_names_is_named_before_it_exists() -> None:
    pairs = [commit(f"src/{name}.py", f"tests/test_{name}.py") for name in ("pool", "url", "auth")]
    model = train([*NOISE, *pairs])
    expected = [p for p in model.partners("src/cookies.py", limit=9) if not p.exists]
    assert [partner.path for partner in expected] == ["tests/test_cookies.py"]


def test_a_file_that_was_deleted_is_not_expected_again() -> None:
    pairs = [commit(f"src/{name}.py", f"tests/test_{name}.py") for name in ("pool", "url", "auth")]
    model = train([commit("tests/test_cookies.py"), deleted("tests/test_cookies.py"), *pairs])
    assert "tests/test_cookies.py" not in names(model, "src/cookies.py", limit=50)


def test_an_expected_name_uses_the_case_of_the_requested_file() -> None:
    pairs = [commit(f"main/{name}.java", f"test/{name}Test.java") for name in ("Pool", "UrlPart")]
    model = train([*pairs, *NOISE])
    assert "test/CookieJarTest.java" in names(model, "main/CookieJar.java", limit=20)


def test_an_empty_history_names_nothing() -> None:
    assert CoChange().partners("a.py") == []


def test_the_answer_is_the_same_every_time() -> None:
    history = [*[commit("a.py", "b.py", "c.py")] * 4, *NOISE]
    assert train(history).partners("a.py") == train(history).partners("a.py")


def test_every_signal_has_a_weight() -> None:
    assert len(SIGNALS) == len(WEIGHTS)


_PATHS = st.sampled_from(["a.py", "b.py", "tests/test_a.py", "d/e.md", "d/f.md"])


@st.composite
def _changes(draw: st.DrawFn) -> CommitFile:
    status, old = draw(st.sampled_from(list(ChangeStatus))), draw(_PATHS)
    moves = status in (ChangeStatus.RENAMED, ChangeStatus.COPIED)
    return CommitFile(status, old, draw(_PATHS) if moves else old)


@st.composite
def _commits(draw: st.DrawFn) -> list[PastCommit]:
    sets = draw(st.lists(st.lists(_changes(), max_size=5), max_size=12))
    return [PastCommit("0" * 40, "", tuple(changes)) for changes in sets]


@given(_commits())
def test_a_named_file_exists_or_never_existed_and_is_not_the_requested_one(
    commits: list[PastCommit],
) -> None:
    model = train(commits)
    for path in ("a.py", "d/e.md", "new.py"):
        named = model.partners(path, limit=50)
        assert path not in [partner.path for partner in named]
        for partner in named:
            assert partner.exists == (model.files.number(partner.path) is not None)
            assert partner.exists or not model.files.ever_existed(partner.path)
            assert 0 <= partner.likelihood <= 1


@given(_commits())
def test_names_and_files_agree_whatever_was_moved(commits: list[PastCommit]) -> None:
    files = FileNumbers()
    for one in commits:
        files.follow(one)
    for change in (change for one in commits for change in one.changes):
        for path in (change.old, change.new):
            number = files.number(path)
            if number is not None:
                assert files.name(number) == path
                assert files.is_present(number)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("Mend it\n\nSigned-off-by: A <a@example.org>\nCo-Authored-By: B", "Mend it"),
        ("Mend it\n\ngit-svn-id: https://example.org@1 2", "Mend it"),
        ("Mend drive-by: again\n\nNote: kept", "Mend drive-by: again\n\nNote: kept"),
    ],
)
def test_trailers_are_not_part_of_the_message_text(message: str, text: str) -> None:
    assert PastCommit("0" * 40, message, ()).message_text.strip() == text


@pytest.mark.parametrize(
    ("path", "about", "test"),
    [
        ("src/_urls.py", "urls", False),
        ("tests/test_urls.py", "urls", True),
        ("pkg/urls_test.go", "urls", True),
        ("src/app.spec.ts", "app", True),
        ("src/UrlParserTest.java", "urlparser", True),
        ("src/latest.py", "latest", False),
        ("contest/rules.md", "rules", False),
    ],
)
def test_the_subject_of_a_file_name(path: str, about: str, test: bool) -> None:
    assert subject(path) == about
    assert is_test(path) is test
