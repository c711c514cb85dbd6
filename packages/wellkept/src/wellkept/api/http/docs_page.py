"""The API as a page for people, made from the OpenAPI document. Without scripts or other files."""

from __future__ import annotations

from html import escape
from typing import Any, cast

_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code,pre{font-family:monospace;background:#8882;padding:.1em .3em}"
    "summary{cursor:pointer}td,th{text-align:left;padding:.1rem .8rem .1rem 0;vertical-align:top}"
)


def docs_page(document: dict[str, Any]) -> str:
    """The page."""
    info = document["info"]
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8">',
        f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style>",
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>",
        f"<p>{escape(info.get('summary', ''))}",
        "<p>Send the token as <code>Authorization: Bearer TOKEN</code>.",
    ]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.append(_operation(document, path, method, operation))
    return "\n".join(parts)


def _operation(document: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> str:
    name = f"<code>{escape(method.upper())} {escape(path)}</code>"
    told = escape(operation.get("summary", ""))
    more = escape(operation.get("description", "")).replace("\n\n", "<p>")
    rows = [
        _row(one["name"], one.get("schema", {}), one.get("description", ""), one.get("required"))
        for one in operation.get("parameters", ())
    ]
    content = operation.get("requestBody", {}).get("content", {})
    for media in content.values():
        schema = _resolved(document, media.get("schema", {}))
        required = set(cast("list[str]", schema.get("required", ())))
        rows += [
            _row(field, about, about.get("description", ""), field in required)
            for field, about in schema.get("properties", {}).items()
        ]
    table = f"<table>{''.join(rows)}</table>" if rows else ""
    return f"<details><summary>{name} {told}</summary><p>{more}{table}</details>"


def _row(name: str, schema: dict[str, Any], description: str, required: object) -> str:
    mark = " (required)" if required else ""
    cells = (f"<code>{escape(name)}</code>", escape(_kind(schema) + mark), escape(description))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _kind(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(one) for one in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    reference = str(schema.get("$ref", "")).rpartition("/")[2]
    return reference or str(schema.get("type", "any"))


def _resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return document["components"]["schemas"].get(name, {}) if name else schema
