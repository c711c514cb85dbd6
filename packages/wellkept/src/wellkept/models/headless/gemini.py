"""Gemini CLI as a chat model: `gemini -p` with a home folder of its own, linked to the login."""

from __future__ import annotations

import json
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
    parsed,
    table,
    text_in,
    total,
)
from wellkept.models.headless.private_folder import PrivateFolder
from wellkept.models.headless.process import Finished

_HOME = "gemini"
_LOGINS = ("oauth_creds.json", "google_accounts.json", "gemini-credentials.json", ".env")
# It ends with the HTTP status modulo 256; 41 means that no way to log in is chosen.
_LOGIN_CODES, _BUSY_CODES = frozenset({41, 145, 147}), frozenset({173, 244, 246, 247})


class GeminiCli:
    """The user's own home would bring hooks, tools and GEMINI.md along."""

    name = "gemini"
    program = "gemini"
    login_check: tuple[str, ...] = ()

    def usual_model(self, environment: Mapping[str, str]) -> str | None:  # noqa: ARG002
        return "gemini-2.5-flash-lite"

    def login_files(self, environment: Mapping[str, str]) -> tuple[Path, ...]:
        folder = _user_folder(environment)
        return tuple(folder / name for name in (*_LOGINS, "settings.json"))

    def command_line(self, call: HeadlessCall) -> CommandLine:
        folder = _user_folder(call.environment)
        for name in _LOGINS:
            call.folder.link(f"{_HOME}/.gemini/{name}", folder / name)
        settings = _settings(call, _login_type(folder / "settings.json"))
        call.folder.write(f"{_HOME}/.gemini/settings.json", json.dumps(settings))
        system = call.folder.write(f"{_HOME}/sys.md", call.system)
        variables = {
            "GEMINI_CLI_HOME": str(system.parent),
            "GEMINI_SYSTEM_MD": str(system),
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }
        return CommandLine(("-p", "", "-o", "json", "--skip-trust", "-m", call.model), variables)

    def is_done(self, line: bytes) -> bool:  # noqa: ARG002
        return False

    def read(self, done: Finished) -> ChatAnswer:
        said = _object_in(done.output)
        text = text_in(said, "response")
        if done.code != 0 or not text.strip():
            error = table(said, "error") or table(_object_in(done.errors), "error")
            message = text_in(error, "message") or done.errors.decode("utf-8", "replace")[-400:]
            if done.code in _LOGIN_CODES | _BUSY_CODES:
                cause = "login" if done.code in _LOGIN_CODES else "busy"
            else:
                cause = "answer" if done.code == 0 else cause_of(message, error.get("code"))
            raise failed("Gemini CLI", message or f"exit code {done.code}", cause=cause)
        models = table(table(said, "stats"), "models")
        counts = [table(model, "tokens") for model in models.values()]
        given = [total(one, "prompt") for one in counts]
        made = [total(one, "candidates", "thoughts") for one in counts]
        return ChatAnswer(text, _sum(given), _sum(made))

    def clean_up(self, folder: PrivateFolder) -> None:
        for name in ("tmp", "history"):
            folder.remove(f"{_HOME}/.gemini/{name}")


def _user_folder(environment: Mapping[str, str]) -> Path:
    own = environment.get("GEMINI_CLI_HOME")
    return (Path(own) if own else home_of(environment)) / ".gemini"


def _login_type(settings: Path) -> str | None:
    """How the user logs in, from their settings."""
    try:
        known = parsed(settings.read_bytes())
    except OSError:
        return None
    return text_in(table(table(known, "security"), "auth"), "selectedType") or None


def _object_in(raw: bytes) -> dict[str, object]:
    """The JSON object in output that may begin and end with notices."""
    start, end = raw.find(b"{"), raw.rfind(b"}")
    return parsed(raw[start : end + 1]) or {}


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _settings(call: HeadlessCall, login_type: str | None) -> dict[str, object]:
    thinking = {"thinkingBudget": 0, "includeThoughts": False}
    generation = {
        "maxOutputTokens": call.max_tokens,
        "temperature": 0,
        "thinkingConfig": thinking if "flash" in call.model else {"includeThoughts": False},
    }
    override = {
        "match": {"model": call.model},
        "modelConfig": {"generateContentConfig": generation},
    }
    settings: dict[str, object] = {
        "hooksConfig": {"enabled": False},
        "tools": {"core": ["none"], "discoveryCommand": "", "useRipgrep": False},
        "mcp": {"allowed": ["none"]},
        "context": {"fileName": ["WELLKEPT-NONE.md"], "includeDirectoryTree": False},
        "skills": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {
            "enableAutoUpdate": False,
            "enableAutoUpdateNotification": False,
            "sessionRetention": {"enabled": False},
            "plan": {"enabled": False},
            "topicUpdateNarration": False,
            "maxAttempts": 1,
            "retryFetchErrors": False,
        },
        "model": {"maxSessionTurns": 1, "skipNextSpeakerCheck": True},
        "ide": {"enabled": False},
        "experimental": {"enableAgents": False, "plan": False, "topicUpdateNarration": False},
        "modelConfigs": {"customOverrides": [override]},
    }
    if login_type:
        settings["security"] = cast("object", {"auth": {"selectedType": login_type}})
    return settings
