"""One bad file in the spool never stops the others: it is set aside, named and counted."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.observe.spooling import Spooler, translate
from tests.observe.telling import Teller, world
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.drain import DrainReport, drain
from wellkept.store import open_store, spool

pytestmark = pytest.mark.feature("C2")
ROOT = os.geteuid() == 0
NOW_MS = 1_780_000_000_000
YEAR_12000_MS = 316_516_204_800_000
STRANGER = 12_345


class Scene:
    """A spool with events of one good session, and something bad beside it."""

    def __init__(self, folder: Path) -> None:
        self.spooler = Spooler(folder / "spool")
        self.engine = Engine(store=open_store(folder / "memory.db"))
        self.say = Teller("good")
        self.spooler.catch(self.say.prompt("A good prompt"), self.say.turn_end())

    @property
    def folder(self) -> Path:
        return self.spooler.spool.folder

    def drain(self) -> DrainReport:
        return drain(self.engine, self.spooler.spool, translate=translate, environment=world())

    def named(self) -> dict[str, str]:
        """What `doctor` and `spool` name."""
        status = self.spooler.spool.status(self.engine.store)
        return {bad.name: bad.reason for bad in status.bad_sources}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_text("x")


def _link(path: Path) -> None:
    target = path.parent.parent / "target"
    target.write_text("of the link")
    path.symlink_to(target)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        os.chdir(path.parent)
        bound.bind(path.name)


def _strangers(path: Path) -> None:
    path.write_bytes(b"H1 not ours\n")
    os.chown(path, STRANGER, STRANGER)


BAD: dict[str, tuple[Callable[[Path], None], str]] = {
    "a folder": (_folder, "it is a folder"),
    "a link": (_link, "it is a symbolic link"),
    "a link to nothing": (lambda path: path.symlink_to("/nowhere"), "it is a symbolic link"),
    "a pipe": (os.mkfifo, "it is a pipe"),
    "a socket": (_socket, "it is not a plain file"),
}
if ROOT:
    BAD["a stranger's file"] = (_strangers, "it belongs to another user")


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_spool_file_is_set_aside_and_the_others_are_drained(
    scene: Scene, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scene.folder)
    make, reason = BAD[kind]
    make(scene.folder / "a-bad.spool")
    report = scene.drain()
    assert report.events == 2
    assert [(bad.source, bad.reason) for bad in report.sources_aside] == [("a-bad.spool", reason)]
    assert scene.named() == {"a-bad.spool": reason}
    assert scene.spooler.spool.sources() == []
    assert scene.drain().sources_aside == ()


def test_two_bad_files_of_one_name_are_both_kept(scene: Scene) -> None:
    for _ in range(2):
        (scene.folder / "x.spool").mkdir()
        scene.drain()
    assert len(scene.named()) == 2


@pytest.mark.skipif(ROOT, reason="root may read everything")
def test_an_unreadable_file_is_set_aside(scene: Scene) -> None:
    bad = scene.folder / "a-bad.spool"
    bad.write_bytes(b"x")
    bad.chmod(0)
    assert scene.drain().events == 2
    assert scene.named() == {"a-bad.spool": "permission denied"}


@pytest.mark.skipif(not ROOT, reason="only root can give files away")
def test_what_can_be_read_again_is_drained_after_a_repair(scene: Scene) -> None:
    scene.spooler.catch(Teller("other").prompt("Of the other session"))
    path = scene.folder / "test-client-other.spool"
    os.chown(path, STRANGER, STRANGER)
    assert scene.drain().events == 2
    os.chown(scene.folder / "unreadable" / path.name, os.geteuid(), os.getegid())
    scene.spooler.spool.bring_back()
    assert scene.drain().events == 1
    assert scene.named() == {}


def _append(scene: Scene, *, now_ms: int) -> None:
    spool.append(
        str(scene.folder),
        client="test-client",
        session="late",
        event="Stop",
        payload=b"{}",
        now_ms=now_ms,
    )


def test_an_entry_of_the_year_12000_is_set_aside(scene: Scene) -> None:
    _append(scene, now_ms=YEAR_12000_MS)
    report = scene.drain()
    assert report.events == 2
    assert [one.reason for one in report.set_aside] == [
        "UsageError: The time of the entry is out of range."
    ]
    assert scene.spooler.spool.status(scene.engine.store).aside_entries == 1


def test_a_file_written_in_the_year_12000_is_drained(scene: Scene) -> None:
    (source,) = scene.spooler.spool.sources()
    os.utime(scene.folder / source, ns=(0, YEAR_12000_MS * 1_000_000))
    empty = scene.folder / "empty.spool"
    empty.touch()
    os.utime(empty, ns=(0, YEAR_12000_MS * 1_000_000))
    assert scene.spooler.spool.status(scene.engine.store).waiting_bytes > 0
    assert scene.drain().events == 2


@pytest.mark.parametrize("tail", [b"H1 half a header", b"\x00" * 5000, b"H1 " * 3000, b"{" * 10])
def test_half_a_line_is_skipped_named_and_counted(scene: Scene, tail: bytes) -> None:
    (source,) = scene.spooler.spool.sources()
    with (scene.folder / source).open("ab") as file:
        file.write(tail)
    report = scene.drain()
    assert (report.events, report.damaged_bytes) == (2, len(tail))
    status = scene.spooler.spool.status(scene.engine.store)
    assert (status.damaged_places, status.damaged_bytes) == (1, len(tail))
    assert status.damaged_source == source
    assert scene.spooler.spool.sources() == []
    scene.spooler.spool.clear_dropped()
    assert scene.spooler.spool.status(scene.engine.store).damaged_places == 0


def test_a_header_that_claims_a_huge_entry_is_damage(scene: Scene) -> None:
    (source,) = scene.spooler.spool.sources()
    claim = spool.encode("0" * 36, client="a", event="b", payload=b"", now_ms=NOW_MS)
    huge = claim.replace(b" 0 ", b" 9999999999 ", 1)
    with (scene.folder / source).open("ab") as file:
        file.write(huge)
    scene.spooler.catch(scene.say.prompt("After it"), session="good")
    report = scene.drain()
    assert (report.events, report.damaged_bytes) == (3, len(huge))
