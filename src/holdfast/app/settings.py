"""What a person can set, in one frozen record, and where each value came from.

Later sources win: defaults, the user's file, the project's file, the environment, explicit
arguments. A project's file comes with a checkout, so a stranger may have written it: it can tune
how memory is used there, but never say where data lies, where text is sent, or with which key.
Read only in `app`; other packages get plain values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from holdfast.app import places
from holdfast.app.toml_file import Entry, Scalar, read_entries
from holdfast.core.errors import UsageError
from holdfast.core.records import field, fields, record

VARIABLE_PREFIX: Final = "HOLDFAST_"
SWITCHES: Final = MappingProxyType(
    {
        places.HOME_VARIABLE: "one folder for settings and data, in place of the system's own",
        "HOLDFAST_DEBUG": "1 shows the traceback of an error",
        "HOLDFAST_HOOK_TIMEOUT_MS": "how long a hook may take to answer a client, usually 2000",
    }
)
"""Variables that are no settings: they say where to look, or are for one run only."""


_Kind: TypeAlias = type[str] | type[int] | type[float] | type[Path]


@record
class Rule:
    """What may stand in one setting, and who may say so."""

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


def _says(
    key: str,
    kind: _Kind,
    doc: str,
    *,
    by_project: bool = False,
    secret: bool = False,
    choices: tuple[str, ...] = (),
    low: float | None = None,
    high: float | None = None,
) -> Mapping[str, Rule]:
    return {"rule": Rule(key, doc, kind, by_project, secret, choices, low, high)}


# Without a repr: some values are keys, and a traceback may end up anywhere.
@record(kw_only=True, repr=False)
class Settings:
    """Every setting with a usable value."""

    project: str | None = field(
        default=None,
        metadata=_says("project", str, "Name of the project, in place of what git says"),
    )
    methodology: str = field(
        default="native",
        metadata=_says(
            "methodology",
            str,
            "Way of working: native, bmad, tdd, agile, or one that a plugin brings",
            by_project=True,
        ),
    )
    store_path: Path | None = field(
        default=None,
        metadata=_says(
            "store.path", Path, "Database file; unset means memory.db in the data folder"
        ),
    )
    store_durability: str = field(
        default="normal",
        metadata=_says(
            "store.durability",
            str,
            "normal survives the death of any process; full also survives a power cut, slower",
            choices=("normal", "full"),
        ),
    )
    store_busy_timeout_ms: int = field(
        default=5000,
        metadata=_says(
            "store.busy_timeout_ms",
            int,
            "How long a write waits for another process, in milliseconds",
            low=0,
            high=600000,
        ),
    )
    embedding_provider: str = field(
        default="auto",
        metadata=_says(
            "embedding.provider",
            str,
            "Who makes the vectors; auto keeps the store's model, none searches by words only",
            choices=("auto", "ollama", "openai", "minilm", "static", "none"),
        ),
    )
    embedding_model: str | None = field(
        default=None,
        metadata=_says(
            "embedding.model", str, "Model name for ollama or openai; unset means its usual"
        ),
    )
    embedding_dimension: int = field(
        default=1024,
        metadata=_says(
            "embedding.dimension", int, "Vector length asked of ollama or openai", low=1, high=8192
        ),
    )
    embedding_base_url: str | None = field(
        default=None, metadata=_says("embedding.base_url", str, "Address of the embedding server")
    )
    embedding_api_key: str | None = field(
        default=None,
        metadata=_says("embedding.api_key", str, "Key for the embedding server", secret=True),
    )
    embedding_timeout_s: float = field(
        default=60.0,
        metadata=_says(
            "embedding.timeout_s",
            float,
            "Longest wait for one answer, in seconds",
            low=0.1,
            high=3600,
        ),
    )
    text_model_base_url: str | None = field(
        default=None,
        metadata=_says(
            "text_model.base_url",
            str,
            "Address of an OpenAI-compatible server for hypothetical answers; unset means none",
        ),
    )
    text_model_name: str | None = field(
        default=None,
        metadata=_says(
            "text_model.name", str, "Model to ask for hypothetical answers; unset means none"
        ),
    )
    text_model_api_key: str | None = field(
        default=None,
        metadata=_says("text_model.api_key", str, "Key for the text model's server", secret=True),
    )
    reranker_base_url: str | None = field(
        default=None,
        metadata=_says("reranker.base_url", str, "Address of a /rerank server; unset means none"),
    )
    reranker_name: str | None = field(
        default=None, metadata=_says("reranker.name", str, "Model to rerank with; unset means none")
    )
    reranker_api_key: str | None = field(
        default=None,
        metadata=_says("reranker.api_key", str, "Key for the reranker's server", secret=True),
    )
    recall_limit: int = field(
        default=10,
        metadata=_says(
            "recall.limit",
            int,
            "How many memories recall returns",
            by_project=True,
            low=1,
            high=1000,
        ),
    )
    recall_mode: str = field(
        default="hybrid",
        metadata=_says(
            "recall.mode",
            str,
            "Which indexes recall looks in",
            by_project=True,
            choices=("hybrid", "words", "vectors"),
        ),
    )
    recall_profile: str = field(
        default="default",
        metadata=_says("recall.profile", str, "Ranking profile of recall", by_project=True),
    )
    recall_neighbours: int = field(
        default=0,
        metadata=_says(
            "recall.neighbours",
            int,
            "How many memories before and after each hit in its session travel along",
            by_project=True,
            low=0,
            high=50,
        ),
    )
    context_budget_tokens: int = field(
        default=500,
        metadata=_says(
            "context.budget_tokens",
            int,
            "Room for the context pack, in tokens",
            by_project=True,
            low=50,
            high=200000,
        ),
    )
    context_skills: str = field(
        default="names",
        metadata=_says(
            "context.skills",
            str,
            "Whether the context pack names skills that fit; off leaves the room to memories",
            by_project=True,
            choices=("names", "off"),
        ),
    )
    capture_summary_turns: int = field(
        default=3,
        metadata=_says(
            "capture.summary_turns",
            int,
            "After how many turns a session is summed up afresh",
            low=1,
            high=1000,
        ),
    )
    capture_idle_minutes: float = field(
        default=10.0,
        metadata=_says(
            "capture.idle_minutes",
            float,
            "After how many quiet minutes a session is summed up",
            low=0.1,
            high=10080,
        ),
    )
    capture_daily_model_tokens: int = field(
        default=100_000,
        metadata=_says(
            "capture.daily_model_tokens",
            int,
            "How many tokens a day the text model may take for telling sessions; 0 means none",
            low=0,
            high=1_000_000_000,
        ),
    )
    capture_before_tools: str = field(
        default="off",
        metadata=_says(
            "capture.before_tools",
            str,
            "Whether `holdfast install` also hooks the moment before a tool runs; it makes it wait",
            choices=("on", "off"),
        ),
    )
    skills_suggest: str = field(
        default="on",
        metadata=_says(
            "skills.suggest",
            str,
            "Whether a session that went well is looked at for a skill when it ends, by rule",
            choices=("on", "off"),
        ),
    )
    skills_generated: str = field(
        default="review",
        metadata=_says(
            "skills.generated",
            str,
            "Whether skills made from sessions wait for a review or are on at once",
            choices=("review", "on"),
        ),
    )
    output_colour: str = field(
        default="auto",
        metadata=_says(
            "output.colour",
            str,
            "Colour in the terminal; auto looks at the terminal and at NO_COLOR",
            choices=("auto", "always", "never"),
        ),
    )
    origins: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)
    """Where each value that is not a default came from, by key."""

    def origin(self, key: str) -> str:
        """Where the value of a key came from, in words."""
        return self.origins.get(key, "default")

    def value(self, key: str) -> Scalar | Path | None:
        """The value of a key such as `recall.limit`."""
        return getattr(self, _attribute(key))


@record
class Sources:
    """Where settings are read from."""

    environment: Mapping[str, str]
    user_file: Path
    project_file: Path | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str], *, cwd: Path) -> Sources:
        """The places that count for a process with that environment in that folder."""
        return cls(environment, places.config_file(environment), places.project_file(cwd))


def _rules() -> dict[str, tuple[str, Rule]]:
    pairs = ((f.name, f.metadata["rule"]) for f in fields(Settings) if "rule" in f.metadata)
    return {rule.key: (name, rule) for name, rule in pairs}


_RULES: Final = MappingProxyType(_rules())


def rules() -> list[Rule]:
    """Every setting there is, in order."""
    return [rule for _, rule in _RULES.values()]


def rule_of(key: str) -> Rule:
    """The rule of a key; an unknown key is answered with the nearest known ones."""
    found = _RULES.get(key)
    if found is None:
        raise UsageError(f"There is no setting {key!r}.", hint=_nearest(key))
    return found[1]


def load_settings(sources: Sources, *, explicit: Mapping[str, Scalar] | None = None) -> Settings:
    """The settings in force; the first value that cannot be used raises UsageError."""
    settings, problems = inspect_settings(sources, explicit=explicit)
    if problems:
        raise problems[0]
    return settings


def inspect_settings(
    sources: Sources, *, explicit: Mapping[str, Scalar] | None = None
) -> tuple[Settings, list[UsageError]]:
    """The settings in force without the values that cannot be used, and why those cannot."""
    values: dict[str, Scalar | Path] = {}
    origins: dict[str, str] = {}
    problems: list[UsageError] = []
    for key, raw, origin, by_project in _offers(sources, explicit or {}, problems):
        value = _accepted(key, raw, where=origin, by_project=by_project)
        if isinstance(value, UsageError):
            problems.append(value)
        else:
            values[_attribute(key)] = value
            origins[key] = origin
    return Settings(**cast("dict[str, Any]", values), origins=MappingProxyType(origins)), problems


def parse_value(rule: Rule, text: str) -> Scalar | Path:
    """The value that a typed text stands for; UsageError says what would fit."""
    value = _checked(rule, _from_text(rule, text), where=rule.key)
    if isinstance(value, UsageError):
        raise value
    return value


# -- From the sources to offers -------------------------------------------------------------------


def _offers(
    sources: Sources, explicit: Mapping[str, Scalar], problems: list[UsageError]
) -> Iterator[tuple[str, object, str, bool]]:
    """Every value that some source offers, weakest source first: key, value, origin, by project."""
    yield from ((e.key, e.value, w, False) for e, w in _entries(sources.user_file, problems))
    if sources.project_file is not None:
        yield from ((e.key, e.value, w, True) for e, w in _entries(sources.project_file, problems))
    for key, (_, rule) in _RULES.items():
        text = sources.environment.get(rule.variable, "")
        if text:
            yield key, _from_text(rule, text), rule.variable, False
    yield from ((key, value, "argument", False) for key, value in explicit.items())


def _entries(path: Path, problems: list[UsageError]) -> Iterable[tuple[Entry, str]]:
    try:
        entries = read_entries(path)
    except UsageError as error:
        problems.append(error)
        return []
    return [(e, f"{path}, line {e.line}" if e.line else str(path)) for e in entries]


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Variables that look like settings of Holdfast but are none."""
    known = {rule.variable for rule in rules()} | set(SWITCHES)
    return sorted(v for v in environment if v.startswith(VARIABLE_PREFIX) and v not in known)


