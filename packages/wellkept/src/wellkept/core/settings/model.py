"""All settings in one frozen record, with the rule for each value.

A rule also says whether a project's file may set a value. That file comes with a checkout, so a
stranger may have written it: it may tune memory, but not say where data is stored, where text is
sent, or with which key. Reading files is in `sources`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from wellkept.core.errors import UsageError
from wellkept.core.records import field, fields, record, replace
from wellkept.core.settings import paths

if TYPE_CHECKING:
    from wellkept.core.settings.toml_file import Scalar

_T = TypeVar("_T")
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

GROUPS: Final = MappingProxyType(
    {
        "project": "Project",
        "methodology": "Project",
        "store": "Storage",
        "team": "Team",
        "embedding": "Models",
        "text_model": "Models",
        "reranker": "Models",
        "recall": "Recall",
        "context": "What agents are told",
        "injections": "What agents are told",
        "mcp": "MCP",
        "capture": "Capture",
        "timeline": "Capture",
        "secrets": "Capture",
        "skills": "Skills",
    }
)
"""The heading of each section."""
RETIRED: Final = MappingProxyType(
    {
        "store.durability": "normal",
        "store.busy_timeout_ms": "5000",
        "team.upkeep_minutes": "60",
        "embedding.timeout_s": "60",
        "reranker.timeout_s": "10",
        "recall.mode": "hybrid; embedding.provider = none searches by words",
        "recall.neighbours": "0; `recall --neighbours` asks for more",
        "injections.keep_lines": "50000",
        "injections.silent_after": "5",
        "skills.suggest": "on; skills.generated = off makes none",
        "output.colour": "auto; NO_COLOR and FORCE_COLOR are obeyed",
    }
)
"""What were settings once, and what holds now. They are ignored, and that is said."""
_KINDS: Final = MappingProxyType({"str": str, "int": int, "float": float, "Path": Path})


@record(kw_only=True)
class SettingRule:
    """The allowed values of one setting, and who may set it."""

    key: str = ""
    doc: str
    why: str = ""
    kind: type[str] | type[int] | type[float] | type[Path] = str
    by_project: bool = False
    secret: bool = False
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    variables: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The environment variable of this setting."""
        return self.variables[0]

    @property
    def group(self) -> str:
        """The heading that this setting stands under."""
        return GROUPS[self.key.split(".")[0]]


def setting(
    default: _T,
    doc: str,
    allowed: str = "",
    *also: str,
    why: str = "",
    variable: str = "",
    by_project: bool = False,
    secret: bool = False,
) -> _T:
    """A row of a settings record. `allowed` is a range, `1..50` or `0..`, or choices, `on|off`;
    `why` is a reason to change it.

    Its environment variable has the field's name, unless `variable` says another; `also` are
    names that other programs use.
    """
    low, is_range, high = allowed.partition("..")
    rule = SettingRule(
        doc=doc,
        why=why,
        by_project=by_project,
        secret=secret,
        choices=() if is_range or not allowed else tuple(allowed.split("|")),
        low=float(low) if is_range else None,
        high=float(high) if high else None,
        variables=(variable, *also),
    )
    return field(default=default, metadata={"rule": rule})


