"""Verbs as MCP tools: schemas cut to what a model needs, for every session pays for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wellkept.api.verbs.check import read
from wellkept.api.verbs.params import all_params, params_of
from wellkept.api.verbs.table import CONFIRM, DRY_RUN, find_tool
from wellkept.core.verbs import Effect, Verb
from wellkept.memory.arguments import snake

_PREFIXES = ("mcp__wellkept__", "mcp_wellkept_", "wellkept_", "wellkept__")
SESSION = "session"
"""An argument that no tool lists: the server knows it."""
_CONFIRM = {"type": "boolean", "description": "Without it nothing is deleted, only shown."}


def tool_of(verb: Verb) -> dict[str, Any]:
    """A verb as MCP lists it."""
    from wellkept.api.verbs import schema

    shown = [one for one in all_params(verb) if not one.arg.hidden and one.name != SESSION]
    properties = {one.name: schema.of_param(one, lean=True) for one in shown if one.name != DRY_RUN}
    if verb.effect is Effect.REMOVES:
        properties[CONFIRM] = _CONFIRM
    takes: dict[str, Any] = {"type": "object", "properties": properties}
    if required := [one.name for one in shown if one.required]:
        takes["required"] = required
    return {
        "name": verb.tool,
        "description": verb.tell,
        "inputSchema": takes,
        "annotations": {
            "title": verb.words.capitalize(),
            "readOnlyHint": verb.effect is Effect.READS,
            "destructiveHint": verb.effect is Effect.REMOVES,
            "idempotentHint": verb.repeatable,
            "openWorldHint": False,
        },
    }


def spellings(name: str) -> tuple[str, str]:
    """What a model may mean by a name: without the client's prefix, in snake case."""
    plain = snake(name.strip())
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    return plain, plain.removesuffix("_tool")


def find_verb(name: str) -> tuple[Verb, Mapping[str, Any]] | None:
    """The verb of a tool by any of its names, and what that name presets."""
    return next(filter(None, map(find_tool, spellings(name))), None)


def arguments_of(
    verb: Verb, given: Mapping[str, Any], preset: Mapping[str, Any], *, session: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of a call: what the model gave, else what the tool presets. A verb that removes
    stays dry without `confirm`."""
    named = dict(given)
    confirmed = named.pop(CONFIRM, None)
    own, of_text = read(verb, named, with_text=True)
    usual_own, usual_text = read_preset(verb, preset)
    if session and any(one.name == SESSION for one in params_of(verb.function)):
        usual_own[SESSION] = session
    own = usual_own | own
    if verb.effect is Effect.REMOVES:
        own = {DRY_RUN: True} | own
        if confirmed is not None:
            own[DRY_RUN] = confirmed not in (True, 1, "true", "True", "yes")
    return own, usual_text | of_text


def read_preset(verb: Verb, preset: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Preset arguments, apart by whom they are for."""
    own = {one.name for one in params_of(verb.function)}
    return (
        {name: value for name, value in preset.items() if name in own},
        {name: value for name, value in preset.items() if name not in own},
    )
