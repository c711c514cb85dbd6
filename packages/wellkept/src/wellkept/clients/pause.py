"""Whether `wellkept off` holds for an event; imported by the hook only while its file is there.

Without a pause the hook pays for one failed look at that file and nothing more.
"""

import os
import time

from wellkept.store.pause import ALL, EVERYWHERE, covers, is_on, parse_pauses
from wellkept.store.spool import OFF_NAME

_MAX_BYTES = 1 << 16


def paused_parts(state: str, payload: bytes) -> tuple[bool, bool]:
    """Whether answers are paused, and whether capture is too."""
    try:
        descriptor = os.open(f"{state}/{OFF_NAME}", os.O_RDONLY)
    except FileNotFoundError:
        return False, False
    except OSError:
        # It is there, so somebody asked for silence.
        return True, False
    try:
        text = os.read(descriptor, _MAX_BYTES).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
    now_ms = time.time_ns() // 1_000_000
    pauses = [one for one in parse_pauses(text) if is_on(one, now_ms)]
    if any(where != EVERYWHERE for _, _, where in pauses):
        folder = os.path.realpath(_folder(payload))
        pauses = [one for one in pauses if covers(one, folder)]
    return bool(pauses), any(what == ALL for _, what, _ in pauses)


def _folder(payload: bytes) -> str:
    """The folder that a payload is about; else the one that the client started the hook in."""
    import json

    try:
        fields = json.loads(payload)
        roots = fields.get("workspace_roots") or fields.get("workspacePaths") or [""]
        folder = fields.get("cwd") or roots[0]
    except (ValueError, AttributeError, LookupError, TypeError, RecursionError):
        folder = ""
    if isinstance(folder, str) and folder and "\0" not in folder:
        return folder
    try:
        return os.getcwd()
    except OSError:
        return "/"
