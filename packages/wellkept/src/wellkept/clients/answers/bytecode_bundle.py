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

    Entry = tuple[str, int, int, bool, bytes]
else:
    # The same class, without importing the package.
    from _frozen_importlib import ModuleSpec

FILE_NAME = "answer.bundle"
_ABANDONED_AFTER_S = 60.0


class Bundle:
    """Import hook that loads modules from the bundle and leaves others to Python."""

    def __init__(self, entries: "dict[str, Entry]", patterns: "dict[Any, Any]") -> None:
        self.entries = entries
        self.patterns = patterns

    def find_spec(
        self, name: str, _path: "Sequence[str] | None" = None, _target: object = None
    ) -> "ModuleSpec | None":
        """The spec of a bundled module whose code is valid and source unchanged."""
        if name not in self.entries:
            return None
        valid = _valid(self.entries[name])
        if valid is None:
            del self.entries[name]
            return None
        source, is_package, code = valid
        spec = ModuleSpec(name, self, origin=source, loader_state=code, is_package=is_package)  # type: ignore[arg-type]
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [os.path.dirname(source)]
        return spec

    def create_module(self, _spec: "ModuleSpec") -> None:
        """Use a plain module."""

    def exec_module(self, module: "ModuleType") -> None:
        """Run the module's code."""
        if module.__spec__ is not None:
            exec(module.__spec__.loader_state, module.__dict__)


def install(state: str) -> Bundle:
    """Load modules from the bundle for the rest of the process."""
    bundle = Bundle(*_read(f"{state}/{FILE_NAME}"))
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
    entries = {**bundle.entries, **fresh}
    _replace(f"{state}/{FILE_NAME}", marshal.dumps((_key(), entries, patterns)))


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


def _read(path: str) -> "tuple[dict[str, Entry], dict[Any, Any]]":
    try:
        with open(path, "rb") as file:
            key, entries, patterns = marshal.loads(file.read())
    except (OSError, ValueError, EOFError, TypeError):
        return {}, {}
    return (entries, patterns) if key == _key() else ({}, {})


def _key() -> "Any":
    """Interpreter and version that a bundle is valid for."""
    return (sys.version, sys.flags.optimize, __file__, _stamp(__file__))


def _valid(entry: "Entry") -> "tuple[str, bool, CodeType] | None":
    """Source path, whether it is a package, and code; None for an outdated or damaged entry."""
    try:
        source, modified_ns, size, is_package, raw = entry
        if _stamp(source) != (modified_ns, size):
            return None
        return source, is_package, marshal.loads(raw)
    except (ValueError, EOFError, TypeError):
        return None


def _entry(name: str, module: "ModuleType") -> "Entry | None":
    """The bundle entry of a module; None when it was not loaded from a source file."""
    spec: ModuleSpec | None = getattr(module, "__spec__", None)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    source, get_code = spec.origin, getattr(spec.loader, "get_code", None)
    if get_code is None:
        return None
    code, stamp = get_code(name), _stamp(source)
    if code is None or stamp is None:
        return None
    return (source, *stamp, hasattr(module, "__path__"), marshal.dumps(code))


def _stamp(source: str) -> tuple[int, int] | None:
    try:
        status = os.stat(source)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
