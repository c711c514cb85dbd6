"""All settings in one frozen record, with the rule for each value.

A rule also says whether a project's file may set a value. That file comes with a checkout, so a
stranger may have written it: it may tune memory, but not say where data is stored, where text is
sent, or with which key. Reading files is in `sources`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from wellkept.core.errors import UsageError
from wellkept.core.records import field, fields, record
from wellkept.core.settings import paths
from wellkept.core.settings.toml_file import Scalar

VARIABLE_PREFIX: Final = "WELLKEPT_"
SWITCHES: Final = MappingProxyType(
    {
        paths.HOME_VARIABLE: "one folder for settings and data, in place of the system's own",
        "WELLKEPT_DEBUG": "1 shows the traceback of an error",
        "WELLKEPT_SELF": "set in a client that Wellkept asks as a model: its hooks do nothing",
        "WELLKEPT_HOOK_TIMEOUT_MS": "how long a hook may take to answer a client, usually 2000",
        "WELLKEPT_FORBID_REAL_REQUESTS": "1 forbids requests to models on other machines",
    }
)
"""Variables that are not settings: they name folders or apply to one run."""


_Kind: TypeAlias = type[str] | type[int] | type[float] | type[Path]


@record
class SettingRule:
    """The allowed values of one setting, and who may set it."""

    key: str
    doc: str
    kind: _Kind
    by_project: bool = False
    secret: bool = False
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    @property
    def variable(self) -> str:
        """The environment variable of this setting."""
        return VARIABLE_PREFIX + self.key.upper().replace(".", "_")


def _rule(
    key: str,
    kind: _Kind,
    doc: str,
    *,
    by_project: bool = False,
    secret: bool = False,
    choices: tuple[str, ...] = (),
    low: float | None = None,
    high: float | None = None,
) -> Mapping[str, SettingRule]:
    return {"rule": SettingRule(key, doc, kind, by_project, secret, choices, low, high)}


# Without a repr: some values are keys, and a traceback may end up anywhere.
@record(kw_only=True, repr=False)
class Settings:
    """Every setting with a valid value."""

    project: str | None = field(
        default=None,
        metadata=_rule("project", str, "Name of the project, in place of what git says"),
    )
    methodology: str = field(
        default="native",
        metadata=_rule(
            "methodology",
            str,
            "Way of working: native, bmad, tdd, agile, or one that a plugin brings",
            by_project=True,
        ),
    )
    store_path: Path | None = field(
        default=None,
        metadata=_rule(
            "store.path", Path, "Database file; unset means memory.db in the data folder"
        ),
    )
    store_url: str | None = field(
        default=None,
        metadata=_rule(
            "store.url",
            str,
            "Address of a PostgreSQL database (postgresql://…) in place of the file; hooks without"
            " a running server then have nothing to say",
            secret=True,
        ),
    )
    store_durability: str = field(
        default="normal",
        metadata=_rule(
            "store.durability",
            str,
            "normal survives the death of any process; full also survives a power cut, slower",
            choices=("normal", "full"),
        ),
    )
    store_busy_timeout_ms: int = field(
        default=5000,
        metadata=_rule(
            "store.busy_timeout_ms",
            int,
            "How long a write waits for another process, in milliseconds",
            low=0,
            high=600000,
        ),
    )
    team_database: str | None = field(
        default=None,
        metadata=_rule(
            "team.database",
            str,
            "Address of a team's PostgreSQL database (postgresql://…), for `wellkept team` and"
            " `wellkept serve --team`",
            secret=True,
        ),
    )
    team_max_connections: int = field(
        default=8,
        metadata=_rule(
            "team.max_connections",
            int,
            "How many connections to the database one process of a team's server keeps at most",
            low=1,
            high=200,
        ),
    )
    team_upkeep_minutes: int = field(
        default=60,
        metadata=_rule(
            "team.upkeep_minutes",
            int,
            "How often a team's server deletes what policies keep no longer; 0 never",
            low=0,
            high=10_080,
        ),
    )
    embedding_provider: str = field(
        default="auto",
        metadata=_rule(
            "embedding.provider",
            str,
            "Who makes the vectors; auto keeps the store's model, none searches by words only",
            choices=("auto", "ollama", "openai", "fastembed", "minilm", "static", "none"),
        ),
    )
    embedding_model: str | None = field(
        default=None,
        metadata=_rule(
            "embedding.model",
            str,
            "Model name for ollama, openai or fastembed; unset means its usual",
        ),
    )
    embedding_dimension: int = field(
        default=1024,
        metadata=_rule(
            "embedding.dimension", int, "Vector length asked of ollama or openai", low=1, high=8192
        ),
    )
    embedding_base_url: str | None = field(
        default=None, metadata=_rule("embedding.base_url", str, "Address of the embedding server")
    )
    embedding_api_key: str | None = field(
        default=None,
        metadata=_rule("embedding.api_key", str, "Key for the embedding server", secret=True),
    )
    embedding_timeout_s: float = field(
        default=60.0,
        metadata=_rule(
            "embedding.timeout_s",
            float,
            "Longest wait for one answer, in seconds; 10 at most for a question",
            low=0.1,
            high=3600,
        ),
    )
    text_model_provider: str | None = field(
        default=None,
        metadata=_rule(
            "text_model.provider",
            str,
            "Who extracts memories from sessions: an endpoint, or one of your coding clients with"
            " its own login; unset means none, or openai if an address and a name are set",
            choices=(
                "none",
                "ollama",
                "openai",
                "anthropic",
                "claude",
                "codex",
                "gemini",
                "opencode",
            ),
        ),
    )
    text_model_base_url: str | None = field(
        default=None,
        metadata=_rule(
            "text_model.base_url",
            str,
            "Address of the text model's server; unset means the provider's own",
        ),
    )
    text_model_name: str | None = field(
        default=None,
        metadata=_rule(
            "text_model.name", str, "Model to ask; unset means a cheap one of the provider"
        ),
    )
    text_model_command: str | None = field(
        default=None,
        metadata=_rule(
            "text_model.command",
            str,
            "Program of the coding client that is asked; unset means the one on the PATH",
        ),
    )
    text_model_timeout_s: float = field(
        default=60.0,
        metadata=_rule(
            "text_model.timeout_s",
            float,
            "Longest time for one call of the text model, all in all, in seconds",
            low=1,
            high=600,
        ),
    )
    text_model_daily_calls: int = field(
        default=50,
        metadata=_rule(
            "text_model.daily_calls",
            int,
            "How often a day the text model may be asked; 0 means never",
            low=0,
            high=1_000_000,
        ),
    )
    text_model_api_key: str | None = field(
        default=None,
        metadata=_rule("text_model.api_key", str, "Key for the text model's server", secret=True),
    )
    reranker_base_url: str | None = field(
        default=None,
        metadata=_rule(
            "reranker.base_url",
            str,
            "Address of a /rerank server; unset means a model on this machine",
        ),
    )
    reranker_name: str | None = field(
        default=None,
        metadata=_rule(
            "reranker.name",
            str,
            "Model that reorders the 30 best: minilm, or one of `wellkept models`; unset: none",
        ),
    )
    reranker_api_key: str | None = field(
        default=None,
        metadata=_rule("reranker.api_key", str, "Key for the reranker's server", secret=True),
    )
    reranker_timeout_s: float = field(
        default=10.0,
        metadata=_rule(
            "reranker.timeout_s",
            float,
            "Longest wait for a reranker, in seconds; recall then keeps its own order",
            low=0.1,
            high=3600,
        ),
    )
    recall_limit: int = field(
        default=10,
        metadata=_rule(
            "recall.limit",
            int,
            "How many memories recall returns",
            by_project=True,
            low=1,
            high=1000,
        ),
    )
    recall_min_score: float = field(
        default=0.05,
        metadata=_rule(
            "recall.min_score",
            float,
            "How likely a memory must answer to be returned; 0 returns all",
            by_project=True,
            low=0,
            high=1,
        ),
    )
    recall_mode: str = field(
        default="hybrid",
        metadata=_rule(
            "recall.mode",
            str,
            "Which indexes recall looks in",
            by_project=True,
            choices=("hybrid", "words", "vectors"),
        ),
    )
    recall_profile: str = field(
        default="default",
        metadata=_rule("recall.profile", str, "Ranking profile of recall", by_project=True),
    )
    recall_neighbours: int = field(
        default=0,
        metadata=_rule(
            "recall.neighbours",
            int,
            "How many memories before and after each hit in its session travel along",
            by_project=True,
            low=0,
            high=50,
        ),
    )
    context_budget_tokens: int = field(
        default=800,
        metadata=_rule(
            "context.budget_tokens",
            int,
            "Room for the context pack, in tokens",
            by_project=True,
            low=50,
            high=200000,
        ),
    )
    context_sessions: int = field(
        default=5,
        metadata=_rule(
            "context.sessions",
            int,
            "How many recent sessions a session start tells of; 0 leaves that part out",
            by_project=True,
            low=0,
            high=50,
        ),
    )
    context_observations: int = field(
        default=20,
        metadata=_rule(
            "context.observations",
            int,
            "How many records of decisions, fixes and features a session start may name",
            by_project=True,
            low=0,
            high=200,
        ),
    )
    context_days: int = field(
        default=30,
        metadata=_rule(
            "context.days",
            int,
            "How many days back a session start tells of work and decisions",
            by_project=True,
            low=1,
            high=3650,
        ),
    )
    context_skills: str = field(
        default="names",
        metadata=_rule(
            "context.skills",
            str,
            "Whether the context pack names skills that fit; off leaves the room to memories",
            by_project=True,
            choices=("names", "off"),
        ),
    )
    mcp_toolsets: str = field(
        default="default",
        metadata=_rule(
            "mcp.toolsets",
            str,
            "Tools that the MCP server lists besides the default ones: graph, skills, recipes, "
            "records, or all; separated by commas",
        ),
    )
    mcp_structured: str = field(
        default="off",
        metadata=_rule(
            "mcp.structured",
            str,
            "Whether MCP results also come as data, for programs; some clients then show their "
            "model that longer form",
            choices=("off", "on"),
        ),
    )
    capture_summary_turns: int = field(
        default=3,
        metadata=_rule(
            "capture.summary_turns",
            int,
            "After how many turns a session is summed up afresh",
            low=1,
            high=1000,
        ),
    )
    capture_idle_minutes: float = field(
        default=10.0,
        metadata=_rule(
            "capture.idle_minutes",
            float,
            "After how many quiet minutes a session is summed up",
            low=0.1,
            high=10080,
        ),
    )
    capture_daily_model_tokens: int = field(
        default=100_000,
        metadata=_rule(
            "capture.daily_model_tokens",
            int,
            "How many tokens a day the text model may take for telling sessions; 0 means none",
            low=0,
            high=1_000_000_000,
        ),
    )
    capture_redact: str = field(
        default="drain",
        metadata=_rule(
            "capture.redact",
            str,
            "When secrets are taken out of what hooks catch: drain does it within a second of the"
            " event when a server runs, else at the end of the turn; hook before anything is"
            " written, and every hook takes about 60 ms of processor time more",
            choices=("drain", "hook"),
        ),
    )
    capture_before_tools: str = field(
        default="off",
        metadata=_rule(
            "capture.before_tools",
            str,
            "Whether `wellkept install` also hooks the moment before a tool runs; it makes it wait",
            choices=("on", "off"),
        ),
    )
    injections_keep_days: int = field(
        default=180,
        metadata=_rule(
            "injections.keep_days",
            int,
            "How many days the log says what was injected; 0 keeps no log",
            low=0,
            high=36_500,
        ),
    )
    injections_keep_lines: int = field(
        default=50_000,
        metadata=_rule(
            "injections.keep_lines",
            int,
            "How many lines the log of injections keeps at most",
            low=0,
            high=10_000_000,
        ),
    )
    injections_silent_after: int = field(
        default=5,
        metadata=_rule(
            "injections.silent_after",
            int,
            "After how many sessions that ignored a line it is no longer injected; 0 means never",
            low=0,
            high=1000,
        ),
    )
    secrets_known_values: str = field(
        default="on",
        metadata=_rule(
            "secrets.known_values",
            str,
            "Whether .env files of projects and credential stores of the home folder are read, so"
            " that their values are recognised anywhere; only salted hashes are kept",
            choices=("on", "off"),
        ),
    )
    skills_suggest: str = field(
        default="on",
        metadata=_rule(
            "skills.suggest",
            str,
            "Whether a session that went well is looked at for a skill when it ends, by rule",
            choices=("on", "off"),
        ),
    )
    skills_managed: Path | None = field(
        default=None,
        metadata=_rule(
            "skills.managed",
            Path,
            "Folder of skills that the organisation gives, besides the one of this machine"
            " (/etc/wellkept/skills); they win over all others and cannot be switched off",
        ),
    )
    skills_force: str = field(
        default="",
        metadata=_rule(
            "skills.force",
            str,
            "Skills that are always given to agents, by name, with commas between; usually set for"
            " one session, as a variable",
        ),
    )
    skills_generated: str = field(
        default="review",
        metadata=_rule(
            "skills.generated",
            str,
            "Whether skills made from sessions wait for a review or are on at once",
            choices=("review", "on"),
        ),
    )
    output_colour: str = field(
        default="auto",
        metadata=_rule(
            "output.colour",
            str,
            "Colour in the terminal; auto looks at the terminal and at NO_COLOR",
            choices=("auto", "always", "never"),
        ),
    )
    agent: Mapping[str, object] = field(default_factory=dict[str, object])
    """The table `[agent]` by dotted key, as written; `wellkept_agent.wiring.settings` reads and checks it."""
    origins: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)
    """Where each value that is not a default came from, by key."""
    warnings: tuple[str, ...] = field(default=(), compare=False)
    """What was ignored in the project's file."""

    def origin(self, key: str) -> str:
        """Where the value of a key came from."""
        return self.origins.get(key, "default")

    def value(self, key: str) -> Scalar | Path | None:
        """The value of a key such as `recall.limit`."""
        return getattr(self, attribute_of(key))


def _rules() -> dict[str, tuple[str, SettingRule]]:
    pairs = ((f.name, f.metadata["rule"]) for f in fields(Settings) if "rule" in f.metadata)
    return {rule.key: (name, rule) for name, rule in pairs}


_RULES: Final = MappingProxyType(_rules())


def rules() -> list[SettingRule]:
    """Every setting there is, in order."""
    return [rule for _, rule in _RULES.values()]


def find_rule(key: str) -> SettingRule | None:
    """The rule of a key, or None."""
    return _RULES[key][1] if key in _RULES else None


def rule_of(key: str) -> SettingRule:
    """The rule of a key; for an unknown key the error names the closest one."""
    found = find_rule(key)
    if found is None:
        raise UsageError(f"There is no setting {key!r}.", hint=nearest(key))
    return found


def nearest(key: str) -> str:
    """A hint for an unknown key."""
    from difflib import get_close_matches

    close = get_close_matches(key, list(_RULES), n=1, cutoff=0.6)
    return f"Did you mean {' or '.join(close)}?" if close else "`wellkept config show` lists them."


def attribute_of(key: str) -> str:
    """The field of `Settings` that holds a key."""
    rule_of(key)
    return _RULES[key][0]
