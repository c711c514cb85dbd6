"""Verbs over HTTP: POST with a JSON object, and GET with a query where a verb only reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from wellkept.api.server.requests import NamedRoute, arguments_in, let_in, project_in
from wellkept.api.verbs.index import TOOLS, VERBS

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.api.server.threads import WorkerThreads

_READS = "reads"


def path_of(words: str) -> str:
    """`skill list` is `/skill/list`."""
    return "/" + words.replace(" ", "/")


def verb_routes(workers: WorkerThreads) -> list[NamedRoute]:
    """The routes of all verbs, by their words and by the names of their tools. Imports none."""
    by_words = {path_of(words): (words, "") for words in VERBS}
    by_tool = {path_of(name): (words, name) for name, words in TOOLS.items()}
    return [
        NamedRoute(
            path,
            _endpoint(workers, words, tool),
            methods=["GET", "POST"] if VERBS[words][2] == _READS else ["POST"],
        )
        for path, (words, tool) in {**by_tool, **by_words}.items()
    ]


def _endpoint(workers: WorkerThreads, words: str, tool: str) -> Any:
    async def endpoint(request: Request) -> Response:
        let_in(request)
        given = await arguments_in(request)
        project = project_in(request, given)

        def work(wk: Wellkept) -> bytes:
            return answered(wk, words, given, tool=tool)

        return Response(await workers.run(project, work), media_type="application/json")

    return endpoint


def answered(wk: Wellkept, words: str, given: Mapping[str, object], *, tool: str = "") -> bytes:
    """The JSON of a verb's result; under the name of a tool with what that presets."""
    from wellkept.api.server.access import require_one_project
    from wellkept.api.verbs.as_json import encoded
    from wellkept.api.verbs.check import read
    from wellkept.api.verbs.params import params_of
    from wellkept.api.verbs.table import find, find_tool, run

    verb, preset = find_tool(tool) or (find(words), {})
    known = {one.name for one in params_of(verb.function)}
    own, _ = read(verb, given)
    own = {name: value for name, value in preset.items() if name in known} | own
    require_one_project(own)
    return encoded(run(verb, wk, own))
