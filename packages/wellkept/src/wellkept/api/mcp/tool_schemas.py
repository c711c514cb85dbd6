"""The list of MCP tools, made from the operation table: what `tools.json` holds.

Schemas are cut to what a model needs: names, types and descriptions. Limits and rare arguments are
still checked and taken; every token here is paid for in every session.
"""

from __future__ import annotations

import json
from typing import Any, Final, cast

from wellkept.api.mcp import toolsets
from wellkept.api.mcp.handlers import UNLISTED
from wellkept.api.operations.inputs import Input, schema_of
from wellkept.api.operations.table import OPERATIONS, Effect, Operation
from wellkept.api.verbs.generate import all_verbs
from wellkept.api.verbs.tools import tool_of as verb_tool
from wellkept.core.verbs import Verb

_KEPT: Final = ("type", "description", "enum", "items", "properties", "required", "$ref")


def tools_json() -> str:
    """The text of `tools.json`."""
    entries = [
        {"toolset": one.toolset, "tool": verb_tool(one) if isinstance(one, Verb) else tool_of(one)}
        for name in toolsets.TOOLSETS
        for one in (*(verb for _, verb in all_verbs()), *OPERATIONS)
        if one.toolset == name
    ]
    return json.dumps(entries, ensure_ascii=False, indent=1) + "\n"


def tool_of(operation: Operation[Any, Any]) -> dict[str, Any]:
    """An operation as MCP lists it."""
    return {
        "name": operation.tool_name,
        "description": operation.description,
        "inputSchema": input_schema(operation.takes),
        "annotations": {
            "title": operation.title,
            "readOnlyHint": operation.effect is Effect.READS,
            "destructiveHint": operation.effect is Effect.REMOVES,
            "idempotentHint": operation.repeatable,
            "openWorldHint": False,
        },
    }


def input_schema(takes: type[Input]) -> dict[str, Any]:
    """The arguments that models are shown."""
    whole = schema_of(takes)
    hidden = UNLISTED | takes.unlisted
    found = cast("dict[str, dict[str, Any]]", whole.get("properties", {}))
    # The arguments of its own come first, those it shares with others after.
    own = [name for name in found if name in takes.__annotations__]
    order = [name for name in dict.fromkeys((*own, *found)) if name not in hidden]
    properties = {name: _lean(found[name]) for name in order}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required := whole.get("required"):
        schema["required"] = required
    if definitions := cast("dict[str, dict[str, Any]]", whole.get("$defs", {})):
        schema["$defs"] = {name: _lean(part) for name, part in definitions.items()}
    return schema


def _lean(part: dict[str, Any]) -> dict[str, Any]:
    """A part of a schema without limits, empty defaults and null."""
    choices = cast("list[dict[str, Any]]", part.get("anyOf", []))
    merged = {**next((one for one in choices if one.get("type") != "null"), part), **part}
    lean: dict[str, Any] = {name: merged[name] for name in _KEPT if name in merged}
    if "enum" in lean:
        lean["enum"] = [value for value in lean["enum"] if value != ""]
    if part.get("default"):
        lean["default"] = part["default"]
    if isinstance(lean.get("items"), dict):
        lean["items"] = _lean(lean["items"])
    if "properties" in lean:
        lean["properties"] = {name: _lean(one) for name, one in lean["properties"].items()}
    return lean