# -- Checking a value -----------------------------------------------------------------------------


def _accepted(key: str, raw: object, *, where: str, by_project: bool) -> Scalar | Path | UsageError:
    if key not in _RULES:
        return UsageError(f"{where}: there is no setting {key!r}.", hint=_nearest(key))
    rule = _RULES[key][1]
    if by_project and not rule.by_project:
        allowed = ", ".join(r.key for r in rules() if r.by_project)
        return UsageError(
            f"{where}: a project's file may not set {key!r}, since it comes with the checkout.",
            hint=f"Set it in your own file or environment. A project may set: {allowed}.",
        )
    return _checked(rule, raw, where=where)


def _checked(rule: Rule, raw: object, *, where: str) -> Scalar | Path | UsageError:
    """The value as its rule has it, or the error that says what would fit (not raised)."""
    value = float(raw) if rule.kind is float and type(raw) is int else raw
    if rule.kind is Path and isinstance(value, str) and value:
        return _expanded(value, where=where)
    if not _fits(rule, value):
        return UsageError(f"{where}: {rule.key} must be {_wanted(rule)}, not {raw!r}.")
    return cast("Scalar | Path", value)


def _expanded(value: str, *, where: str) -> Path | UsageError:
    try:
        return places.expanded(value)
    except UsageError as error:
        return UsageError(f"{where}: {error.message}", hint=error.hint)


def _fits(rule: Rule, value: object) -> bool:
    if type(value) is not rule.kind or value == "" or (rule.choices and value not in rule.choices):
        return False
    return not isinstance(value, (int, float)) or (math.isfinite(value) and _in_range(rule, value))


def _in_range(rule: Rule, value: float) -> bool:
    return (rule.low is None or value >= rule.low) and (rule.high is None or value <= rule.high)


def _from_text(rule: Rule, text: str) -> object:
    """Numbers as numbers; what is none stays text and fails the check with a clear message."""
    try:
        return rule.kind(text.strip()) if rule.kind in (int, float) else text.strip()
    except ValueError:
        return text


def _wanted(rule: Rule) -> str:
    if rule.choices:
        return f"one of {', '.join(rule.choices)}"
    noun = {int: "a whole number", float: "a number", Path: "a path", str: "a text"}[rule.kind]
    if rule.low is None:
        return noun
    return f"{noun} from {rule.low:g} to {rule.high:g}" if rule.high is not None else noun


def _nearest(key: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(key, list(_RULES), n=1, cutoff=0.6)
    return f"Did you mean {' or '.join(close)}?" if close else "`holdfast config show` lists them."


def _attribute(key: str) -> str:
    rule_of(key)
    return _RULES[key][0]
