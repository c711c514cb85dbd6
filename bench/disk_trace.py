"""What programs did to the files of a folder, in order: writes, syncs, renames, removals.

Programs run under `strace`, which sees what SQLite, Python and git alike ask of the system. Memory
that is shared between processes (`-shm`) does not outlive a power cut and is left out. `Recorder`
replays what it read and refuses a recording that does not end in the very bytes on the disk.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

_CALLS = (
    "write,pwrite64,writev,pwritev,pwritev2,lseek,ftruncate,truncate,fallocate,fsync,fdatasync,"
    "rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat,mkdir,mkdirat,open,openat,creat,"
    "copy_file_range,sendfile"
)
_LINE = re.compile(r"\d+ +(\w+)\((.*)\) += (-?\d+)(?:<((?:\\x[0-9a-f]{2})*)>)?.*")
_CUT = re.compile(r"(\d+) +(\w+)\((.*) <unfinished \.\.\.>")
_RESUMED = re.compile(r"(\d+) +<\.\.\. \w+ resumed>(.*)")
_HEX = re.compile(r"\\x([0-9a-f]{2})")
_QUOTED = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_DESCRIPTOR = re.compile(r"(?:(\d+)|AT_FDCWD)<((?:\\x[0-9a-f]{2})*)>")
_DELETED = " (deleted)"


def is_available() -> bool:
    """Whether programs can be watched here."""
    words = ("strace", "-f", "-e", "trace=write", "true")
    return (
        shutil.which("strace") is not None
        and not subprocess.run(words, capture_output=True, check=False).returncode
    )


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes at an offset of a file."""

    file: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Resize:
    """A file was cut, or grew by zeros."""

    file: int
    size: int


@dataclass(frozen=True, slots=True)
class Enter:
    """A name came to mean a file (or, without one, a folder), also in place of another."""

    path: str
    file: int | None
    former: str | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """A name is gone."""

    path: str


@dataclass(frozen=True, slots=True)
class Sync:
    """The contents of a file, or with a path the names in a folder, are on the disk."""

    file: int | None = None
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """So much time passed that everything is on the disk."""


@dataclass(frozen=True, slots=True)
class Promised:
    """From here on these are there, whatever happens."""

    names: tuple[str, ...]


Step = Write | Resize | Enter | Leave | Sync | Settled | Promised


@dataclass(slots=True)
class Disk:
    """Names and contents."""

    names: dict[str, int | None] = field(default_factory=dict[str, int | None])
    contents: dict[int, bytearray] = field(default_factory=dict[int, bytearray])

    def take(self, step: Step) -> None:
        """Let one step happen; one whose ground is missing does nothing."""
        match step:
            case Write(file, offset, data):
                body = self.contents.setdefault(file, bytearray())
                body.extend(bytes(max(0, offset - len(body))))
                body[offset : offset + len(data)] = data
            case Resize(file, size):
                body = self.contents.setdefault(file, bytearray())
                del body[size:]
                body.extend(bytes(size - len(body)))
            case Enter(path, file, former):
                if former is not None:
                    self._move(former, path)
                else:
                    self.names[path] = file
            case Leave(path):
                self.names.pop(path, None)
            case _:
                pass

    def _move(self, former: str, path: str) -> None:
        inside = [name for name in self.names if name == former or name.startswith(f"{former}/")]
        for name in inside:
            self.names[path + name.removeprefix(former)] = self.names.pop(name)

    def files(self) -> dict[str, bytes]:
        """The contents by name; files of a folder that is not there are not there either."""
        return {
            name: bytes(self.contents.get(file, b""))
            for name, file in self.names.items()
            if file is not None and self._is_reached(name)
        }

    def _is_reached(self, name: str) -> bool:
        above = [str(one) for one in PurePosixPath(name).parents][:-1]
        return all(folder in self.names for folder in above)