# Without a repr: some values are keys, and a traceback may end up anywhere.
@record(kw_only=True, repr=False)
class Settings:
    """Every setting with a valid value."""

    project: str | None = setting(
        None, "Name of the project, in place of what git says", why="no git, or a name of your own"
    )
    methodology: str = setting(
        "native",
        "Way of working: native, bmad, tdd, agile, or one that a plugin brings",
        why="phases and work units as your team calls them",
        by_project=True,
    )
    store_path: Path | None = setting(
        None,
        "Database file; unset means memory.db in the data folder",
        why="another disk, or one store per purpose",
    )
    store_url: str | None = setting(
        None,
        "Address of a PostgreSQL database (postgresql://…) in place of the file; hooks without"
        " a running server then have nothing to say",
        why="one store for several machines",
        secret=True,
    )
    team_database: str | None = setting(
        None,
        "Address of a team's PostgreSQL database (postgresql://…), for `wellkept team` and"
        " `wellkept serve --team`",
        why="a team's server needs one",
        secret=True,
    )
    team_max_connections: int = setting(
        8,
        "How many connections to the database one process of a team's server keeps at most",
        "1..200",
        why="the database allows fewer, or the team is large",
    )
    embedding_provider: str = setting(
        "auto",
        "Who makes the vectors; auto keeps the store's model, none searches by words only",
        "auto|ollama|openai|fastembed|minilm|static|none",
        why="a better model, or no vectors",
    )
    embedding_model: str | None = setting(
        None,
        "Model name for ollama, openai or fastembed; unset means its usual",
        why="a model of your own choice",
    )
    embedding_dimension: int = setting(
        1024,
        "Vector length asked of ollama or openai",
        "1..8192",
        why="a model that has another length",
    )
    embedding_base_url: str | None = setting(
        None, "Address of the embedding server", why="a server of your own"
    )
    embedding_api_key: str | None = setting(
        None, "Key for the embedding server", why="the server asks for one", secret=True
    )
    text_model_provider: str | None = setting(
        None,
        "Who extracts memories from sessions: an endpoint, or one of your coding clients with"
        " its own login; unset means none, or openai if an address and a name are set",
        "none|ollama|openai|anthropic|claude|codex|gemini|opencode",
        why="sessions told by a model, not by rules alone",
    )
    text_model_base_url: str | None = setting(
        None,
        "Address of the text model's server; unset means the provider's own",
        why="a server of your own",
    )
    text_model_name: str | None = setting(
        None,
        "Model to ask; unset means a cheap one of the provider",
        why="a model of your own choice",
    )
    text_model_command: str | None = setting(
        None,
        "Program of the coding client that is asked; unset means the one on the PATH",
        why="hooks may run with another PATH",
    )
    text_model_timeout_s: float = setting(
        60.0,
        "Longest time for one call of the text model, all in all, in seconds",
        "1..600",
        why="a slow model on this machine",
    )
    text_model_batch_tokens: int = setting(
        8_000,
        "How many tokens of a session's events one call of the text model reads at most",
        "500..8000",
        why="a model with a small window, or a bill",
    )
    text_model_max_failures: int = setting(
        3,
        "After how many failed calls in a row a session's events are archived as they are",
        "1..100",
        why="a model that is often away",
    )
    text_model_daily_calls: int = setting(
        50,
        "How often a day the text model may be asked; 0 means never",
        "0..1000000",
        why="a bill, or a subscription that is counted by calls",
    )
    text_model_api_key: str | None = setting(
        None, "Key for the text model's server", why="the server asks for one", secret=True
    )
    reranker_base_url: str | None = setting(
        None,
        "Address of a /rerank server; unset means a model on this machine",
        why="a server of your own",
    )
    reranker_name: str | None = setting(
        None,
        "Model that reorders the 30 best: minilm, or one of `wellkept admin models`; unset: none",
        why="a better order, at the price of time",
    )
    reranker_api_key: str | None = setting(
        None, "Key for the reranker's server", why="the server asks for one", secret=True
    )
    recall_limit: int = setting(
        10,
        "How many memories recall returns",
        "1..1000",
        why="longer or shorter answers",
        by_project=True,
    )
    recall_min_score: float = setting(
        0.12,
        "How likely a memory must answer to be returned; 0 returns all",
        "0..1",
        why="fewer doubtful answers, or all of them",
        by_project=True,
    )
    recall_profile: str = setting(
        "default",
        "Ranking profile of recall",
        why="the ranking by phase, by age or of a plugin",
        by_project=True,
    )
    context_budget_tokens: int = setting(
        250,
        "Room for the context pack, in tokens",
        "50..200000",
        why="more told, or less of the window taken",
        by_project=True,
    )
    context_sessions: int = setting(
        1,
        "How many recent sessions a session start tells of; 0 leaves that part out",
        "0..50",
        why="many short sessions a day",
        by_project=True,
    )
    context_observations: int = setting(
        20,
        "How many records of decisions, fixes and features a session start may name",
        "0..200",
        why="a shorter list, or none",
        by_project=True,
    )
    context_observation_types: str = setting(
        "decision,bugfix,feature",
        "Which kinds of these records; also refactor, discovery, change",
        why="a project where other work matters",
        by_project=True,
    )
    context_days: int = setting(
        30,
        "How many days back a session start tells of work and decisions",
        "1..3650",
        why="a project that is seldom opened",
        by_project=True,
    )
    context_skills: str = setting(
        "names",
        "Whether the context pack names skills that fit; off leaves the room to memories",
        "names|off",
        why="skills that the client tells of by itself",
        by_project=True,
    )
    injections_keep_days: int = setting(
        180,
        "How many days the log says what was injected; 0 keeps no log",
        "0..36500",
        why="privacy, or a longer record",
    )
    mcp_toolsets: str = setting(
        "default",
        "Tools that the MCP server lists besides the default ones: graph, skills, recipes,"
        " records, or all; separated by commas",
        why="more tools, at the price of their tokens",
    )
    mcp_structured: str = setting(
        "off",
        "Whether MCP results also come as data, for programs; some clients then show their"
        " model that longer form",
        "off|on",
        why="a program that reads the results",
    )
    timeline_retention_days: float = setting(
        90.0,
        "How many days a timeline entry is kept before upkeep archives it",
        "1..36500",
        why="a longer or shorter memory of what was done when",
    )
    capture_summary_turns: int = setting(
        3,
        "After how many turns a session is summed up afresh",
        "1..1000",
        why="fewer calls of a text model",
    )
    capture_idle_minutes: float = setting(
        10.0,
        "After how many quiet minutes a session is summed up",
        "0.1..10080",
        why="sessions with long pauses",
    )
    capture_daily_model_tokens: int = setting(
        100_000,
        "How many tokens a day the text model may take for telling sessions; 0 means none",
        "0..1000000000",
        why="a bill that is counted by tokens",
    )
    capture_redact: str = setting(
        "drain",
        "When all secrets are taken out of what hooks catch. Those of certain form (tokens with a"
        " provider's prefix, private keys, passwords in addresses) never reach the disk. For the"
        " rest, drain does it within a second of the event when a server runs, else at the end of"
        " the turn; hook before anything is written, and every hook takes about 100 ms of"
        " processor time more",
        "drain|hook",
        why="a disk that others can read",
    )
    capture_ask: str = setting(
        "on",
        "Whether a line at the prompt may ask the agent to store what you lay down, where your"
        " words alone would not be understood later",
        "on|off",
        why="prompts without a line of ours",
    )
    capture_before_tools: str = setting(
        "off",
        "Whether `wellkept install` also hooks the moment before a tool runs; it makes it wait",
        "on|off",
        why="a warning before a command that failed here",
    )
    secrets_known_values: str = setting(
        "on",
        "Whether .env files of projects and credential stores of the home folder are read, so"
        " that their values are recognised anywhere; only salted hashes are kept",
        "on|off",
        why="credential files that no program may open",
    )
    skills_managed: Path | None = setting(
        None,
        "Folder of skills that the organisation gives, besides the one of this machine"
        " (/etc/wellkept/skills); they win over all others and cannot be switched off",
        why="skills of an organisation",
    )
    skills_force: str = setting(
        "",
        "Skills that are always given to agents, by name, with commas between; usually set for"
        " one session, as a variable",
        why="one session that needs a skill",
    )
    skills_generated: str = setting(
        "review",
        "What becomes of a session that went well: a skill that waits for a review, one that is"
        " on at once, or none",
        "review|on|off",
        why="more trust in made skills, or none",
    )
    agent: Mapping[str, object] = field(default_factory=dict[str, object])
    """The table `[agent]` by dotted key, as written; `wellkept_agent` reads and checks it."""
    origins: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)
    """Where each value that is not a default came from, by key."""
    warnings: tuple[str, ...] = field(default=(), compare=False)
    """What was ignored: strange values in the project's file, and what is no setting any more."""

    def origin(self, key: str) -> str:
        """Where the value of a key came from."""
        return self.origins.get(key, "default")

    def value(self, key: str) -> Scalar | Path | None:
        """The value of a key such as `recall.limit`."""
        return getattr(self, attribute_of(key))


