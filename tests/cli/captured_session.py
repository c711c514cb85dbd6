"""Events put into the spool as a client's hook would."""

from __future__ import annotations

import json
import os
from pathlib import Path

from wellkept.store import spool

SESSION = "5e551040-0000-4000-8000-000000000001"
NOW_MS = 1_790_000_000_000


def catch(event: str, **payload: object) -> None:
    """Spool one event of a Claude Code session in the current folder."""
    whole = {"session_id": SESSION, "cwd": str(Path.cwd()), "hook_event_name": event, **payload}
    spool.append(
        str(Path(os.environ["WELLKEPT_HOME"]) / spool.FOLDER_NAME),
        client="claude-code",
        session=SESSION,
        event=event,
        payload=json.dumps(whole).encode(),
        now_ms=NOW_MS,
    )


def catch_a_session() -> None:
    """A whole short session: a prompt, an edit, and the end of the turn."""
    catch("SessionStart", source="startup")
    catch("UserPromptSubmit", prompt="Add a greeting. Remember that we greet in French.")
    catch(
        "PostToolUse",
        tool_name="Write",
        tool_use_id="t1",
        tool_input={"file_path": "greet.py", "content": "def greet():\n    return 'bonjour'\n"},
        tool_response={"type": "create", "filePath": "greet.py"},
    )
    catch("Stop", last_assistant_message="Done. Next steps: translate the rest")
