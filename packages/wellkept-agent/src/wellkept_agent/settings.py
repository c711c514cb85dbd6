"""Settings of the runtime, each with its environment variables.

An area declares a record; `load` fills the fields that are made by `setting` from a table of
settings and from the environment. A variable wins over the table; a value that does not fit is
refused with the name of the variable. `LoopSettings` are those of the loop itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, TypeVar, cast, get_origin

from wellkept.core.errors import UsageError
from wellkept.core.records import Field, field_types, fields, record, replace
from wellkept.core.settings.model import SettingRule, setting

_T = TypeVar("_T")
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


def doc_of(kind: type[object], one: Field) -> SettingRule:
    """The rule of a settings field. A record's VARIABLES begins the names of its variables."""
    rule: SettingRule = one.metadata["rule"]
    own, *others = rule.variables
    own = own or getattr(kind, "VARIABLES", "") + one.name.upper()
    return replace(rule, variables=(f"WELLKEPT_AGENT_{own}", *others))


def table(kind: type[object]) -> Iterator[tuple[str, object, SettingRule]]:
    """Name, default and rule of each setting of a record, for docs and tests."""
    for one in fields(kind):
        if "rule" in one.metadata:
            yield one.name, one.default, doc_of(kind, one)


def load(
    kind: type[_T],
    *,
    values: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
) -> _T:
    """A settings record from a table and the environment."""
    values, environment = values or {}, environment or {}
    types = field_types(kind)
    known = [one for one in fields(kind) if "rule" in one.metadata]
    unknown = sorted(set(values) - {one.name for one in known})
    if unknown:
        raise UsageError(f"Unknown agent setting: {', '.join(unknown)}.")
    found: dict[str, Any] = {}
    for one in known:
        if one.name in values:
            found[one.name] = _read(one, types[one.name], values[one.name], source=one.name)
        for variable in doc_of(kind, one).variables:
            if variable in environment:
                given = environment[variable]
                found[one.name] = _read(one, types[one.name], given, source=variable)
                break
    return kind(**found)


def _read(one: Field, kind: Any, given: object, *, source: str) -> Any:
    """A value of the field's type, or an error that names where it came from."""
    is_tuple = get_origin(kind) is tuple
    choices = (kind,) if is_tuple else getattr(kind, "__args__", (kind,))
    kinds = [k for k in choices if k is not type(None)]
    try:
        value = _converted(kinds[0], given)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{source}={given!r} is no valid value: {error}.") from error
    known: SettingRule = one.metadata["rule"]
    if known.choices and str(value).strip().lower() not in known.choices:
        plain = one.name.replace("_", " ")
        raise UsageError(
            f"{source}={given!r} is no {plain}.",
            hint=f"Choose one of: {', '.join(known.choices)}.",
        )
    if isinstance(value, int | float) and not isinstance(value, bool):
        if known.low is not None and value < known.low:
            raise UsageError(f"{source}={given!r} is below {known.low:g}.")
        if known.high is not None and value > known.high:
            raise UsageError(f"{source}={given!r} is above {known.high:g}.")
    return value


def _converted(kind: Any, given: object) -> Any:
    if kind is bool:
        if isinstance(given, bool):
            return given
        plain = str(given).strip().lower()
        if plain not in _TRUE | _FALSE:
            raise ValueError("write true or false")
        return plain in _TRUE
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        choices = ", ".join(one.value for one in kind)
        plain = str(given).strip().lower()
        if plain not in {one.value for one in kind}:
            raise ValueError(f"choose one of {choices}")
        return kind(plain)
    if kind in (int, float):
        if isinstance(given, bool):
            raise TypeError("write a number")
        return kind(cast("str", given))
    if get_origin(kind) is tuple:
        parts = given.split(",") if isinstance(given, str) else cast("list[object]", given)
        return tuple(str(part).strip() for part in parts if str(part).strip())
    return str(given)


