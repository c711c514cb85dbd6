"""Conformance: the words of source trees and their past commits.

An engine's test file subclasses `CodeSearchConformance` and gives it a `texts` fixture.
"""

from __future__ import annotations

import pytest

from wellkept.core.ports.code_search import (
    CodeSearchStore,
    CommitCount,
    CommitText,
    FileText,
    FileVectors,
    VectorKind,
)

TREE, OTHER = "here", "elsewhere"


def text(path: str, body: str, *, symbols: str = "", stamp: str = "1") -> FileText:
    """A file whose path words are the parts of its path."""
    words = path.replace("/", " ").replace(".", " ")
    return FileText(
        path=path,
        stamp=stamp,
        path_words=words,
        symbol_words=symbols,
        body_words=body,
    )


def commit(sha: str, order: int, message: str, *files: str) -> CommitText:
    """A commit whose subject is its message."""
    return CommitText(sha=sha, order=order, subject=message, message_words=message, files=files)


class CodeSearchConformance:
    """Every promise of `wellkept.core.ports.code_search.CodeTexts`."""

    @pytest.fixture
    def texts(self) -> CodeSearchStore:
        raise NotImplementedError("An engine's tests give a way to open it.")

    def found(self, texts: CodeSearchStore, *words: str, tree: str = TREE) -> list[str]:
        return [hit.path for hit in texts.search_texts(tree, words, limit=10)]

    def test_files_with_any_of_the_words_are_found_and_the_best_comes_first(
        self, texts: CodeSearchStore
    ) -> None:
        texts.put_texts(TREE, [text("a.py", "pool"), text("b.py", "pool queue"), text("c.py", "x")])
        assert self.found(texts, "pool", "queue") == ["b.py", "a.py"]

    @pytest.mark.parametrize(
        "word", ['"', '" OR "', "*", "NEAR(a b)", "body:pool", "NOT", "(", "a\0b", "\ud800", ""]
    )
    def test_words_are_data_and_never_syntax(self, texts: CodeSearchStore, word: str) -> None:
        texts.put_texts(TREE, [text("a.py", "pool"), text("b.py", "other")])
        texts.put_commits(TREE, [commit("1", 1, "pool", "a.py"), commit("2", 2, "other", "b.py")])
        assert self.found(texts, word, "pool") == ["a.py"]
        assert [hit.sha for hit in texts.search_commits(TREE, [word, "pool"], limit=9)] == ["1"]

    def test_a_word_that_stands_in_every_file_still_counts(self, texts: CodeSearchStore) -> None:
        texts.put_texts(TREE, [text("a.py", "client"), text("b.py", "client client client")])
        assert self.found(texts, "client") == ["b.py", "a.py"]
        assert all(hit.score > 1e-3 for hit in texts.search_texts(TREE, ["client"], limit=5))

    def test_each_part_of_a_file_has_its_score(self, texts: CodeSearchStore) -> None:
        texts.put_texts(TREE, [text("pool.py", "queue", symbols="take"), text("b.py", "rest")])
        (by_path,) = texts.search_texts(TREE, ["pool"], limit=5)
        (by_symbol,) = texts.search_texts(TREE, ["take"], limit=5)
        (by_body,) = texts.search_texts(TREE, ["queue"], limit=5)
        assert by_path.path_score > 0 == by_path.body_score == by_path.symbol_score
        assert by_symbol.symbol_score > 0 == by_symbol.path_score == by_symbol.body_score
        assert by_body.body_score > 0 == by_body.path_score == by_body.symbol_score

    def test_trees_do_not_see_each_other(self, texts: CodeSearchStore) -> None:
        texts.put_texts(TREE, [text("a.py", "pool")])
        texts.put_texts(OTHER, [text("a.py", "secret")])
        texts.put_commits(OTHER, [commit("s1", 1, "pool", "a.py")])
        assert self.found(texts, "secret") == []
        assert texts.search_commits(TREE, ["pool"], limit=5) == []
        assert texts.commit_counts(TREE, ["a.py"]) == {}
        assert self.found(texts, "secret", tree="unknown") == []

    def test_a_file_put_again_is_replaced_and_a_dropped_one_is_gone(
        self, texts: CodeSearchStore
    ) -> None:
        texts.put_texts(TREE, [text("a.py", "old"), text("b.py", "stay")])
        texts.put_texts(TREE, [text("a.py", "new", stamp="2")])
        assert self.found(texts, "old") == []
        assert self.found(texts, "new") == ["a.py"]
        texts.drop_texts(TREE, ["a.py", "never.py"])
        assert self.found(texts, "new") == []
        assert texts.text_stamps(TREE) == {"b.py": "1"}

    def test_words_are_data_and_never_a_query(self, texts: CodeSearchStore) -> None:
        texts.put_texts(TREE, [text("a.py", "pool"), text("b.py", "queue")])
        for hostile in ('" OR "', "pool*", "NOT", "NEAR(pool queue)", "body : queue", "", "^pool"):
            assert set(self.found(texts, hostile)) <= {"a.py", "b.py"}
        assert self.found(texts) == []

    def test_commits_are_found_by_their_message_with_the_files_they_touched(
        self, texts: CodeSearchStore
    ) -> None:
        texts.put_commits(
            TREE, [commit("s1", 1, "fix pool", "a.py", "b.py"), commit("s2", 2, "docs", "c.md")]
        )
        (hit,) = texts.search_commits(TREE, ["pool"], limit=5)
        assert (hit.sha, hit.order, hit.files) == ("s1", 1, ("a.py", "b.py"))
        last = texts.last_commit(TREE)
        assert last is not None
        assert last.sha == "s2"

    def test_a_commit_put_twice_counts_once(self, texts: CodeSearchStore) -> None:
        for _ in range(2):
            texts.put_commits(TREE, [commit("s1", 1, "fix pool", "a.py")])
        assert len(texts.search_commits(TREE, ["pool"], limit=5)) == 1
        assert texts.commit_counts(TREE, ["a.py", "b.py"]) == {
            "a.py": CommitCount(times=1, last_order=1)
        }

    def test_past_commits_follow_a_renamed_file(self, texts: CodeSearchStore) -> None:
        texts.put_commits(
            TREE, [commit("s1", 1, "fix", "a.py", "b.py"), commit("s2", 2, "x", "a.py")]
        )
        texts.rename_in_commits(TREE, {"a.py": "b.py"})
        assert texts.commit_counts(TREE, ["a.py", "b.py"]) == {
            "b.py": CommitCount(times=2, last_order=2)
        }

    def test_files_may_swap_their_names(self, texts: CodeSearchStore) -> None:
        texts.put_commits(TREE, [commit("s1", 1, "x", "a.py"), commit("s2", 2, "x", "b.py")])
        texts.rename_in_commits(TREE, {"a.py": "b.py", "b.py": "a.py"})
        assert texts.commit_counts(TREE, ["a.py", "b.py"]) == {
            "a.py": CommitCount(times=1, last_order=2),
            "b.py": CommitCount(times=1, last_order=1),
        }

    def test_dropped_commits_are_gone(self, texts: CodeSearchStore) -> None:
        texts.put_commits(TREE, [commit("s1", 1, "fix pool", "a.py")])
        texts.drop_commits(TREE)
        assert texts.last_commit(TREE) is None
        assert texts.search_commits(TREE, ["pool"], limit=5) == []
        assert texts.commit_counts(TREE, ["a.py"]) == {}

    def test_files_touched_together_are_told_by_their_share(self, texts: CodeSearchStore) -> None:
        texts.put_commits(
            TREE,
            [
                commit("s1", 1, "x", "a.py", "b.py"),
                commit("s2", 2, "x", "a.py", "b.py", "c.py"),
                commit("s3", 3, "x", "c.py", "d.py"),
            ],
        )
        found = texts.co_changed(TREE, "a.py", limit=5)
        assert [(one.path, one.share) for one in found] == [("b.py", 0.5), ("c.py", 0.25)]
        assert texts.co_changed(OTHER, "a.py", limit=5) == []
        assert len(texts.co_changed(TREE, "a.py", limit=1)) == 1

    def test_the_files_of_the_last_commits_are_told_the_latest_first(
        self, texts: CodeSearchStore
    ) -> None:
        past = [("b.py", "a.py"), ("c.py",), ("a.py",), ("d.py",)]
        texts.put_commits(TREE, [commit(f"s{i}", i, "x", *f) for i, f in enumerate(past, 1)])
        assert texts.recent_files(TREE, commits=2) == ["d.py", "a.py"]
        assert texts.recent_files(TREE, commits=9) == ["d.py", "a.py", "c.py", "b.py"]
        assert texts.recent_files(OTHER, commits=9) == []

    def test_what_was_said_of_a_file_is_told_from_the_newest_on(
        self, texts: CodeSearchStore
    ) -> None:
        past = [commit(f"s{i}", i, f"change {i}", "a.py") for i in range(1, 5)]
        texts.put_commits(TREE, [*past, commit("s9", 9, "other", "b.py")])
        assert texts.subjects(TREE, "a.py", limit=2) == ["change 4", "change 3"]
        assert texts.subjects(OTHER, "a.py", limit=2) == []

    def test_vectors_are_kept_by_file_and_kind(self, texts: CodeSearchStore) -> None:
        old, new = FileVectors("1", b"\x01"), FileVectors("2", b"\x02\x00")
        texts.put_vectors(TREE, VectorKind.CODE, {"a.py": old, "b.py": old})
        texts.put_vectors(TREE, VectorKind.HISTORY, {"a.py": old})
        texts.put_vectors(TREE, VectorKind.CODE, {"a.py": new})
        asked = ["a.py", "b.py", "c.py"]
        assert texts.vectors(TREE, VectorKind.CODE, asked) == {"a.py": new, "b.py": old}
        assert texts.vectors(TREE, VectorKind.HISTORY, asked) == {"a.py": old}
        assert texts.vectors(OTHER, VectorKind.CODE, asked) == {}

    def test_vectors_go_with_what_they_were_made_of(self, texts: CodeSearchStore) -> None:
        texts.put_texts(TREE, [text("a.py", "pool"), text("b.py", "pool")])
        for kind in VectorKind:
            texts.put_vectors(TREE, kind, dict.fromkeys(("a.py", "b.py"), FileVectors("1", b"")))
        texts.drop_texts(TREE, ["a.py"])
        assert list(texts.vectors(TREE, VectorKind.CODE, ["a.py", "b.py"])) == ["b.py"]
        texts.drop_commits(TREE)
        assert texts.vectors(TREE, VectorKind.HISTORY, ["a.py", "b.py"]) == {}
        assert list(texts.vectors(TREE, VectorKind.CODE, ["b.py"])) == ["b.py"]
