"""A coding client in 30 lines: it runs the commands it is given, and remembers.

`wellkept hook EVENT` takes JSON and prints `{"context": ...}` or nothing; it never fails or blocks.
Try: `printf 'make ship\nZOO=1 make ship\n' | python examples/tiny_client.py`
"""

import json
import subprocess
import sys
import uuid
from pathlib import Path

SESSION = {"client": "tiny", "session_id": str(uuid.uuid4()), "cwd": str(Path.cwd())}


def hook(event: str, **fields: object) -> None:
    """Tell Wellkept what happened; print what it has to say."""
    payload = json.dumps(SESSION | fields)
    words = [sys.executable, "-m", "wellkept.cli", "hook", event]
    said = subprocess.run(words, input=payload, capture_output=True, text=True, check=False).stdout
    print(json.loads(said)["context"] if said else "", end="")


hook("session_start", source="startup")
for command in map(str.strip, sys.stdin):
    run = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    print(run.stdout + run.stderr, end="")
    result = {"output": run.stdout + run.stderr, "exit_code": run.returncode}
    hook("tool_call", name="shell", input={"command": command}, **result)
hook("session_end", reason="done")
