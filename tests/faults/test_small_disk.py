"""A real file system that fills up at every write in turn: nothing is lost, doubled or untold."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import wellkept
from wellkept.clients.registry import translate_spooled
from wellkept.core.errors import StoreError, StoreFullError
from wellkept.core.query import Filter
from wellkept.core.settings.model import Settings
from wellkept.core.types import MemoryType, Severity
from wellkept.observe.observer.drain import drain_spool
from wellkept.store import spool
from wellkept.store.spool_reader import dropped

pytestmark = [
    pytest.mark.feature("C2"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts a tmpfs"),
]
PAGE = 4_096
PROMPTS = 24
_PLENTY = 64 << 20


class SmallDisk:
    """A file system in memory, whose size can be changed while it is in use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        done = self._mount(f"size={_PLENTY}")
        if done.returncode:
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")

    def leave_free(self, size: int) -> None:
        """Let so many bytes be free; 0 or less leaves none."""
        used = shutil.disk_usage(self.folder).used
        done = self._mount(f"remount,size={max(PAGE, used + size)}")
        assert done.returncode == 0, done.stderr

    def grow(self) -> None:
        """Make room again."""
        assert self._mount(f"remount,size={_PLENTY}").returncode == 0

    def unmount(self) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=False)

    def _mount(self, options: str) -> subprocess.CompletedProcess[str]:
        words = ["mount", "-t", "tmpfs", "-o", options, "wellkept-test", str(self.folder)]
        return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("only root may mount a file system")
    made = SmallDisk(tmp_path / "disk")
    yield made
    made.unmount()


def opened(home: Path) -> wellkept.Wellkept:
    return wellkept.open(
        cwd=home.parent,
        embedder="none",
        settings=Settings(),
        environment={"WELLKEPT_HOME": str(home)},
    )


def catch(home: Path, number: int, *, size: int = 2_000) -> str | None:
    session = f"s{number % 3}"
    text = f"Please look at p{number:07} " + "in the shop " * (size // 12)
    body = {"session_id": session, "cwd": str(home.parent), "prompt": text}
    return spool.append(
        str(home / spool.FOLDER_NAME),
        client="claude-code",
        session=session,
        event="UserPromptSubmit",
        payload=json.dumps(body).encode(),
        now_ms=1_790_000_000_000 + number,
    )


def kept(home: Path) -> Counter[str]:
    with opened(home) as wk:
        where = Filter(project=None, types=(MemoryType.PROMPT,), archived=None)
        contents = [memory.content for memory in wk.engine.store.iterate(where)]
        wrong = [f for f in wk.engine.store.check(deep=True) if f.severity is Severity.ERROR]
    assert wrong == []
    return Counter(name for content in contents for name in re.findall(r"p\d{7}", content)[:1])


def drain(home: Path) -> str:
    """Drain as a process of its own would; what it says when there is no room."""
    try:
        with opened(home) as wk:
            report = drain_spool(
                wk.engine,
                Settings(),
                translate=translate_spooled,
                environment={"WELLKEPT_HOME": str(home)},
            )
    except StoreFullError as error:
        return error.message
    except StoreError as error:
        # The folder for the log files cannot be made: the database opens for reading only.
        return error.message
    return "; ".join(report.problems)


def test_a_disk_that_is_full_at_any_write_of_a_drain_costs_nothing(
    disk: SmallDisk, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    with opened(plain / "home") as wk:
        wk.remember("Makes the database")
    expected = Counter({f"p{number:07}": 1 for number in range(PROMPTS)})
    for number in range(PROMPTS):
        assert catch(plain / "home", number)
    told: list[str] = []
    pages = 0
    while pages < 400:
        home = disk.folder / f"{pages}" / "home"
        disk.grow()
        shutil.copytree(plain, home.parent, symlinks=True)
        disk.leave_free(pages * PAGE)
        said = drain(home)
        told.append(said)
        disk.grow()
        drain(home)
        assert kept(home) == expected, f"with {pages} pages free"
        status = drain(home)
        assert status == ""
        shutil.rmtree(home.parent)
        if not said:
            break
        pages += 1 if pages < 16 else 5
    refused = [said for said in told if said]
    assert len(refused) > 16
    assert told[-1] == ""
    unclear = {said for said in refused if not re.search(r"disk space|No space", said)}
    assert unclear == set()


def test_events_that_found_no_room_are_counted_even_when_not_one_byte_is_free(
    disk: SmallDisk,
) -> None:
    home = disk.folder / "work" / "home"
    home.parent.mkdir()
    assert catch(home, 0)
    disk.leave_free(0)
    lost = 0
    for number in range(1, 40):
        try:
            lost += catch(home, number, size=3 * PAGE) is None
        except OSError:
            lost += 1
    assert lost >= 38
    assert dropped(home / spool.FOLDER_NAME).count == lost
    disk.grow()
    assert catch(home, 99)
    with opened(home) as wk:
        wk.remember("Makes the database")
        drain(home)
        messages = [finding.message for finding in wk.doctor().findings]
    assert any(message.startswith(f"{lost} events did not fit") for message in messages)
    assert {"p0000000", "p0000099"} <= set(kept(home))


def test_the_doctor_says_that_the_disk_is_full(disk: SmallDisk) -> None:
    home = disk.folder / "work" / "home"
    home.parent.mkdir()
    with opened(home) as wk:
        wk.remember("Makes the database")
        assert "disk" not in {finding.check for finding in wk.doctor().findings}
        disk.leave_free(8 * PAGE)
        (found,) = [one for one in wk.doctor().findings if one.check == "disk"]
    assert "bytes are free" in found.message


def test_held_room_lets_a_full_disk_drain(disk: SmallDisk) -> None:
    home = disk.folder / "home"
    with opened(home) as wk:
        wk.remember("Makes the database")
    catch(home, 0)
    assert drain(home) == ""
    assert (home / "head-room").stat().st_size == 8 << 20
    for number in range(1, PROMPTS):
        catch(home, number)
    with opened(home) as wk:  # a server that is up, as the disk fills
        wk.stats()
        disk.leave_free(0)
        drain_spool(
            wk.engine,
            Settings(),
            translate=translate_spooled,
            environment={"WELLKEPT_HOME": str(home)},
        )
    assert not list((home / spool.FOLDER_NAME).glob("*.spool"))
    disk.grow()
    assert sum(kept(home).values()) == PROMPTS
