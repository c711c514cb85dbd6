"""Whether a process runs inside an agent's tool call, by the marks that clients set for it.

A command there is the agent's, even when it is one that people type. Imports nothing but types: it
runs at the start of every command.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

MARKS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "CLAUDECODE": "Claude Code",
        "CODEX_SANDBOX": "Codex",
        "CODEX_SANDBOX_NETWORK_DISABLED": "Codex",
        "CODEX_THREAD_ID": "Codex",
        "CODEX_CI": "Codex",
        "GEMINI_CLI": "Gemini CLI",
        "QWEN_CODE": "Qwen Code",
        "CURSOR_AGENT": "Cursor",
        "OPENCODE": "OpenCode",
        "COPILOT_CLI": "Copilot CLI",
        "CLINE_ACTIVE": "Cline",
        "GOOSE_TERMINAL": "Goose",
        "AUGMENT_AGENT": "Augment",
        "AMP_CURRENT_THREAD_ID": "Amp",
        "WELLKEPT_AGENT": "Wellkept's agent",
        "AI_AGENT": "an agent",
    }
)
"""Variables that clients set for the commands of their agents, not for a person's terminal."""


def agent_of(environment: Mapping[str, str]) -> str | None:
    """The client whose agent runs this process; None for a person's own terminal."""
    return next((name for mark, name in MARKS.items() if environment.get(mark)), None)
