"""Builds `clients/hook.c`, a capture without Python, where a C compiler is at hand.

Optional: without a compiler the hook is the Python program alone, and it takes over whatever the
native one leaves. Tables and limits come from the Python side, so that each stands in one place.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import which

from wellkept.clients import certain_secrets, hook_process
from wellkept.store import spool

_SOURCE = Path(hook_process.__file__).with_name("hook.c")
_TIMEOUT_S = 60.0


def native_hook(environment: Mapping[str, str], *, build: bool = False) -> Path | None:
    """The program if it was built; with `build` it is built now, where that is possible.

    `WELLKEPT_HOOK_NATIVE=0` keeps the Python program.
    """
    state = spool.state_folder(environment)
    if os.name != "posix" or state is None or environment.get("WELLKEPT_HOOK_NATIVE") == "0":
        return None
    text = source()
    program = Path(state, "bin", f"hook-{hashlib.sha256(text.encode()).hexdigest()[:16]}")
    if program.is_file():
        return program
    compiler = which(environment.get("CC") or "cc", path=environment.get("PATH"))
    if not build or compiler is None:
        return None
    draft = program.with_name(f"{program.name}.{os.getpid()}")
    command = [compiler, "-O2", "-x", "c", "-", "-o", str(draft)]
    try:
        spool.make_private_folder(str(program.parent))
        subprocess.run(
            command, input=text.encode(), capture_output=True, timeout=_TIMEOUT_S, check=True
        )
        draft.chmod(0o700)
        draft.replace(program)
    except (OSError, subprocess.SubprocessError):
        draft.unlink(missing_ok=True)
        return None
    return program


def source() -> str:
    """The program's text, with the tables and limits of the Python side in front."""
    below_home = "Library/Application Support" if sys.platform == "darwin" else ".local/state"
    prefixes = [f"{{{_quoted(prefix)}, {least}}}" for prefix, least in certain_secrets.PREFIXES]
    defined = {
        "PREFIXES": ", ".join(prefixes),
        "EVENTS": ", ".join(map(_quoted, sorted(hook_process.LEFT_EVENTS))),
        "SESSION_KEYS": ", ".join(map(_quoted, hook_process.SESSION_KEYS)),
        "TOKEN_CHARS": _quoted(certain_secrets.TOKEN),
        "NO_LOGIN": _quoted(certain_secrets.NO_LOGIN),
        "UNKNOWN_SESSION": _quoted(hook_process.UNKNOWN_SESSION),
        "MAX_KEY_BYTES": str(hook_process.MAX_KEY_BYTES),
        "READ_LIMIT_S": str(int(hook_process.READ_LIMIT_S)),
        "WRITE_LIMIT_S": str(int(hook_process.WRITE_LIMIT_S)),
        "MAX_SCANNED_BYTES": str(certain_secrets.MAX_BYTES),
        "MAX_ENTRY_BYTES": str(spool.MAX_ENTRY_BYTES),
        "MAX_TOTAL_BYTES": f"{spool.MAX_TOTAL_BYTES}ull",
        "STEP_BYTES": str(spool.STEP_BYTES),
        "NAME_CHARS": str(spool.NAME_CHARS),
        "FOLDER_NAME": _quoted(spool.FOLDER_NAME),
        "SUFFIX": _quoted(spool.SUFFIX),
        "OFF_NAME": _quoted(spool.OFF_NAME),
        "REDACT_NAME": _quoted(spool.REDACT_NAME),
        "USES_XDG": str(int(sys.platform != "darwin")),
        "STATE_BELOW_HOME": _quoted(below_home),
    }
    lines = [f"#define {name} {value}\n" for name, value in defined.items()]
    return "".join(lines) + _SOURCE.read_text("utf-8")


def _quoted(text: str | bytes) -> str:
    """A C string of plain ASCII."""
    plain = text.decode("ascii") if isinstance(text, bytes) else text
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t") + '"'
