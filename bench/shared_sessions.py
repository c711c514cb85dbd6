"""Run the gate of the development sessions that lie beside the repository.

`../shared/sessions` has transcripts' places, replay, truth check and baseline of its own. It is
copied to a scratch folder, where the names of the product's modules are brought up to date, and run
whole over the repositories that were fetched. Where it is not there, that is said and nothing runs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GATE = ROOT.parent / "shared" / "sessions"
FETCHED = ROOT.parent / ".mirror"
# Modules that the replay knows by the names they had before the rooms.
MOVED = {
    "wellkept.clients.transcripts.registry": "wellkept.clients.registry",
    "wellkept.app.hook_context": "wellkept.api.hook_context",
    "wellkept.app.observer.drain": "wellkept.observe.observer.drain",
    "wellkept.core.events": "wellkept.core.session.events",
    "wellkept.core.runtime.transcripts": "wellkept.core.chat.transcripts",
}


def run_gate(gate: Path = GATE, *, fetched: Path = FETCHED, limit: int = 12) -> int:
    """The exit code of the gate: 1 when a told line is proven bad or a replay had an error."""
    if not (gate / "gate.py").is_file():
        print(f"No development sessions at {gate}: nothing to run.")
        return 0
    with tempfile.TemporaryDirectory(prefix="wellkept-gate-") as folder:
        copy = Path(folder) / "sessions"
        shutil.copytree(gate, copy, copy_function=shutil.copyfile)
        replaying = copy / "replaying.py"
        replaying.write_text(renamed(replaying.read_text(encoding="utf-8")), encoding="utf-8")
        command = [copy / "gate.py", fetched, Path(folder) / "work", "--limit", limit]
        return subprocess.run([sys.executable, *map(str, command)], check=False).returncode


def renamed(text: str) -> str:
    """A script with the modules' names of today."""
    for old, new in MOVED.items():
        text = text.replace(f"from {old} import", f"from {new} import")
    return text
