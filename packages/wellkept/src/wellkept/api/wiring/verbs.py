"""The verbs of settings. `core.verbs` says what a declaration is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from wellkept.core.doors import find_plugin, require_plugin
from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.settings import paths
from wellkept.core.settings.model import SettingRule, rule_of, rules
from wellkept.core.settings.sources import AGENT_PREFIX, SettingSources, inspect_settings
from wellkept.core.team.people import Role
from wellkept.core.verbs import Arg, Effect, Table, verb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellkept.api import Wellkept
    from wellkept.core.ports.plugins import AgentSettingDoors, SettingKey
    from wellkept.core.settings.model import Settings
    from wellkept.core.settings.toml_file import Scalar

_Rule: TypeAlias = "SettingRule | SettingKey"
PAGE_SETTINGS = frozenset(
    {
        *("methodology", "embedding.provider", "embedding.model", "recall.limit"),
        *("context.budget_tokens", "context.sessions", "context.observations", "context.days"),
        *("context.skills", "capture.daily_model_tokens"),
    }
)
"""What the page may change: nothing that runs a program, names a file or a server, or is secret."""


@record(kw_only=True)
class Setting:
    """A setting: its value, where it comes from, and what it may be; `editable` on the page.
    Secrets are not shown. `file` is where it was written."""

    key: str
    value: str | int | float | bool | None
    origin: str
    doc: str = ""
    secret: bool = False
    choices: tuple[str, ...] = ()
    by_project: bool = False
    editable: bool = False
    file: str = ""
    notes: tuple[str, ...] = ()

    def as_text(self) -> str:
        """The value; nothing when it was written."""
        return "" if self.file or self.value is None else str(self.value)


@record(kw_only=True)
class SettingFiles:
    """Where settings and data are."""

    user: str
    project: str
    data: str


@record(kw_only=True)
class KnownSettings:
    """Every setting; `problems` are values that are ignored."""

    items: tuple[Setting, ...]
    files: SettingFiles
    problems: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is ignored."""
        return tuple(f"ignored: {one}" for one in self.problems)

    def as_text(
        self, *, path: Annotated[bool, Arg("The files and the data folder instead.")] = False
    ) -> str:
        """One line each."""
        return "\n".join("\t".join(row) for row in self._rows(path=path))

    def as_table(self, *, path: bool = False) -> Table:
        """Rows for a terminal."""
        return Table(("", "") if path else ("setting", "value", "from"), self._rows(path=path))

    def _rows(self, *, path: bool) -> list[tuple[str, ...]]:
        if path:
            known = self.files
            return [("user", known.user), ("project", known.project), ("data", known.data)]
        return [(o.key, "" if o.value is None else str(o.value), o.origin) for o in self.items]


def _sources(wk: Wellkept) -> SettingSources:
    return SettingSources.of(wk.services.environment, cwd=wk.services.folder)


def _rule(key: str) -> _Rule:
    """The rule of a key; the agent's are loaded only when one is named."""
    if not key.startswith(AGENT_PREFIX):
        return rule_of(key)
    agent: AgentSettingDoors = require_plugin("agent")
    return agent.setting_key(key)


def _setting(wk: Wellkept, rule: _Rule, known: Settings, *, file: str = "") -> Setting:
    """A setting as it is in force, as it may be shown."""
    if not isinstance(rule, SettingRule):
        value, origin = rule.current(known, wk.services.environment)
        return Setting(key=rule.key, value=_shown(rule, value), origin=origin, file=file)
    is_methodology = rule.key == "methodology"
    return Setting(
        key=rule.key,
        value=_shown(rule, known.value(rule.key)),
        origin=known.origin(rule.key),
        doc=rule.doc,
        secret=rule.secret,
        choices=tuple(m.id for m in wk.methodology.all()) if is_methodology else rule.choices,
        by_project=rule.by_project,
        editable=rule.key in PAGE_SETTINGS,
        file=file,
    )


def _shown(rule: _Rule, value: object) -> str | int | float | bool | None:
    if rule.secret and value not in (None, ""):
        return "(set)"
    return value if isinstance(value, (int, float)) or value is None else str(value)


@verb(
    noun="config",
    toolset="page",
    aliases=("settings_list",),
    tell="Every setting with its value and origin.",
    role=Role.ADMIN,
    on_files=True,
    lenient=True,
    examples=({},),
)
def list_(
    wk: Wellkept,
    *,
    agent: Annotated[bool, Arg("The agent's settings, all of them.")] = False,
) -> KnownSettings:
    """Show all settings and where their values come from. Of the agent's, those that are set."""
    sources = _sources(wk)
    known, problems = inspect_settings(sources)
    own = [] if agent else [_setting(wk, rule, known) for rule in rules()]
    wrong: list[UsageError] = [*problems]
    others = [*_of_agent(wk, known, wrong)]
    return KnownSettings(
        items=(*own, *(one for one in others if agent or one.origin != "default")),
        files=SettingFiles(
            user=str(sources.user_file),
            project=str(sources.project_file or ""),
            data=str(paths.data_folder(wk.services.environment)),
        ),
        problems=tuple(map(str, wrong)),
    )


