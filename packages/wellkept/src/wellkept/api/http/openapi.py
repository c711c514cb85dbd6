"""The OpenAPI 3.1 document: verbs and the other routes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wellkept import __version__
from wellkept.api.http.endpoints import Endpoint
from wellkept.api.server.http_errors import MEDIA_TYPE, ConflictProblem, Problem
from wellkept.api.verbs import schema
from wellkept.api.verbs.openapi import add_verbs, described
from wellkept.api.verbs.params import params_of, result_of


def make_document(
    endpoints: Iterable[Endpoint], *, prefix: str, open_paths: frozenset[str]
) -> dict[str, Any]:
    """The document of these routes and of all verbs under a prefix."""
    parts: dict[str, Any] = {}
    problem = {MEDIA_TYPE: {"schema": schema.of_type(Problem, parts)}}
    schema.of_type(ConflictProblem, parts)
    problems = {
        "4XX": {"description": "The request cannot be done as it is.", "content": problem},
        "5XX": {"description": "The server cannot do it.", "content": problem},
    }
    paths: dict[str, Any] = {}
    for one in endpoints:
        path = prefix + one.path.replace(":path}", "}")
        for method in one.method.split():
            made = _endpoint(one, method, parts, problems)
            paths.setdefault(path, {})[method.lower()] = made
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Wellkept",
            "summary": "A memory for coding agents that outlives the session.",
            "version": __version__,
        },
        "paths": paths,
        "components": {
            "schemas": parts,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token of `serve`.",
                }
            },
        },
        "security": [{"token": []}],
    }
    add_verbs(document, prefix=prefix, problems=problems)
    for path in open_paths & set(paths):
        for operation in paths[path].values():
            operation["security"] = []
    return document


def _endpoint(
    one: Endpoint, method: str, parts: dict[str, Any], problems: dict[str, Any]
) -> dict[str, Any]:
    params = params_of(one.function)
    in_path = [param for param in params if f"{{{param.name}" in one.path]
    rest = [param for param in params if param not in in_path]
    title = "".join(word.capitalize() for word in one.name.split("_"))
    gives = result_of(one.function) if one.gives is None else one.gives
    answer = schema.of_type(gives, parts)
    if "$ref" not in answer:
        parts[f"{title}Line"], answer = answer, schema.reference(f"{title}Line")
    made = described(
        one.words.capitalize(),
        " ".join((one.function.__doc__ or "").split()),
        tag=one.path.split("/")[1],
        answer=answer,
        problems=problems,
        media=one.media,
        told=one.told,
        conflicts=any(param.name == "if_updated_at" for param in params),
    )
    made["operationId"] = one.name if method in one.method[-4:] else f"{one.name}_by_query"
    takes = schema.of_params(rest, parts)
    has_body = bool(rest) and method not in ("GET", "DELETE")
    if has_body:
        parts[f"{title}Input"] = takes
        made["requestBody"] = schema.body(schema.reference(f"{title}Input"), takes)
    made["parameters"] = [
        *({**p, "in": "path"} for p in schema.query(schema.of_params(in_path, parts))),
        *([] if has_body else schema.query(takes)),
        schema.PROJECT,
    ]
    return made
