"""A small project with memories and two sessions, the second one still open, for the browser tests.

Sessions go through the real path: the hook process writes the spool, a drain reads it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import wellkept
from wellkept.clients import hook

FILES = {
    "booking/holds.ts": "export const HOLD_TTL = 15;\nexport function hold(seat: string) { return seat; }\n",
    "booking/sailing.ts": 'import { hold } from "./holds";\nexport function closeSailing() { return hold("a"); }\n',
    "payments/webhook.ts": 'import { closeSailing } from "../booking/sailing";\nexport const webhook = closeSailing;\n',
    "payments/keys.ts": "export const key = 1;\n",
    "web/checkout.ts": 'import { webhook } from "../payments/webhook";\nexport const checkout = webhook;\n',
}
TAUGHT = [
    ("Use pnpm, never npm.", "preference", []),
    (
        "Money is an integer in minor units (`amountMinor`) everywhere.",
        "convention",
        ["payments/keys.ts"],
    ),
    ("Held seats expire after 15 minutes (`HOLD_TTL`).", "fact", ["booking/holds.ts"]),
    ("A hold is keyed by seat and sailing, never by customer.", "gotcha", ["booking/holds.ts"]),
    (
        "Stripe events can arrive out of order. Sort by `created`, then `id`.",
        "fact",
        ["payments/webhook.ts"],
    ),
    ("New route: contract, handler, test, openapi.", "pattern", []),
]
WAITING = [
    ("Closing a sailing must also release its held seats.", "gotcha", ["booking/sailing.ts"]),
    ("Booking tests need `seedPorts()` first.", "pattern", []),
    ("Sailings closed early keep their fare table.", "fact", []),
    ("`HOLD_TTL` is read once, at start.", "fact", ["booking/holds.ts"]),
]
HOSTILE = '<img src=x onerror="window.hacked=1"> <script>window.hacked=1</script> zero\u200bwidth \u202eturned'


def main() -> None:
    home, project = Path(os.environ["WELLKEPT_HOME"]), Path(sys.argv[1])
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, "utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "ferries"]):
        subprocess.run([*git, *command], cwd=project, check=True)
    with wellkept.open(home / "memory.db", cwd=project) as wk:
        for content, kind, files in TAUGHT:
            wk.remember(content, type=kind, files=files, source="user_taught")
        for content, kind, files in WAITING:
            wk.remember(
                content,
                type=kind,
                files=files,
                source="observer_inferred",
                confidence=0.62,
                needs_review=True,
            )
        wk.remember(HOSTILE, type="fact", source="mcp_auto")
        wk.graph.build()
    for session in ("5e551001-aaaa-4000-8000-000000000001", "5e551002-bbbb-4000-8000-000000000002"):
        work(session, project, ends=session.startswith("5e551001"))


def work(session: str, project: Path, *, ends: bool) -> None:
    """One session as Claude Code tells of it."""
    holds = str(project / "booking/holds.ts")
    sailing = str(project / "booking/sailing.ts")

    def tell(event: str, **fields: object) -> None:
        payload = {"session_id": session, "cwd": str(project), "hook_event_name": event, **fields}
        subprocess.run(
            [sys.executable, "-I", "-S", str(hook.__file__), "claude-code", event, "both"],
            input=json.dumps(payload).encode(),
            cwd=project,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def used(tool: str, given: dict[str, object], answer: object) -> None:
        tell("PostToolUse", tool_name=tool, tool_input=given, tool_response=answer)

    tell("SessionStart", source="startup")
    tell(
        "UserPromptSubmit",
        prompt="Customers cannot rebook after we close a sailing early. Fix it and add a test.",
    )
    used(
        "Read",
        {"file_path": holds},
        {"file": {"filePath": holds, "content": FILES["booking/holds.ts"]}},
    )
    used(
        "Bash",
        {"command": "pnpm test booking"},
        {"stdout": "1 failed: expected 0 held seats, got 12", "stderr": "", "exitCode": 1},
    )
    used(
        "Edit",
        {
            "file_path": sailing,
            "old_string": "closeSailing()",
            "new_string": "closeSailing(sailing)",
        },
        {"filePath": sailing},
    )
    used(
        "Bash",
        {"command": "pnpm test booking"},
        {"stdout": "41 passed", "stderr": "", "exitCode": 0},
    )
    if ends:
        tell("Stop")
        tell("SessionEnd", reason="exit")


if __name__ == "__main__":
    main()
