"""One file with the bytecode of all modules that an in-process answer loads, and its patterns.

Finding over a hundred modules one by one takes a seventh of an answer's time. The bundle is a cache
like `__pycache__`: written after an answer that lacked it, checked against each source's time and
size, and ignored when damaged. It is in the state folder, which only the owner may enter.
"""

import marshal
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

    Entry = tuple[str, int, int, bool, int, int]
else:
    # The same class, without importing the package.
    from _frozen_importlib import ModuleSpec

FILE_NAME = "answer.bundle"
_ABANDONED_AFTER_S = 60.0
_HEAD_BYTES = 8


class Bundle:
    """Import hook that loads modules from the bundle and leaves others to Python.

    The file begins with the length of what stands before the code: key, entries, patterns. An
    entry says where its code lies, so that a process reads no more than it runs.
    """

    def __init__(self, path: str) -> None:
        self.entries: dict[str, Entry] = {}
        self.patterns: dict[Any, Any] = {}
        try:
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115
            length = int.from_bytes(self._file.read(_HEAD_BYTES), "little")
            key, entries, patterns = marshal.loads(self._file.read(length))
            if key == _key():
                self._start, self.entries, self.patterns = _HEAD_BYTES + length, entries, patterns
        except (OSError, ValueError, EOFError, TypeError, OverflowError, MemoryError):
            return

    def find_spec(
        self, name: str, _path: "Sequence[str] | None" = None, _target: object = None
    ) -> "ModuleSpec | None":
        """The spec of a bundled module whose code is valid and source unchanged."""
        if name not in self.entries:
            return None
        valid = self._valid(self.entries[name])
        if valid is None:
            del self.entries[name]
            return None
        source, is_package, code = valid
        spec = ModuleSpec(name, self, origin=source, loader_state=code, is_package=is_package)  # type: ignore[arg-type]
        if is_package:
            spec.submodule_search_locations = [os.path.dirname(source)]
        return spec

    def create_module(self, _spec: "ModuleSpec") -> None:
        """Use a plain module."""

    def exec_module(self, module: "ModuleType") -> None:
        """Run the module's code."""
        if module.__spec__ is not None:
            # Not by the spec: it would also look for a place of byte code that nobody asks for.
            module.__file__ = module.__spec__.origin
            exec(module.__spec__.loader_state, module.__dict__)

    def code(self, offset: int, length: int) -> bytes:
        """The code that lies at a place."""
        self._file.seek(self._start + offset)
        return self._file.read(length)

    def _valid(self, entry: "Entry") -> "tuple[str, bool, CodeType] | None":
        """Source path, whether it is a package, and code; None for an outdated or damaged entry."""
        try:
            source, modified_ns, size, is_package, offset, length = entry
            if _stamp(source) != (modified_ns, size):
                return None
            return source, is_package, marshal.loads(self.code(offset, length))
        except (OSError, ValueError, EOFError, TypeError):
            return None


def install(state: str) -> Bundle:
    """Load modules from the bundle for the rest of the process."""
    bundle = Bundle(f"{state}/{FILE_NAME}")
    sys.meta_path.insert(0, bundle)  # type: ignore[arg-type]
    return bundle


def refresh(state: str, bundle: Bundle, patterns: "dict[Any, Any]") -> None:
    """Rewrite the bundle if this process loaded or compiled what was not in it."""
    fresh = {
        name: entry
        for name, module in list(sys.modules.items())
        if name not in bundle.entries and (entry := _entry(name, module)) is not None
    }
    patterns = {**bundle.patterns, **patterns}
    if not fresh and len(patterns) == len(bundle.patterns):
        return
    try:
        kept = {name: (e[:4], bundle.code(*e[4:])) for name, e in bundle.entries.items()}
    except (OSError, TypeError, ValueError):  # damaged
        kept = {}
    entries: dict[str, Entry] = {}
    codes = bytearray()
    for name, (about, code) in {**kept, **fresh}.items():
        entries[name] = (*about, len(codes), len(code))
        codes += code
    head = marshal.dumps((_key(), entries, patterns))
    _replace(f"{state}/{FILE_NAME}", len(head).to_bytes(_HEAD_BYTES, "little") + head + codes)


def _replace(path: str, raw: bytes) -> None:
    """Replace the file atomically; do nothing while another process does."""
    partial = f"{path}.new"
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if time.time() - os.stat(partial).st_mtime > _ABANDONED_AFTER_S:
            os.unlink(partial)
        return
    try:
        written = os.write(descriptor, raw)
    finally:
        os.close(descriptor)
    if written == len(raw):
        os.replace(partial, path)
    else:
        os.unlink(partial)


def _key() -> "Any":
    """Interpreter and version that a bundle is valid for."""
    return (sys.version, sys.flags.optimize, __file__, _stamp(__file__))


def _entry(name: str, module: "ModuleType") -> "tuple[tuple[str, int, int, bool], bytes] | None":
    """What is known of a module and its code; None when it was not loaded from a source file."""
    spec: ModuleSpec | None = getattr(module, "__spec__", None)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    source, get_code = spec.origin, getattr(spec.loader, "get_code", None)
    if get_code is None:
        return None
    code, stamp = get_code(name), _stamp(source)
    if code is None or stamp is None:
        return None
    return (source, *stamp, hasattr(module, "__path__")), marshal.dumps(code)


def _stamp(source: str) -> tuple[int, int] | None:
    try:
        status = os.stat(source)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
