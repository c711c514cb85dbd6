"""What all routes of the API share: who asks, for which project, with which arguments."""

from __future__ import annotations

from typing import cast
from urllib.parse import unquote

from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from wellkept.core.errors import UsageError
from wellkept.core.team.people import asked_in_this_task, principal_in

PROJECT_HEADER = "Wellkept-Project"
_NOT_AN_OBJECT = (
    "This cannot be taken: the body must be a JSON object, sent with"
    " Content-Type: application/json."
)


class NamedRoute(Route):
    """A route that logs, metrics and traces can name."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self
        await super().handle(scope, receive, send)


def let_in(request: Request) -> None:
    """Hand on who asks, to this task and the threads it starts."""
    asked_in_this_task(principal_in(request.scope))


async def arguments_in(request: Request) -> dict[str, object]:
    """The arguments in query, body and path; the later win."""
    query = request.query_params
    found: dict[str, object] = {
        name: values[0] if len(values := query.getlist(name)) == 1 else values for name in query
    }
    if request.method not in ("GET", "HEAD"):
        found |= await _body(request)
    return found | request.path_params


def project_in(request: Request, given: dict[str, object]) -> str:
    """The project that is meant; taken out of the arguments."""
    named = str(given.pop("project", "") or "")
    return named or unquote(request.headers.get(PROJECT_HEADER, ""))


async def _body(request: Request) -> dict[str, object]:
    import msgspec

    try:
        raw = await request.body()
    except ClientDisconnect:
        raise UsageError("The request ended before its body.") from None
    if not raw:
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or (kind.startswith("application/") and "+json" in kind)
    try:
        sent = cast("object", msgspec.json.decode(raw)) if is_json else None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        sent = None
    if not isinstance(sent, dict):
        raise UsageError(_NOT_AN_OBJECT)
    return cast("dict[str, object]", sent)