@record(kw_only=True)
class LoopSettings:
    """Limits of the loop."""

    max_steps: int = setting(
        100, "Model calls in one turn", "1..", why="long tasks, or a model that loops"
    )
    max_tokens: int = setting(
        0, "Tokens a session may use in all; 0 is no limit", "0..", why="a bill"
    )
    max_output_tokens: int = 0  # tokens of one answer; 0 is the model's own
    subagent_max_steps: int = 50  # model calls of one sub-agent
    parallel_tools: int = 8  # read-only calls that run side by side
    hook_time_limit_s: float = 10.0  # seconds that a hook may take
    tool_time_limit_s: float = 180.0  # seconds that a tool may take
    max_result_chars: int = 60_000  # characters of one tool result
    # Equal calls with equal results before a hint; twice as many end the turn
    repeated_calls: int = 4
    permission_mode: str = setting(
        "default",
        "default, plan, accept_edits, bypass or dont_ask",
        "default|plan|accept_edits|bypass|dont_ask",
        why="fewer questions, or none",
    )


# -- Feature flags of the runtime: what of memory and skills is switched on -----------------------


@record(kw_only=True)
class FeatureFlags:
    """Switches and limits of memory and skills inside the loop."""

    memory_enabled: bool = setting(
        True, "Tell the model what is known", why="a session without memory"
    )
    memory_auto_extract: bool = setting(
        True, "Learn from a session at its end", why="nothing learned by itself"
    )
    memory_max_injected: int = setting(10, "Memories told at once", "0..", why="more told, or less")
    skills_enabled: bool = setting(
        True, "Tell the model of skills that fit", why="a session without skills"
    )
    skills_auto_generate: bool = setting(
        False,
        "Use skills made of sessions that went well at once; else they wait for a review",
        why="trust in made skills",
    )
    skills_max_injected_chars: int = setting(
        4_000, "Characters of skills told at once", "0..", why="long skills"
    )


@record(kw_only=True)
class ToolSettings:
    """Which tools there are, and their limits."""

    profile: str = setting(
        "lean",
        "Tools to begin with: lean (2,000 tokens), all or read_only",
        "lean|all|read_only",
        variable="TOOLS",
        why="notebooks, the web, or an agent that only reads",
    )
    enabled: tuple[str, ...] = setting(
        (),
        "Only these tools, by name; empty is all of the profile",
        variable="ENABLED_TOOLS",
        why="a choice of your own",
    )
    disabled: tuple[str, ...] = setting(
        (),
        "Tools that are left out, by name",
        variable="DISABLED_TOOLS",
        why="a tool you do not trust",
    )
    read_lines: int = 2_000  # lines that Read gives at once
    line_chars: int = 2_000  # characters of a line before it is cut
    pdf_pages: int = 20  # pages of a PDF that Read gives at once
    bash_timeout_ms: int = setting(
        120_000,
        "Milliseconds that a command may take by default",
        "1..",
        "BASH_DEFAULT_TIMEOUT_MS",
        why="slow tests",
    )
    bash_max_timeout_ms: int = setting(
        600_000,
        "Milliseconds that a command may ask for",
        "1..",
        "BASH_MAX_TIMEOUT_MS",
        why="slower builds",
    )
    # Characters of a command's output that are kept, mostly its end
    bash_output_chars: int = 30_000
    bash_keep_variables: tuple[str, ...] = setting(
        (),
        "Variables that commands get although they look like keys of ours",
        why="a command that needs a key",
    )
    glob_results: int = 100  # files that Glob lists
    grep_results: int = 250  # lines that Grep gives by default
    search_timeout_s: float = 30.0  # seconds that Grep may take
    web_timeout_s: float = 30.0  # seconds that a page may take
    web_max_bytes: int = 5_000_000  # bytes of a page that are loaded
    web_chars: int = 30_000  # characters of a page's text at once
    web_search_address: str = setting(
        "", "Search page of a SearXNG server for WebSearch; empty is none", why="searching the web"
    )


COMPACTABLE_TOOLS = ("Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write")