def _rules() -> dict[str, tuple[str, SettingRule]]:
    """By key: the field's name, with a dot after the section."""
    found: dict[str, tuple[str, SettingRule]] = {}
    for one in fields(Settings):
        if "rule" in one.metadata:
            section = "text_model" if one.name.startswith("text_model") else one.name.split("_")[0]
            key = one.name.replace(f"{section}_", f"{section}.", 1)
            kind = _KINDS[one.type.split()[0]]
            names = (VARIABLE_PREFIX + one.name.upper(),)
            found[key] = (
                one.name,
                replace(one.metadata["rule"], key=key, kind=kind, variables=names),
            )
    return found


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
        if gone := retired_note(key):
            raise UsageError(gone)
        raise UsageError(f"There is no setting {key!r}.", hint=nearest(key))
    return found


def retired_note(key: str) -> str | None:
    """What is said of a key that was a setting once; None for any other."""
    return no_longer(key, RETIRED[key]) if key in RETIRED else None


def no_longer(key: str, held: str) -> str:
    """What is said of an old setting, and of what holds now."""
    return f"{key} is no longer a setting; fixed at {held}."


def nearest(key: str) -> str:
    """A hint for an unknown key."""
    from difflib import get_close_matches

    close = get_close_matches(key, list(_RULES), n=1, cutoff=0.6)
    return f"Did you mean {' or '.join(close)}?" if close else "`wellkept config list` lists them."


def attribute_of(key: str) -> str:
    """The field of `Settings` that holds a key."""
    rule_of(key)
    return _RULES[key][0]
