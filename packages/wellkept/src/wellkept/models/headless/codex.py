"""Codex as a chat model: `codex exec` with a home folder of its own, linked to the user's login."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from wellkept.core.ports.models import ChatAnswer
from wellkept.models.headless.client import (
    CommandLine,
    HeadlessCall,
    cause_of,
    failed,
    home_of,
    json_lines,
    table,
    text_in,
    total,
)
from wellkept.models.headless.private_folder import PrivateFolder
from wellkept.models.headless.process import Finished

_HOME = "codex"
_KEPT = frozenset({"auth.json", "sys.md", "installation_id"})
_OFF = (
    "include_environment_context",
    "include_permissions_instructions",
    "include_apps_instructions",
    "include_collaboration_mode_instructions",
    "skills.include_instructions",
    "skills.bundled.enabled",
    "tools.experimental_request_user_input.enabled",
    "analytics.enabled",
)
_DISABLED = (
    *("hooks", "plugins", "apps", "shell_tool", "unified_exec", "view_image", "goals"),
    *("multi_agent", "sleep_tool", "tool_suggest", "shell_snapshot", "image_generation"),
    *("code_mode_host", "unbounded_connection_retries"),
)


class Codex:
    """The user's own home would bring hooks and AGENTS.md along, whatever the options say.

    `overrides` are further values of its configuration, such as another model provider.
    """

    name = "codex"
    program = "codex"
    login_check = ("login", "status")

    def __init__(self, *, overrides: Mapping[str, str] | None = None) -> None:
        self._overrides = dict(overrides or {})

    def usual_model(self, environment: Mapping[str, str]) -> str | None:  # noqa: ARG002
        return "gpt-5.5"

    def login_files(self, environment: Mapping[str, str]) -> tuple[Path, ...]:
        own = environment.get("CODEX_HOME")
        return ((Path(own) if own else home_of(environment) / ".codex") / "auth.json",)

    def command_line(self, call: HeadlessCall) -> CommandLine:
        (login,) = self.login_files(call.environment)
        call.folder.link(f"{_HOME}/auth.json", login)
        system = call.folder.write(f"{_HOME}/sys.md", call.system)
        values = {
            "model_instructions_file": json.dumps(str(system)),
            "project_doc_max_bytes": "0",
            "web_search": '"disabled"',
            "model_reasoning_effort": '"low"',
            **dict.fromkeys(_OFF, "false"),
            **self._overrides,
        }
        configured = [word for name, value in values.items() for word in ("-c", f"{name}={value}")]
        disabled = [word for name in _DISABLED for word in ("--disable", name)]
        arguments = (
            *("exec", "--json", "--skip-git-repo-check", "--ephemeral", "--ignore-user-config"),
            *("--ignore-rules", "-s", "read-only", "-m", call.model, *configured, *disabled, "-"),
        )
        return CommandLine(arguments, {"CODEX_HOME": str(system.parent)})

    def is_done(self, line: bytes) -> bool:  # noqa: ARG002
        return False

    def read(self, done: Finished) -> ChatAnswer:
        events = json_lines(done.output)
        items = [table(event, "item") for event in events if event.get("type") == "item.completed"]
        texts = [text_in(item, "text") for item in items if item.get("type") == "agent_message"]
        ends = [event for event in events if event.get("type") == "turn.completed"]
        if done.code != 0 or not ends or not "".join(texts).strip():
            ended_badly = [event for event in events if event.get("type") == "turn.failed"]
            said = [text_in(table(event, "error"), "message") for event in ended_badly]
            message = " ".join(said) or done.errors.decode("utf-8", "replace")[-400:]
            cause = "answer" if done.code == 0 and ends else cause_of(message)
            raise failed("Codex", message or f"exit code {done.code}", cause=cause)
        usage = table(ends[-1], "usage")
        return ChatAnswer(texts[-1], total(usage, "input_tokens"), total(usage, "output_tokens"))

    def clean_up(self, folder: PrivateFolder) -> None:
        """Its databases hold what was sent."""
        for path in (folder.root / _HOME).glob("*"):
            if path.name not in _KEPT:
                folder.remove(f"{_HOME}/{path.name}")