@record(kw_only=True)
class CompactionSettings:
    """When a conversation is made shorter, and how."""

    disable_compact: bool = setting(
        False, "No compaction at all", "", "DISABLE_COMPACT", why="the whole conversation, always"
    )
    disable_auto_compact: bool = setting(
        False,
        "No compaction by itself but micro-compaction",
        "",
        "DISABLE_AUTO_COMPACT",
        why="compaction only when you ask",
    )
    disable_micro_compact: bool = setting(
        False,
        "No micro-compaction",
        "",
        "DISABLE_MICROCOMPACT",
        variable="DISABLE_MICROCOMPACT",
        why="old results of tools matter",
    )
    auto_compact_offset: int = 13_000  # compact when fewer tokens than these are free
    auto_compact_percent: float | None = setting(
        None,
        "Compact when this share of the window is used, in percent",
        "1..100",
        "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
        variable="AUTOCOMPACT_PCT",
        why="earlier, or later",
    )
    warning_offset: int = 20_000  # warn when fewer tokens than these are free
    error_offset: int = 20_000  # warn as an error below these free tokens
    blocking_offset: int = 3_000  # tokens that must stay free; without them no call is made
    blocking_limit: int | None = setting(
        None,
        "Tokens in use from which no call is made",
        "1..",
        "CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE",
        why="a window smaller than the model says",
    )
    safety_margin: float = 1.33  # estimated tokens are multiplied by this
    min_messages: int = 4  # a shorter conversation is not compacted
    tail_tokens: int = 8_000  # tokens of the last messages that stay word for word

    micro_threshold: int = 40_000  # tokens of tool results before old ones are cleared
    micro_min_savings: int = 20_000  # clear old tool results only when it saves these tokens
    micro_keep_results: int = 3  # tool results that always stay
    micro_persist_tokens: int = 1_000  # a cleared result with more tokens names its file
    micro_tools: tuple[str, ...] = COMPACTABLE_TOOLS  # tools whose old results are cleared

    session_memory_compact: bool = True  # use the session's running summary instead of a new one
    session_memory_min_tokens: int = setting(
        10_000,
        "Tokens that the running summary must save",
        "0..",
        "CLAUDE_SESSION_MEMORY_MIN_TOKENS",
        why="when the running summary is too short",
    )
    session_memory_max_tokens: int = setting(
        40_000,
        "A longer running summary is not used",
        "0..",
        "CLAUDE_SESSION_MEMORY_MAX_TOKENS",
        why="when it is too long",
    )

    summary_retries: int = 2  # more attempts when a summary fails
    summary_tokens: int = 8_000  # tokens of a summary
    instructions: str = setting(
        "",
        "What a summary should keep",
        variable="COMPACT_INSTRUCTIONS",
        why="what you need after it",
    )
    pre_compact_command: str = setting(
        "", "Command run before compaction", why="a record of your own"
    )
    pre_compact_time_limit_s: float = 30.0  # seconds that the command may take

    restore_max_files: int = setting(
        5,
        "Files shown again after compaction",
        "0..",
        "CLAUDE_CONTEXT_RESTORE_MAX_FILES",
        why="work on many files",
    )
    restore_file_tokens: int = 5_000  # a larger file is not shown again
    restore_budget_tokens: int = setting(
        50_000,
        "Tokens of all files that are shown again",
        "0..",
        "CLAUDE_CONTEXT_RESTORE_BUDGET",
        variable="RESTORE_BUDGET",
        why="large files, or a small window",
    )


@record(kw_only=True)
class McpSettings:
    """How long servers may take, how much they may say, how often they are started again."""

    VARIABLES: ClassVar = "MCP_"
    enabled: bool = setting(True, "Connect to MCP servers", why="no servers at all")
    project_servers: bool = setting(
        True,
        "Offer the servers in a project's .mcp.json; each starts only after your yes",
        why="checkouts you do not trust",
    )
    connect_time_limit_s: float = 30.0  # seconds until a server must answer
    call_time_limit_s: float = 120.0  # seconds that a tool of a server may take
    max_result_chars: int = 50_000  # characters of one result
    max_tools: int = 128  # tools of one server that are offered to the model
    restarts: int = 3  # how often a server that ended is started again in a row
    first_wait_s: float = 0.5  # seconds before the first restart; twice as long each time
    longest_wait_s: float = 30.0  # longest wait before a restart, in seconds