class Recorder:
    """Runs programs on a folder and keeps what they did to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.steps: list[Step] = [Settled()]
        self._disk = Disk()
        self._open: dict[tuple[int, str], int | None] = {}
        for path in sorted(root.rglob("*")):
            name = self._name(str(path))
            if name is not None and path.is_dir():
                self._note(Enter(name, None))
            elif name is not None and path.is_file():
                file = self._new_file(name)
                self._note(Write(file, 0, path.read_bytes()))
        self.steps.append(Settled())

    def run(
        self, *words: str, cwd: Path, environment: Mapping[str, str], given: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program and everything it starts to their ends."""
        trace = self.root.with_name(f"{self.root.name}.trace")
        watched = ("strace", "-f", "--seccomp-bpf", "-y", "-xx", "-s", "99999999", "-o", str(trace))
        done = subprocess.run(
            [*watched, "-e", f"trace={_CALLS}", *words],
            cwd=cwd, env=dict(environment), input=given, capture_output=True, check=False,
        )  # fmt: skip
        with trace.open("r", encoding="ascii") as lines:
            for line in _whole_lines(lines):
                self._read(line)
        trace.unlink()
        self._compare()
        return done

    def _compare(self) -> None:
        """The recording has to end in what is there."""
        real = {
            name: path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and (name := self._name(str(path))) is not None
        }
        known = self._disk.files()
        wrong = sorted(name for name in {*real, *known} if real.get(name) != known.get(name))
        if wrong:
            raise RuntimeError(f"The recording differs from the disk in {wrong[:5]}.")

    def _note(self, step: Step) -> None:
        self._disk.take(step)
        self.steps.append(step)

    def _name(self, path: str) -> str | None:
        """The path below the folder; None for anything that is not watched."""
        top = f"{self.root}/"
        if not path.startswith(top) or path.endswith(("-shm", _DELETED)):
            return None
        return path.removeprefix(top)

    def _new_file(self, name: str) -> int:
        file = len(self._disk.contents)
        self._disk.contents[file] = bytearray()
        self._note(Enter(name, file))
        return file

    # -- One line of the trace --------------------------------------------------------------------

    def _read(self, line: str) -> None:
        found = _LINE.fullmatch(line.rstrip("\n"))
        if found is None or int(found[3]) < 0:
            return
        call, arguments, result = found[1], found[2], int(found[3])
        if call in {"open", "openat", "creat"}:
            self._opened(call, arguments, result, _plain(found[4] or ""))
        elif call in {"mkdir", "mkdirat", "unlink", "unlinkat", "rmdir"}:
            self._named(call, arguments)
        elif call.startswith(("rename", "link")):
            self._moved(call, arguments)
        else:
            self._used(call, arguments, result)

    def _opened(self, call: str, arguments: str, descriptor: int, path: str) -> None:
        name = self._name(path)
        if name is None or "O_DIRECTORY" in arguments or (name in self._disk.names and (
            self._disk.names[name] is None
        )):  # fmt: skip
            return
        file = self._disk.names.get(name)
        if file is None:
            file = self._new_file(name)
        elif ("O_TRUNC" in arguments or call == "creat") and self._disk.contents[file]:
            self._note(Resize(file, 0))
        self._open[descriptor, path] = None if "O_APPEND" in arguments else 0

    def _named(self, call: str, arguments: str) -> None:
        (path,) = _paths(arguments)
        if (name := self._name(path)) is not None:
            self._note(Enter(name, None) if call.startswith("mkdir") else Leave(name))

    def _moved(self, call: str, arguments: str) -> None:
        former, path = (self._name(one) for one in _paths(arguments))
        if path is None:
            if former is not None:
                raise RuntimeError(f"{former} left the watched folder")
            return
        if former is None:
            raise RuntimeError(f"{path} came from outside the watched folder")
        if call.startswith("link"):
            self._note(Enter(path, self._disk.names[former]))
        else:
            self._note(Enter(path, None, former))

    def _used(self, call: str, arguments: str, result: int) -> None:
        held = _DESCRIPTOR.match(arguments)
        if held is None or held[1] is None:
            return
        path = _plain(held[2])
        name = self._name(path)
        if name is None:
            return
        if name in self._disk.names and self._disk.names[name] is None:
            self._note(Sync(folder=name))
            return
        file, key = self._disk.names[name], (int(held[1]), path)
        assert file is not None
        last = arguments.rpartition(",")[2].strip()
        if call in {"fsync", "fdatasync"}:
            self._note(Sync(file))
        elif call in {"ftruncate", "truncate"}:
            self._note(Resize(file, int(last)))
        elif call == "lseek":
            if self._open.get(key) is not None:
                self._open[key] = result
        elif call == "pwrite64":
            self._note(Write(file, int(last), _plain_bytes(arguments)[:result]))
        elif call == "write":
            at = self._open.get(key)
            offset = len(self._disk.contents[file]) if at is None else at
            self._note(Write(file, offset, _plain_bytes(arguments)[:result]))
            if at is not None:
                self._open[key] = at + result
        else:
            raise RuntimeError(f"{call} on {name} is not understood")


def _whole_lines(lines: Iterator[str]) -> Iterator[str]:
    """Lines with the two halves of an interrupted call joined, at the time of its end."""
    begun: dict[str, str] = {}
    for line in lines:
        if cut := _CUT.match(line):
            begun[cut[1]] = f"{cut[1]} {cut[2]}({cut[3]}"
        elif resumed := _RESUMED.match(line):
            yield begun.pop(resumed[1], "") + resumed[2]
        else:
            yield line


def _paths(arguments: str) -> Sequence[str]:
    """The paths that a call names, each whole."""
    found: list[str] = []
    at = ""
    for one in re.finditer(f"{_DESCRIPTOR.pattern}|{_QUOTED.pattern}", arguments):
        if one[3] is None:
            at = _plain(one[2])
        else:
            found.append(str(PurePosixPath(at) / _plain(one[3])))
    return found


def _plain(escaped: str) -> str:
    return bytes.fromhex("".join(_HEX.findall(escaped))).decode("utf-8", "surrogateescape")


def _plain_bytes(arguments: str) -> bytes:
    found = _QUOTED.search(arguments)
    return b"" if found is None else bytes.fromhex(found[1].replace("\\x", ""))
