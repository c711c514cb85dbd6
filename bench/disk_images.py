"""What a power cut can leave of a recording: every disk that the rules of file systems permit.

What was synced is there. Of the rest, names (made, moved, removed) reach the disk in their order,
contents in any order, each independent of the other; the last write to a file may be torn, or only
its size have arrived. A synced file whose name was not synced may be without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from random import Random

from bench.disk_trace import Disk, Enter, Leave, Promised, Resize, Settled, Step, Sync, Write

_SECTOR = 512


@dataclass(frozen=True, slots=True)
class Image:
    """One disk that can be left, how it came about, and what has to be on it."""

    after: int
    how: str
    disk: Disk
    promised: tuple[str, ...]

    def write(self, folder: Path) -> None:
        """Make the disk as a folder."""
        for name in sorted(name for name, file in self.disk.names.items() if file is None):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name, data in self.disk.files().items():
            (folder / name).write_bytes(data)


@dataclass(slots=True)
class _Pending:
    """What is safe, and what is under way in the order it was asked for."""

    safe: Disk = field(default_factory=Disk)
    steps: list[Step] = field(default_factory=list[Step])
    promised: list[str] = field(default_factory=list[str])

    def take(self, step: Step) -> None:
        match step:
            case Sync(file, folder):
                self._keep([one for one in self.steps if _is_covered(one, file, folder)])
            case Settled():
                self._keep(self.steps)
            case Promised(names):
                self.promised.extend(names)
            case _:
                self.steps.append(step)

    def _keep(self, steps: list[Step]) -> None:
        for one in steps:
            self.safe.take(one)
        kept = set(map(id, steps))
        self.steps = [one for one in self.steps if id(one) not in kept]

    def disk(self, steps: Sequence[Step]) -> Disk:
        touched = {one.file for one in steps if isinstance(one, Write | Resize)}
        contents = {
            file: bytearray(data) if file in touched else data
            for file, data in self.safe.contents.items()
        }
        disk = Disk(dict(self.safe.names), contents)
        for one in steps:
            disk.take(one)
        return disk


def _is_covered(step: Step, file: int | None, folder: str | None) -> bool:
    if isinstance(step, Write | Resize):
        return step.file == file
    assert isinstance(step, Enter | Leave)
    return str(PurePosixPath(step.path).parent) == folder


def images(steps: Sequence[Step], *, start: int = 0, whole: bool, seed: int = 1) -> Iterator[Image]:
    """The disks after every step from `start` on; unless `whole`, a row of writes is cut in its
    middle and at its end only, and no choice is left to chance."""
    pending, chance = _Pending(), Random(seed)
    for number, step in enumerate(steps):
        pending.take(step)
        if number < start or not (whole or _is_turn(steps, number)):
            continue
        for how, chosen in _choices(pending.steps, chance if whole else None):
            yield Image(number, how, pending.disk(chosen), tuple(pending.promised))


def _is_turn(steps: Sequence[Step], number: int) -> bool:
    if not isinstance(steps[number], Write):
        return True
    first = last = number
    while first and isinstance(steps[first - 1], Write):
        first -= 1
    while last + 1 < len(steps) and isinstance(steps[last + 1], Write):
        last += 1
    return number in {last, (first + last) // 2}


def _choices(steps: list[Step], chance: Random | None) -> Iterator[tuple[str, list[Step]]]:
    """Which of the steps under way arrive."""
    names = [one for one in steps if isinstance(one, Enter | Leave)]
    data = [one for one in steps if isinstance(one, Write | Resize)]
    yield "everything arrived", steps
    yield "nothing arrived", []
    for count in range(1, len(names) + 1):
        some = set(map(id, names[:count]))
        yield f"{count} names and no contents arrived", [*names[:count]]
        if count < len(names):
            yield (
                f"all contents and {count} names arrived",
                [one for one in steps if isinstance(one, Write | Resize) or id(one) in some],
            )
    yield "all contents and no names arrived", [*data]
    for file in dict.fromkeys(one.file for one in data):
        own = [one for one in data if one.file == file]
        yield f"contents of file {file} did not", [one for one in steps if one not in own]
        yield f"contents of file {file} alone", [*names, *own]
        if len(own) > 1:
            yield f"the first of file {file} did not", [one for one in steps if one is not own[0]]
            yield f"the last of file {file} alone", [*names, own[-1]]
        for kind, torn in _torn(own[-1]):
            yield (
                f"the last of file {file} {kind}",
                [torn if one is own[-1] else one for one in steps],
            )
    for _ in range(4 if chance is not None and len(steps) > 1 else 0):
        assert chance is not None
        keep = set(map(id, (one for one in data if chance.random() < 0.5)))
        keep.update(map(id, names[: chance.randint(0, len(names))]))
        yield "chance", [one for one in steps if id(one) in keep]


def _torn(step: Step) -> Iterator[tuple[str, Step]]:
    if not isinstance(step, Write) or len(step.data) < 2:
        return
    whole, third = step.data, len(step.data) // 3
    cut = third // _SECTOR * _SECTOR or third
    yield "torn", Write(step.file, step.offset, whole[:cut])
    yield (
        "without its middle",
        Write(step.file, step.offset, whole[:cut] + bytes(cut) + whole[2 * cut :]),
    )
    yield "without its start", Write(step.file, step.offset + cut, whole[cut:])