def _of_agent(wk: Wellkept, known: Settings, wrong: list[UsageError]) -> Iterator[Setting]:
    """The agent's settings; a value that does not fit is a problem, not a row."""
    agent: AgentSettingDoors | None = find_plugin("agent")
    if agent is None:
        return
    try:
        wrong += map(UsageError, agent.check_settings(known, wk.services.environment))
    except UsageError as error:
        wrong.append(error)
    for one in agent.setting_keys():
        try:
            yield _setting(wk, one, known)
        except UsageError as error:
            wrong.append(error)


@verb(
    noun="config",
    role=Role.ADMIN,
    on_files=True,
    lenient=True,
    examples=({"key": "recall.limit"},),
)
def get(wk: Wellkept, key: Annotated[str, Arg("The setting.", 1)]) -> Setting:
    """Print the value of one setting."""
    return _setting(wk, _rule(key), inspect_settings(_sources(wk))[0])


@verb(
    noun="config",
    effect=Effect.ADDS,
    aliases=("set_setting",),
    role=Role.ADMIN,
    on_files=True,
    lenient=True,
    examples=({"key": "recall.limit", "value": "12"},),
)
def set_(
    wk: Wellkept,
    key: Annotated[str, Arg("The setting.", 1)],
    value: Annotated[str, Arg("Its value.")],
    *,
    project_file: Annotated[
        bool, Arg(f"Into the project's {paths.PROJECT_FILE} instead of the user file.")
    ] = False,
    any_key: bool = False,
) -> Setting:
    """Write a setting to the user file; comments and other lines stay unchanged.

    In Python and over HTTP only settings that name no program, file, server or secret; any_key=True
    in Python sets the others.
    """
    from wellkept.api.wiring.settings_file import write_entry

    rule = _rule(key)
    _require_harmless(rule, any_key=any_key)
    parsed = _parsed(rule, value)
    file = _target(wk, rule, project_file=project_file)
    write_entry(file, key, parsed)
    return _written(wk, rule, file, f"{key} is set in {file}")


@verb(
    noun="config",
    effect=Effect.ADDS,
    role=Role.ADMIN,
    on_files=True,
    lenient=True,
    examples=({"key": "recall.limit"},),
)
def unset(
    wk: Wellkept,
    key: Annotated[str, Arg("The setting.", 1)],
    *,
    project_file: Annotated[
        bool, Arg(f"From the project's {paths.PROJECT_FILE} instead of the user file.")
    ] = False,
    any_key: bool = False,
) -> Setting:
    """Remove a setting from the user file."""
    from wellkept.api.wiring.settings_file import write_entry
    from wellkept.core.settings.toml_file import read_entries

    file = _file(wk, project_file=project_file)
    said = f"{key} is no longer set in {file}"
    if any_key and key in {entry.key for entry in read_entries(file)}:
        # One that is not known any more may go, too.
        write_entry(file, key, None)
        try:
            return _written(wk, _rule(key), file, said)
        except UsageError:
            return Setting(key=key, value=None, origin="", file=str(file), notes=(said,))
    rule = _rule(key)
    _require_harmless(rule, any_key=any_key)
    write_entry(file, key, None)
    return _written(wk, rule, file, said)


def _require_harmless(rule: _Rule, *, any_key: bool) -> None:
    if not any_key and rule.key not in PAGE_SETTINGS:
        raise UsageError(
            f"{rule.key} cannot be changed here.", hint=f"Run `wellkept config set {rule.key}`."
        )


def _written(wk: Wellkept, rule: _Rule, file: Path, said: str) -> Setting:
    from wellkept.core.records import replace

    known, _ = inspect_settings(_sources(wk))
    _tell_hooks(wk, rule.key, known)
    now = _setting(wk, rule, known, file=str(file))
    is_removed = " no longer " in said
    other = (
        () if is_removed or now.origin.startswith(str(file)) else (f"Overridden by {now.origin}.",)
    )
    return replace(now, notes=(said, *other))


def _parsed(rule: _Rule, text: str) -> Scalar:
    if not isinstance(rule, SettingRule):
        return rule.parse(text)
    from wellkept.observe.observer.methodology import parse_setting

    parsed = parse_setting(rule, text)
    return str(parsed) if isinstance(parsed, Path) else parsed


def _target(wk: Wellkept, rule: _Rule, *, project_file: bool) -> Path:
    if project_file and not (isinstance(rule, SettingRule) and rule.by_project):
        allowed = ", ".join(r.key for r in rules() if r.by_project)
        raise UsageError(
            f"{rule.key} cannot be set in a project file: that file comes with the checkout.",
            hint=f"Project settings: {allowed}.",
        )
    return _file(wk, project_file=project_file)


def _file(wk: Wellkept, *, project_file: bool) -> Path:
    sources = _sources(wk)
    if not project_file:
        return sources.user_file
    from wellkept.project.resolver import resolve_project

    return sources.project_file or resolve_project(wk.services.folder).root / paths.PROJECT_FILE


def _tell_hooks(wk: Wellkept, key: str, known: Settings) -> None:
    """The hook process reads no settings: what it needs to know is a file."""
    if key != "capture.redact":
        return
    from wellkept.api.wiring.services import store_path
    from wellkept.observe.observer.spool_folder import SpoolFolder
    from wellkept.project.known_secrets import FILE_SUFFIX

    environment = wk.services.environment
    database = store_path(known, environment)
    SpoolFolder.of(environment).redact_first(
        on=known.capture_redact == "hook", known_values=str(database.with_suffix(FILE_SUFFIX))
    )
