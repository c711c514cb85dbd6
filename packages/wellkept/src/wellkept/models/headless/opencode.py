"""OpenCode as a chat model: `opencode run` with a configuration of its own, and the user's models.

It repeats a question without end when the answer is empty, so it is stopped at its first
`step_finish`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from wellkept.core.ports.models import ChatAnswer
from wellkept.models.headless.client import (
    CommandLine,
    HeadlessCall,
    cause_of,
    failed,
    home_of,
    json_lines,
    parsed,
    table,
    text_in,
    total,
)
from wellkept.models.headless.private_folder import PrivateFolder
from wellkept.models.headless.process import Finished

_OFF = (
    *("PROJECT_CONFIG", "CLAUDE_CODE", "EXTERNAL_SKILLS", "DEFAULT_PLUGINS", "AUTOUPDATE"),
    *("MODELS_FETCH", "LSP_DOWNLOAD", "SHARE"),
)
_CONFIG_NAMES = ("opencode.jsonc", "opencode.json", "config.json")
# Comments and trailing commas of JSONC; strings are matched first, so that they stay.
_JSONC = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


class OpenCode:
    """Its data folder is still the user's: the logins are there."""

    name = "opencode"
    program = "opencode"
    login_check: tuple[str, ...] = ()

    def usual_model(self, environment: Mapping[str, str]) -> str | None:
        config = _user_config(environment)
        return text_in(config, "small_model") or text_in(config, "model") or None

    def login_files(self, environment: Mapping[str, str]) -> tuple[Path, ...]:
        own = environment.get("XDG_DATA_HOME")
        data = Path(own) if own else home_of(environment) / ".local" / "share"
        return (data / "opencode" / "auth.json", *_config_files(environment))

    def command_line(self, call: HeadlessCall) -> CommandLine:
        arguments = (
            *("run", "--pure", "--format", "json", "--agent", "wellkept"),
            *("--model", call.model, "--title", "wellkept"),
        )
        config = call.folder.root / "opencode"
        config.mkdir(mode=0o700, exist_ok=True)
        variables = {
            "OPENCODE_DB": ":memory:",
            "OPENCODE_PURE": "1",
            "XDG_CONFIG_HOME": str(config),
            **{f"OPENCODE_DISABLE_{name}": "1" for name in _OFF},
            "OPENCODE_CONFIG_CONTENT": json.dumps(_config(call)),
        }
        return CommandLine(arguments, variables)

    def is_done(self, line: bytes) -> bool:
        said = parsed(line) if b"step_finish" in line else None
        return said is not None and said.get("type") == "step_finish"

    def read(self, done: Finished) -> ChatAnswer:
        events = json_lines(done.output)
        parts = [table(event, "part") for event in events if event.get("type") == "text"]
        text = "".join(text_in(part, "text") for part in parts)
        ends = [table(event, "part") for event in events if event.get("type") == "step_finish"]
        if not ends or ends[-1].get("reason") != "stop" or not text.strip():
            errors = [table(event, "error") for event in events if event.get("type") == "error"]
            data = [table(error, "data") for error in errors]
            message = " ".join(text_in(one, "message") for one in data)
            status = data[-1].get("statusCode") if data else None
            message = message or done.errors.decode("utf-8", "replace")[-400:]
            cause = "answer" if ends else cause_of(message, status)
            raise failed("OpenCode", message, cause=cause)
        tokens = table(ends[-1], "tokens")
        cache = table(tokens, "cache")
        given = [total(tokens, "input"), total(cache, "read", "write")]
        read = sum(count for count in given if count is not None) if any(given) else None
        return ChatAnswer(text, read, total(tokens, "output", "reasoning"))

    def clean_up(self, folder: PrivateFolder) -> None:
        """Its database was in memory."""


def _config(call: HeadlessCall) -> dict[str, object]:
    agent = {
        "mode": "primary",
        "description": "Answers one question",
        "prompt": call.system,
        "model": call.model,
        "tools": {"*": False},
        "permission": {"*": "deny"},
        "temperature": 0,
    }
    off = {name: {"disable": True} for name in ("title", "build", "plan", "general", "explore")}
    user = _user_config(call.environment)
    config: dict[str, object] = {
        "agent": {"wellkept": agent, **off},
        "default_agent": "wellkept",
        "instructions": [],
        "snapshot": False,
        "plugin": [],
        "share": "disabled",
        "autoupdate": False,
        "formatter": False,
        "lsp": False,
        "compaction": {"auto": False, "prune": False},
    }
    kept = ("provider", "enabled_providers", "disabled_providers")
    return config | {name: user[name] for name in kept if name in user}


def _config_files(environment: Mapping[str, str]) -> tuple[Path, ...]:
    named = environment.get("OPENCODE_CONFIG")
    own = environment.get("XDG_CONFIG_HOME")
    folder = (Path(own) if own else home_of(environment) / ".config") / "opencode"
    usual = tuple(folder / name for name in _CONFIG_NAMES)
    return (*usual, Path(named)) if named else usual


def _user_config(environment: Mapping[str, str]) -> dict[str, object]:
    """The user's configuration; later files win, as in OpenCode."""
    config: dict[str, object] = {}
    for path in reversed(_config_files(environment)[:3]):
        config |= _read_jsonc(path)
    if named := environment.get("OPENCODE_CONFIG"):
        config |= _read_jsonc(Path(named))
    return config


def _read_jsonc(path: Path) -> dict[str, object]:
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError):
        return {}
    plain = _JSONC.sub(lambda match: cast("str | None", match[1]) or "", text)
    return parsed(plain.encode()) or {}
