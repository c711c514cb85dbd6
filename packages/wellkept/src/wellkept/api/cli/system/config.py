"""`wellkept config`: show, get, set, unset, path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.groups import Group
from wellkept.api.wiring.settings_file import write_entry
from wellkept.core.doors import find_plugin, require_plugin
from wellkept.core.errors import UsageError
from wellkept.core.settings import paths
from wellkept.core.settings.model import SettingRule, rule_of, rules
from wellkept.core.settings.sources import (
    AGENT_PREFIX,
    SettingSources,
    inspect_settings,
    load_settings,
)

if TYPE_CHECKING:
    from wellkept.core.ports.plugins import AgentSettingDoors, SettingKey
    from wellkept.core.settings.model import Settings
    from wellkept.core.settings.toml_file import Scalar

project_file_option = click.option(
    "--project-file",
    is_flag=True,
    help=f"Use the project's {paths.PROJECT_FILE} instead of the user file.",
)


@click.group(cls=Group, invoke_without_command=True)
@options.json_option
@click.pass_context
def config(ctx: click.Context, *, as_json: bool) -> None:
    """Show and change settings."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(show, as_json=as_json)


def _sources() -> SettingSources:
    return SettingSources.of(os.environ, cwd=paths.current_folder())


def _shown(rule: SettingRule | SettingKey, value: object) -> object:
    """Hide the value of a secret."""
    return "(set)" if rule.secret and value not in (None, "") else value


def _rule(key: str) -> SettingRule | SettingKey:
    """The rule of a key; the agent's are loaded only when one is named."""
    if not key.startswith(AGENT_PREFIX):
        return rule_of(key)
    agent: AgentSettingDoors = require_plugin("agent")
    return agent.setting_key(key)


def _current(rule: SettingRule | SettingKey, known: Settings) -> tuple[object, str]:
    """The value in force, as it may be shown, and its origin."""
    if isinstance(rule, SettingRule):
        return _shown(rule, known.value(rule.key)), known.origin(rule.key)
    value, origin = rule.current(known, os.environ)
    return _shown(rule, value), origin


def _agent_rows(
    known: Settings, *, only_set: bool
) -> tuple[list[tuple[str, object, str]], list[UsageError]]:
    """The agent's settings; a value that does not fit is a problem, not a row."""
    rows: list[tuple[str, object, str]] = []
    problems: list[UsageError] = []
    agent: AgentSettingDoors | None = find_plugin("agent")
    if agent is None:
        return rows, problems
    try:
        agent.check_settings(known, os.environ)
    except UsageError as error:
        problems.append(error)
    for one in agent.setting_keys():
        try:
            value, origin = _current(one, known)
        except UsageError as error:
            problems.append(error)
            continue
        if not only_set or origin != "default":
            rows.append((one.key, value, origin))
    return rows, problems


@config.command()
@click.option("--agent", is_flag=True, help="Show the agent's settings, all of them.")
@options.json_option
def show(*, agent: bool = False, as_json: bool = False) -> None:
    """Show all settings and where their values come from. Of the agent's, those that are set."""
    known, problems = inspect_settings(_sources())
    rows = [] if agent else [(rule.key, *_current(rule, known)) for rule in rules()]
    agent_rows, agent_problems = _agent_rows(known, only_set=not agent)
    rows += agent_rows
    problems = [*problems, *agent_problems]
    if as_json:
        items = [{"key": k, "value": v, "origin": o} for k, v, o in rows]
        output.print_json({"items": items, "problems": [str(problem) for problem in problems]})
        return
    cells = [(key, "" if value is None else str(value), origin) for key, value, origin in rows]
    output.print_table(("setting", "value", "from"), cells)
    for problem in problems:
        output.note(f"ignored: {problem}")


@config.command()
@click.argument("key")
@options.json_option
def get(*, key: str, as_json: bool) -> None:
    """Print the value of one setting."""
    rule = _rule(key)
    known = load_settings(_sources())
    value, origin = _current(rule, known)
    if as_json:
        output.print_json({"key": key, "value": value, "origin": origin})
    else:
        click.echo("" if value is None else output.one_line(str(value)))


@config.command("set")
@click.argument("key")
@click.argument("value")
@project_file_option
def set_(*, key: str, value: str, project_file: bool) -> None:
    """Write a setting to the user file; comments and other lines stay unchanged."""
    rule = _rule(key)
    parsed = _parsed(rule, value)
    path = _target(rule, project_file=project_file)
    write_entry(path, key, parsed)
    output.note(f"{key} is set in {path}")
    _warn_if_overridden(rule, path)
    _tell_hooks(key)


@config.command()
@click.argument("key")
@project_file_option
def unset(*, key: str, project_file: bool) -> None:
    """Remove a setting from the user file."""
    path = _target(_rule(key), project_file=project_file)
    write_entry(path, key, None)
    output.note(f"{key} is no longer set in {path}")
    _tell_hooks(key)


@config.command()
@options.json_option
def path(*, as_json: bool) -> None:
    """Show the paths of settings files and the data folder."""
    sources = _sources()
    files = {
        "user": sources.user_file,
        "project": sources.project_file,
        "data": paths.data_folder(os.environ),
    }
    if as_json:
        output.print_json(files)
    else:
        for name, file in files.items():
            click.echo(f"{name}\t{file or ''}")


def _parsed(rule: SettingRule | SettingKey, text: str) -> Scalar:
    if not isinstance(rule, SettingRule):
        return rule.parse(text)
    from wellkept.observe.observer.methodology import parse_setting

    parsed = parse_setting(rule, text)
    return str(parsed) if isinstance(parsed, Path) else parsed


def _target(rule: SettingRule | SettingKey, *, project_file: bool) -> Path:
    sources = _sources()
    if not project_file:
        return sources.user_file
    if not isinstance(rule, SettingRule) or not rule.by_project:
        allowed = ", ".join(r.key for r in rules() if r.by_project)
        raise UsageError(
            f"{rule.key} cannot be set in a project file: that file comes with the checkout.",
            hint=f"Project settings: {allowed}.",
        )
    from wellkept.project.resolver import resolve_project

    return sources.project_file or resolve_project(paths.current_folder()).root / paths.PROJECT_FILE


def _tell_hooks(key: str) -> None:
    """The hook process reads no settings: what it needs to know is a file."""
    if key != "capture.redact":
        return
    from wellkept.api.wiring.services import store_path
    from wellkept.observe.observer.spool_folder import SpoolFolder
    from wellkept.project.known_secrets import FILE_SUFFIX

    known, _ = inspect_settings(_sources())
    database = store_path(known, os.environ)
    SpoolFolder.of(os.environ).redact_first(
        on=known.capture_redact == "hook", known_values=str(database.with_suffix(FILE_SUFFIX))
    )


def _warn_if_overridden(rule: SettingRule | SettingKey, path: Path) -> None:
    known, _ = inspect_settings(_sources())
    _, origin = _current(rule, known)
    if not origin.startswith(str(path)):
        output.note(f"Overridden by {origin}.")
