"""Claude Code as a chat model: `claude -p`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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

_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class ClaudeCode:
    """`--safe-mode` keeps the user's login; `--bare` and `--setting-sources ""` would lose it."""

    name = "claude"
    program = "claude"
    login_check = ("auth", "status")

    def usual_model(self, environment: Mapping[str, str]) -> str | None:  # noqa: ARG002
        return "haiku"

    def login_files(self, environment: Mapping[str, str]) -> tuple[Path, ...]:
        own = environment.get("CLAUDE_CONFIG_DIR")
        folder = Path(own) if own else home_of(environment) / ".claude"
        return (folder / ".credentials.json", folder / "settings.json")

    def command_line(self, call: HeadlessCall) -> CommandLine:
        arguments = (
            *("-p", "--safe-mode", "--tools", "", "--strict-mcp-config"),
            *("--no-session-persistence", "--system-prompt", call.system, "--model", call.model),
            *("--effort", "low", "--output-format", "json"),
        )
        variables = {
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_THINKING": "1",
            "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(call.max_tokens),
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "API_TIMEOUT_MS": str(int(call.limit_s * 1000)),
        }
        return CommandLine(arguments, variables)

    def is_done(self, line: bytes) -> bool:  # noqa: ARG002
        return False

    def read(self, done: Finished) -> ChatAnswer:
        said = parsed(done.output.strip()) or {}
        text = text_in(said, "result")
        if done.code != 0 or said.get("is_error") is not False or not text.strip():
            message = text or done.errors.decode("utf-8", "replace") or f"exit code {done.code}"
            known = bool(said) and done.code == 0
            cause = "answer" if known else cause_of(message, said.get("api_error_status"))
            raise failed("Claude Code", message, cause=cause)
        usage = table(said, "usage")
        return ChatAnswer(text, total(usage, *_INPUT), total(usage, "output_tokens"))

    def clean_up(self, folder: PrivateFolder) -> None:
        """It leaves nothing."""
