"""The commands as the table that `answer` reads. Run by `scripts/generate_docs.py`."""

from __future__ import annotations

import json
from typing import Any, cast

import click

from wellkept.api.cli.names import Name


def table_json(root: click.Group) -> str:
    """All commands, one a line, so that a change reads well in a diff."""
    context = click.Context(root, info_name="wellkept", **root.context_settings)
    whole = _node(root, context)
    commands: dict[str, Any] = whole.pop("commands")
    lines = [f"  {_dump(name)}: {_dump(one)}" for name, one in commands.items()]
    rest = _dump(whole)[1:-1]
    listed = ",\n".join(lines)
    return f'{{{rest},\n "commands": {{\n{listed}\n}}}}\n'


def _node(command: click.Command, context: click.Context) -> dict[str, Any]:
    params = command.get_params(context)
    arguments = [one for one in params if isinstance(one, click.Argument)]
    node: dict[str, Any] = {
        "help": command.get_short_help_str(limit=80),
        "options": {
            name: _option(one)
            for one in params
            if isinstance(one, click.Option) and not one.hidden
            for name in (*one.opts, *one.secondary_opts)
        },
        "arguments": [_kind(one.type) for one in arguments],
        "more": any(one.nargs == -1 for one in arguments),
    }
    if isinstance(command, click.Group):
        node["commands"] = {
            name: _node(inner, click.Context(inner, info_name=name, parent=context))
            for name in command.list_commands(context)
            if (inner := command.get_command(context, name)) is not None
        }
    return node


def _option(option: click.Option) -> dict[str, Any]:
    text = {"help": " ".join((option.help or "").split())}
    is_flag = option.is_flag or option.count
    return text if is_flag else {**text, "value": _kind(option.type)}


def _kind(kind: click.ParamType[Any, Any]) -> Any:
    """Choices, or the name of what is looked up; empty for free text."""
    if isinstance(kind, click.Choice):
        return [str(one) for one in cast("click.Choice[str]", kind).choices]
    if isinstance(kind, Name):
        return kind.kind
    if isinstance(kind, click.Path):
        return "file" if kind.file_okay else "dir"
    return "file" if isinstance(kind, click.File) else ""


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
