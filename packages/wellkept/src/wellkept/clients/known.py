"""What is known of each coding client, one record each; every table of clients is made from these.

A client is this record and its module. The record names the module, so nothing is imported before
it is needed: this runs at the start of every command and hook, and loads no `typing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_RESTART = "Restart open sessions to use it."
_ONLY_SERVER = (
    "This client has no hook that takes context: sessions are not captured, and the model asks the"
    " MCP server by itself or when you say so."
)
_FILES = "wellkept.clients.install.client_files"
_TRANSCRIPTS = "wellkept.clients.transcripts"


class KnownClient:
    """One client.

    `module` translates its payloads (`events`). `install` is the function, as `module:name`, that
    gives the files to change; `programs` are its commands, by which it is noticed; `notes` are
    shown after installing. `transcripts` reads its own records of sessions.

    `context_events` are the events whose hook output goes to the model: as the JSON field
    `context_field`, as plain text ("text"), or as Claude Code has it (""). `instructions` and
    `own_instructions` (variable, folder in the home, file) are the files that it loads itself in a
    project and for its person. `shell_marks` are variables that it sets for commands of its agent.
    """

    def __init__(
        self,
        *,
        title: str,
        module: str = "",
        install: str = "",
        programs: tuple[str, ...] = (),
        notes: tuple[str, ...] = (_RESTART,),
        transcripts: str = "",
        context_events: tuple[str, ...] = (),
        context_field: str = "",
        instructions: tuple[str, ...] = (),
        own_instructions: tuple[tuple[str, str, str], ...] = (),
        skills: str = "",
        shell_marks: tuple[str, ...] = (),
    ) -> None:
        self.title = title
        self.module = module
        self.install = install
        self.programs = programs
        self.notes = notes
        self.transcripts = transcripts
        self.context_events = context_events
        self.context_field = context_field
        self.instructions = instructions
        self.own_instructions = own_instructions
        self.skills = skills
        self.shell_marks = shell_marks


KNOWN: Mapping[str, KnownClient] = MappingProxyType(
    {
        "claude-code": KnownClient(
            title="Claude Code",
            module="wellkept.clients.claude_code",
            install=f"{_FILES}:claude_code_targets",
            programs=("claude",),
            notes=(
                _RESTART,
                "The tools that read memory and that remember may run without asking; forgetting"
                " still asks.",
            ),
            transcripts=f"{_TRANSCRIPTS}.claude_code",
            context_events=(
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "PostToolUseFailure",
                "Stop",
            ),
            instructions=(
                "CLAUDE.md",
                "CLAUDE.local.md",
                ".claude/CLAUDE.md",
                ".claude/rules/*.md",
            ),
            own_instructions=(("CLAUDE_CONFIG_DIR", ".claude", "CLAUDE.md"),),
            skills=".claude/skills",
            shell_marks=("CLAUDECODE",),
        ),
        "codex": KnownClient(
            title="Codex",
            module="wellkept.clients.codex",
            install=f"{_FILES}:codex_targets",
            programs=("codex",),
            notes=(
                "Start Codex once and accept the hooks: it skips hooks that you have not trusted.",
            ),
            transcripts=f"{_TRANSCRIPTS}.codex",
            context_events=("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"),
            instructions=("AGENTS.override.md", "AGENTS.md"),
            own_instructions=(("CODEX_HOME", ".codex", "AGENTS.md"),),
            skills=".agents/skills",
            shell_marks=(
                "CODEX_SANDBOX",
                "CODEX_SANDBOX_NETWORK_DISABLED",
                "CODEX_THREAD_ID",
                "CODEX_CI",
            ),
        ),
        "gemini": KnownClient(
            title="Gemini CLI",
            module="wellkept.clients.gemini",
            install=f"{_FILES}:gemini_targets",
            programs=("gemini",),
            transcripts=f"{_TRANSCRIPTS}.gemini",
            context_events=("SessionStart", "BeforeAgent", "AfterTool"),
            instructions=("GEMINI.md",),
            own_instructions=(("", ".gemini", "GEMINI.md"),),
            skills=".agents/skills",
            shell_marks=("GEMINI_CLI",),
        ),
        "cursor": KnownClient(
            title="Cursor",
            module="wellkept.clients.cursor",
            install=f"{_FILES}:cursor_targets",
            programs=("cursor", "cursor-agent"),
            context_events=("sessionStart", "postToolUse"),
            context_field="additional_context",
            instructions=(".cursor/rules/*.mdc", ".cursorrules", "AGENTS.md"),
            skills=".agents/skills",
            shell_marks=("CURSOR_AGENT",),
        ),
        "opencode": KnownClient(
            title="OpenCode",
            module="wellkept.clients.opencode",
            install=f"{_FILES}:opencode_targets",
            programs=("opencode",),
            transcripts=f"{_TRANSCRIPTS}.opencode",
            context_events=("SessionStart", "UserPromptSubmit", "PostToolUse"),
            context_field="text",
            instructions=("AGENTS.md", "CLAUDE.md"),
            own_instructions=(("", ".config/opencode", "AGENTS.md"),),
            skills=".opencode/skills",
            shell_marks=("OPENCODE",),
        ),
        "qwen": KnownClient(
            title="Qwen Code",
            module="wellkept.clients.qwen",
            install=f"{_FILES}:qwen_targets",
            programs=("qwen",),
            context_events=(
                "SessionStart",
                "UserPromptSubmit",
                "PostToolUse",
                "PostToolUseFailure",
            ),
            shell_marks=("QWEN_CODE",),
        ),
        "copilot": KnownClient(
            title="Copilot CLI",
            module="wellkept.clients.copilot",
            install=f"{_FILES}:copilot_targets",
            programs=("copilot",),
            context_events=(
                "sessionStart",
                "userPromptSubmitted",
                "postToolUse",
                "postToolUseFailure",
            ),
            context_field="additionalContext",
            shell_marks=("COPILOT_CLI",),
        ),
        "amp": KnownClient(
            title="Amp",
            install=f"{_FILES}:amp_targets",
            programs=("amp",),
            notes=(_RESTART, _ONLY_SERVER),
            shell_marks=("AMP_CURRENT_THREAD_ID",),
        ),
        "crush": KnownClient(
            title="Crush",
            install=f"{_FILES}:crush_targets",
            programs=("crush",),
            notes=(_RESTART, _ONLY_SERVER),
        ),
        "windsurf": KnownClient(
            title="Windsurf",
            install=f"{_FILES}:windsurf_targets",
            programs=("windsurf",),
            notes=(_RESTART, _ONLY_SERVER),
        ),
        "cline": KnownClient(title="Cline", shell_marks=("CLINE_ACTIVE",)),
        "goose": KnownClient(title="Goose", shell_marks=("GOOSE_TERMINAL",)),
        "augment": KnownClient(title="Augment", shell_marks=("AUGMENT_AGENT",)),
        # The runtime of this package makes events itself.
        "wellkept": KnownClient(
            title="Wellkept's agent",
            module="wellkept.core.chat.runtime_events",
            instructions=("AGENTS.md", "CLAUDE.md"),
            shell_marks=("WELLKEPT_AGENT",),
        ),
        # Any other, by the documented protocol.
        "generic": KnownClient(
            title="an agent",
            module="wellkept.clients.generic",
            context_events=("session_start", "prompt", "tool_call"),
            context_field="context",
            shell_marks=("AI_AGENT",),
        ),
    }
)


def agent_of(environment: Mapping[str, str]) -> str | None:
    """The client whose agent runs this process; None for a person's own terminal. A command there
    is the agent's, even when it is one that people type."""
    return next(
        (
            one.title
            for one in KNOWN.values()
            if any(environment.get(mark) for mark in one.shell_marks)
        ),
        None,
    )
