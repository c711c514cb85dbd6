"""A repository as it was at given commits: the words of its files, and the history behind it.

Nothing that came after a state is known in it: the files are those of its tree, the commits those
that it descends from. Going on to a later state reads only what changed in between.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.plain_bm25 import PlainBm25
from wellkept.core.clock import system_clock
from wellkept.graph.history.git_log import read_past
from wellkept.graph.search.embeddings import CodeEmbeddings
from wellkept.graph.search.file_search import WEIGHTS, FileSearch
from wellkept.graph.search.term_index import TermIndex, decoded, file_text, is_indexable, words
from wellkept.models.embedders.bundled_models import STATIC
from wellkept.models.embedders.static import StaticEmbedder
from wellkept.store.sqlite.code_search import SqliteCodeSearch

TREE = "bench"
_ALL_COMMITS = 1_000_000


class Blobs:
    """Contents of files at commits, from one git process."""

    def __init__(self, repo: Path) -> None:
        self._git = subprocess.Popen(
            ["git", "-C", str(repo), "cat-file", "--batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def text(self, sha: str, path: str) -> str | None:
        """A file's text; None for what is no file, or not worth reading."""
        assert self._git.stdin
        assert self._git.stdout
        if "\n" in path:
            return None
        self._git.stdin.write(f"{sha}:{path}\n".encode("utf-8", "surrogateescape"))
        self._git.stdin.flush()
        head = self._git.stdout.readline().split()
        if len(head) != 3 or not head[2].isdigit():
            return None
        data = self._git.stdout.read(int(head[2]) + 1)[:-1]
        if head[1] != b"blob" or not is_indexable(path, len(data)):
            return None
        return decoded(data) or ""

    def close(self) -> None:
        """End the process."""
        self._git.communicate()


class Words:
    """What the finder and its peer know of files, kept alike."""

    def __init__(self, folder: Path) -> None:
        self.texts = SqliteCodeSearch.open(
            folder / "words.db", busy_timeout_ms=1000, clock=system_clock
        )
        self._peer = PlainBm25()
        self._bodies: dict[str, str] = {}

    def finder(self, weights: Sequence[float] = WEIGHTS) -> FileSearch:
        """A finder on these words, with meaning where the bundled model is installed."""
        embedder = None if STATIC.problem() else _static()
        embeddings = embedder and CodeEmbeddings(
            self.texts, TREE, embedder=embedder, read=self._bodies.get
        )
        return FileSearch(
            self.texts, TREE, embeddings=embeddings, read=self._bodies.get, weights=weights
        )

    def put(self, read: Mapping[str, str | None], *, stamp: str) -> None:
        """Keep the words of files, as far as they can be read, for what was kept of them."""
        bodies = {path: body for path, body in read.items() if body is not None}
        self.drop([path for path in read if path not in bodies])
        self._bodies |= bodies
        texts = [file_text(path, body, stamp=stamp) for path, body in bodies.items()]
        self.texts.put_texts(TREE, texts)
        for text in texts:
            self._peer.put(text.path, (3 * f"{text.path_words} " + text.body_words).split())

    def body(self, path: str) -> str | None:
        """The text of a file."""
        return self._bodies.get(path)

    def drop(self, paths: list[str]) -> None:
        """Forget files."""
        self.texts.drop_texts(TREE, paths)
        for path in paths:
            self._peer.drop(path)
            self._bodies.pop(path, None)

    def by_bm25(self, request: str, *, limit: int) -> list[str]:
        """The peer: BM25 over content and, three times, the path."""
        return self._peer.search(words(request), limit=limit)


@cache
def _static() -> StaticEmbedder:
    return StaticEmbedder()


class State:
    """A repository at one commit after another."""

    def __init__(self, repo: Path) -> None:
        self._repo = repo
        self._blobs = Blobs(repo)
        self._begin()

    def _begin(self) -> None:
        self._folder = TemporaryDirectory()
        self.words = Words(Path(self._folder.name))
        self.finder = self.words.finder()
        self.files: dict[str, str] = {}
        self._at: str | None = None
        self.commits = 0

    def go_to(self, sha: str) -> None:
        """Know what was known at a commit, and nothing else."""
        if self._at and not self._is_behind(self._at, sha):
            self._end()
            self._begin()
        book = TermIndex(self.words.texts, TREE, root=self._repo)
        past = read_past(self._repo, limit=_ALL_COMMITS, after=self._at, upto=sha) or []
        self.commits += book.add_commits(past)
        self._take_files(sha)
        self._at = sha

    def _take_files(self, sha: str) -> None:
        there = _tree(self._repo, sha)
        changed = [path for path, blob in there.items() if self.files.get(path) != blob]
        self.words.drop([path for path in self.files if path not in there])
        self.words.put({path: self._blobs.text(sha, path) for path in changed}, stamp=sha)
        self.files = there

    def _is_behind(self, old: str, new: str) -> bool:
        return _git(self._repo, "merge-base", "--is-ancestor", old, new) is not None

    def _end(self) -> None:
        self.words.texts.close()
        self._folder.cleanup()

    def close(self) -> None:
        """Let go of the files and the process."""
        self._end()
        self._blobs.close()


def commit_named(repo: Path, name: str) -> str | None:
    """The full name of a commit; None when the repository has none of that name."""
    if name.startswith("-"):
        return None
    found = _git(repo, "rev-parse", "--verify", "-q", f"{name}^{{commit}}")
    return found.strip() if found else None


def files_of(repo: Path, sha: str) -> frozenset[str]:
    """The files that a commit changed, by the names they had before it."""
    printed = _git(repo, "diff-tree", "-r", "-z", "--no-renames", "--name-only", f"{sha}^", sha)
    return frozenset((printed or "").split("\0")) - {""}


def depth(repo: Path, sha: str) -> int:
    """How many commits a commit descends from."""
    return int(_git(repo, "rev-list", "--count", sha) or 0)


def _tree(repo: Path, sha: str) -> dict[str, str]:
    """The files of a commit's tree with what tells their contents; no links, no submodules."""
    printed = _git(repo, "ls-tree", "-r", "-z", sha) or ""
    rows = (row.partition("\t") for row in printed.split("\0") if row.startswith("100"))
    return {path: head.split()[2] for head, _, path in rows if path.isprintable()}


def _git(repo: Path, *arguments: str) -> str | None:
    done = subprocess.run(["git", "-C", str(repo), *arguments], capture_output=True, check=False)
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else None
