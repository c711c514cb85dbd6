"""The verbs' part of the OpenAPI document."""

from __future__ import annotations

from typing import Any

from wellkept.api.verbs import schema
from wellkept.api.verbs.generate import all_verbs
from wellkept.api.verbs.params import params_of, result_of
from wellkept.api.verbs.routes import path_of
from wellkept.core.verbs import Effect, Verb


def add_verbs(document: dict[str, Any], *, prefix: str, problems: dict[str, Any]) -> None:
    """Add paths and schemas of every verb."""
    parts: dict[str, Any] = document["components"]["schemas"]
    for _, verb in all_verbs():
        document["paths"][prefix + path_of(verb.words)] = _path(verb, parts, problems)


def described(
    summary: str,
    description: str = "",
    *,
    tag: str,
    answer: dict[str, Any],
    problems: dict[str, Any],
    media: str = "application/json",
    told: str = "Done.",
    conflicts: bool = False,
) -> dict[str, Any]:
    """What is said of every way to ask one thing."""
    responses = {"200": {"description": told, "content": {media: {"schema": answer}}}, **problems}
    if conflicts:
        responses["409"] = {
            "description": "It was changed since it was seen.",
            "content": {
                "application/problem+json": {"schema": schema.reference("ConflictProblem")}
            },
        }
    more = {"description": description} if description else {}
    return {"tags": [tag], "summary": summary, **more, "responses": responses}


def _path(verb: Verb, parts: dict[str, Any], problems: dict[str, Any]) -> dict[str, Any]:
    params = params_of(verb.function)
    shared = described(
        verb.summary,
        tag=verb.noun or "memory",
        answer=schema.of_type(result_of(verb.function), parts),
        problems=problems,
        conflicts=any(one.name == "if_updated_at" for one in params),
    )
    name = verb.words.replace(" ", "_")
    takes = schema.of_params(params, parts)
    found: dict[str, Any] = {
        "post": {
            **shared,
            "operationId": name,
            "parameters": [schema.PROJECT],
            "requestBody": schema.body(takes, takes),
        }
    }
    if verb.effect is Effect.READS:
        found["get"] = {
            **shared,
            "operationId": f"{name}_by_query",
            "parameters": [*schema.query(takes), schema.PROJECT],
        }
    return found
