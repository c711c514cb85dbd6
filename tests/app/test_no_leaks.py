"""Ten thousand recalls over thirty projects: nobody reads what is not theirs."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from wellkept.core.settings.model import Settings

pytestmark = [
    pytest.mark.feature("A1", "A10"),
    pytest.mark.skipif(os.name == "nt", reason="uses links"),
]

RECALLS = 10_000
ROUNDS = 10
_SHARED_WORDS = ("parser", "release", "database", "token", "build", "cache", "deploy", "schema")


class _World:
    """Folders with the memory they should see: a folder sees exactly the facts of its group."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.random = random.Random(13)
        self.groups: dict[Path, str] = {}
        self.words: list[str] = []
        self._number = 0

    def open(self, folder: Path) -> wellkept.Wellkept:
        return wellkept.open(
            self.folder / "memory.db",
            cwd=folder,
            embedder="none",
            settings=Settings(),
            environment={},
        )

    def new(self, name: str, *, group: str | None = None) -> Path:
        self._number += 1
        path = self.folder / f"{self._number:03}" / name
        self.groups[path] = group or f"group{self._number:03}"
        return path

    def repository(self, name: str, *, url: str | None) -> GitRepository:
        made = GitRepository.create(self.new(name))
        made.commit(f"begin {made.root}", a=str(made.root))
        if url:
            made.git("remote", "add", "origin", url)
        return made

    def teach(self, folder: Path) -> None:
        """Keep facts that say whose they are; every project knows the same subjects."""
        group = self.groups[folder]
        with self.open(folder) as wk:
            for word in self.random.sample(_SHARED_WORDS, 4):
                secret = f"zz{self.random.randrange(10**6):06}"
                self.words.append(secret)
                wk.remember(
                    f"{group} owns the {word} rule {secret}", merge_similar=False, tags=[word]
                )

    def build(self) -> None:
        url = "https://github.com/acme/widget"
        owner = self.repository("widget", url=url)
        self.teach(owner.root)
        group = self.groups[owner.root]
        clone = self.new("widget", group=group)
        owner.git("clone", "-q", str(owner.root), str(clone))
        GitRepository(clone).git("remote", "set-url", "origin", "git@github.com:acme/widget")
        side = self.new("side", group=group)
        owner.git("worktree", "add", "-q", str(side), "-b", "side")
        link = self.new("link", group=group)
        link.parent.mkdir()
        link.symlink_to(owner.root)
        fork = self.new("widget")
        owner.git("clone", "-q", str(owner.root), str(fork))
        GitRepository(fork).git("remote", "set-url", "origin", "https://github.com/me/widget")
        for number in range(6):
            self.repository(("widget", "evil")[number % 2], url=url)  # strangers with that address
        for number in range(6):
            self.repository("widget", url=f"https://github.com/acme/other{number}")
        for _ in range(5):
            self.repository("local", url=None)
        for _ in range(8):
            self.new("notes").mkdir(parents=True)
        for folder in list(self.groups):
            self.teach(folder)

    def change(self) -> None:
        """Rename, replace and repoint folders, as people and strangers do."""
        plain = [path for path in self.groups if path.name == "notes"]
        old = self.random.choice(plain)
        shutil.rmtree(old)
        old.mkdir()
        self.groups[old] = f"new{len(self.words)}"
        self.teach(old)
        strangers = [path for path in self.groups if path.name == "evil"]
        evil = self.random.choice(strangers)
        targets = [path for path in self.groups if path.name == "widget" and path != evil]
        address = GitRepository(self.random.choice(targets)).git("remote", "get-url", "origin")
        GitRepository(evil).git("remote", "set-url", "origin", address)
        local = self.random.choice([path for path in self.groups if path.name == "local"])
        shutil.rmtree(local)
        made = GitRepository.create(local)
        made.commit(f"again {len(self.words)}", a=str(len(self.words)))
        self.groups[local] = f"again{len(self.words)}"
        self.teach(local)

    def query(self) -> str:
        foreign = self.random.choice(self.words)
        subject = self.random.choice(_SHARED_WORDS)
        owner = self.random.choice(list(self.groups.values()))
        return self.random.choice((foreign, subject, f"{owner} {subject}", f"{subject} {foreign}"))


def test_no_recall_leaves_its_project(tmp_path: Path) -> None:
    world = _World(tmp_path)
    world.build()
    assert len(world.groups) >= 30
    leaks: list[tuple[str, str]] = []
    seen = 0
    for _ in range(ROUNDS):
        opened = {folder: world.open(folder) for folder in world.groups}
        try:
            for _ in range(RECALLS // ROUNDS):
                folder = world.random.choice(list(opened))
                hits = opened[folder].recall(
                    world.query(), limit=5, min_score=0.0, count_access=False
                )
                texts = [hit.memory.content for hit in hits]
                own = f"{world.groups[folder]} "
                leaks += [(own, text) for text in texts if not text.startswith(own)]
                seen += len(texts)
        finally:
            for wk in opened.values():
                wk.close()
        world.change()
    assert leaks == []
    assert seen > RECALLS  # the queries do find what is theirs
