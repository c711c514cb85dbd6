"""The MCP methods on plain JSON, for any transport: tools, resources and prompts.

Synchronous: the transport decides on which thread a method runs and asks the client for its roots.
Invariants: no project is opened before the first call that needs it; nothing heavy is imported
before the first call either, so that a client has its list of tools at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from traceback import print_exception
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast
from urllib.parse import unquote

from wellkept.api.mcp import instructions, prompts, toolsets
from wellkept.api.mcp.errors import INTERNAL_ERROR, INVALID_PARAMS, RequestError, error_text
from wellkept.core.errors import NotFoundError, UsageError, WellkeptError
from wellkept.core.records import record, replace

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.api.server.open_projects import OpenProjects
    from wellkept.core.verbs import Verb

_Result = TypeVar("_Result")
Params: TypeAlias = Mapping[str, Any]
Result: TypeAlias = dict[str, Any]
Roots: TypeAlias = Callable[[], list[Path]]
"""Asks the client for its root folders; empty when it has none or cannot be asked."""


@record(kw_only=True)
class ServerLocation:
    """Folder and session the server was started for. `ask_roots`: the client's roots may override
    the folder."""

    folder: Path
    ask_roots: bool = True
    session: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str], *, cwd: Path) -> ServerLocation:
        """Read the location from the client's environment variables."""
        given = environment.get("CLAUDE_PROJECT_DIR", "")
        return cls(
            folder=Path(given) if given else cwd,
            ask_roots=not given,
            session=environment.get("CLAUDE_CODE_SESSION_ID", ""),
        )


@record(kw_only=True)
class ServerOptions:
    """What a server shows: the toolsets it lists, and whether results are also given as data."""

    toolsets: frozenset[str] = frozenset({toolsets.DEFAULT})
    structured: bool = False


class _Answer:
    """The result of a verb."""

    def __init__(self, result: Any, of_text: Params) -> None:
        self._result, self._of_text = result, of_text

    def text(self) -> str:
        """The result for a model to read, with its notes and how to get more."""
        from wellkept.api.verbs.table import remarks

        said = remarks(self._result, options=False)
        return "\n".join(filter(None, [self._result.as_text(**self._of_text), *said]))

    def structured(self) -> dict[str, Any]:
        """The result for a program."""
        from wellkept.api.verbs.as_json import plain

        return cast("dict[str, Any]", plain(self._result))


class Handlers:
    """The methods of one server."""

    def __init__(
        self, projects: OpenProjects, location: ServerLocation, options: ServerOptions
    ) -> None:
        self._projects = projects
        self._location = location
        self._options = options

    # -- Lists that need no project ---------------------------------------------------------------

    def list_tools(self, params: Params) -> Result:
        """`tools/list`."""
        refuse_cursor(params)
        return {"tools": toolsets.listed_tools(self._options.toolsets)}

    def list_resources(self, params: Params) -> Result:
        """`resources/list`."""
        refuse_cursor(params)
        return {"resources": list(instructions.RESOURCES)}

    def list_templates(self, params: Params) -> Result:
        """`resources/templates/list`."""
        refuse_cursor(params)
        return {"resourceTemplates": list(instructions.TEMPLATES)}

    # -- Tools ------------------------------------------------------------------------------------

    def call_tool(self, params: Params, roots: Roots) -> Result:
        """`tools/call`: a failure that the model can mend is a result, not a protocol error."""
        name = params.get("name")
        arguments = params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, Mapping | None):
            raise _malformed()
        given = cast("Params", arguments or {})
        if name.casefold() in _HOW_TO_NAMES:
            return _text_result(instructions.INSTRUCTIONS)
        try:
            answer = self._called(name, given, roots)
        except WellkeptError as error:
            return {**_text_result(error_text(error)), "isError": True}
        result = _text_result(answer.text())
        return {**result, "structuredContent": answer.structured()} if self._structured else result

    def _called(self, name: str, given: Params, roots: Roots) -> _Answer:
        from wellkept.api.verbs.tools import find_verb

        found = find_verb(name)
        if found is None or not found[0].toolset:
            raise RequestError(INVALID_PARAMS, self._unknown_tool(name))
        toolset = found[0].toolset
        if found[0].needs_toolset and toolset not in self._options.toolsets:
            raise RequestError(
                INVALID_PARAMS,
                f"{name} is not switched on here. The person can add it: "
                f"wellkept mcp --toolsets {toolset}.",
            )
        return self._answered(*found, given, roots)

    def _answered(self, verb: Verb, preset: Params, given: Params, roots: Roots) -> _Answer:
        """Run a verb; a model may name the project at hand, and no other."""
        from wellkept.api.verbs.table import run
        from wellkept.api.verbs.tools import arguments_of

        named = dict(given)
        project = str(named.pop("project", "") or named.pop("project_id", "") or "")
        own, of_text = arguments_of(verb, named, preset, session=self._location.session)
        result = self._with_project(verb.tool, project, roots, lambda wk: run(verb, wk, own))
        return _Answer(result, of_text)

    @property
    def _structured(self) -> bool:
        return self._options.structured

    def _unknown_tool(self, name: str) -> str:
        from difflib import get_close_matches

        from wellkept.api.verbs.index import TOOLS

        listed = [tool["name"] for tool in toolsets.listed_tools(self._options.toolsets)]
        close = get_close_matches(name, [*TOOLS], n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        return f"Unknown tool {name!r}.{hint} Tools: {', '.join(listed)}."

    def _with_project(
        self, tool: str, project: str, roots: Roots, work: Callable[[Wellkept], _Result]
    ) -> _Result:
        """Do the work for an agent, in the project at hand."""
        from wellkept.core.team.people import asked_by, asking

        folder = self._folder(roots)
        try:
            with (
                asked_by(replace(asking(), is_agent=True)),
                self._projects.of("", folder=folder) as wk,
            ):
                _require_own_project(project, wk, folder)
                return work(wk)
        except WellkeptError:
            raise
        except Exception as error:  # noqa: BLE001 - a client must not see the message of a bug
            print_exception(error)
            raise RequestError(
                INTERNAL_ERROR,
                f"{tool} failed: internal error ({type(error).__name__}). "
                "Continue without memory and tell the user to check the server's log.",
            ) from None

    def _folder(self, roots: Roots) -> Path:
        """The project folder: the server's, unless the client's roots lie elsewhere."""
        here = self._location.folder
        found = roots() if self._location.ask_roots else []
        is_inside = any(here.is_relative_to(root) for root in found)
        return found[0] if found and not is_inside else here

    # -- Resources --------------------------------------------------------------------------------

    def read_resource(self, params: Params, roots: Roots) -> Result:
        """`resources/read`."""
        uri = params.get("uri")
        if not isinstance(uri, str):
            raise _malformed()
        try:
            text = self._resource(uri, roots)
        except WellkeptError as error:
            code = INVALID_PARAMS if isinstance(error, NotFoundError) else INTERNAL_ERROR
            raise RequestError(code, error_text(error), {"uri": uri}) from None
        return {"contents": [{"uri": uri, "text": text, "mimeType": "text/plain"}]}

    def _resource(self, uri: str, roots: Roots) -> str:
        if uri == instructions.CONTEXT_URI:
            return self._answer("memory_context", {"session": self._location.session}, roots)
        if uri == instructions.STATS_URI:
            return self._answer("memory_stats", {}, roots)
        name = unquote(uri.removeprefix(instructions.MEMORY_URI))
        if not uri.startswith(instructions.MEMORY_URI) or not name:
            raise RequestError(
                INVALID_PARAMS,
                f"Unknown resource {uri!r}. A memory is {instructions.MEMORY_URI}ID.",
            )
        return self._answer("memory_show", {"ids": [name]}, roots)

    def _answer(self, tool: str, arguments: Params, roots: Roots) -> str:
        return self._called(tool, arguments, roots).text()

    # -- Prompts ----------------------------------------------------------------------------------

    def list_prompts(self, params: Params, roots: Roots) -> Result:
        """`prompts/list`."""
        refuse_cursor(params)
        try:
            found = self._with_project("prompts/list", "", roots, prompts.skills_to_pick)
            skills = prompts.listed_skills(found)
        except WellkeptError:
            skills = []  # built-in prompts work without the store
        return {"prompts": [*prompts.listed(), *skills]}

    def get_prompt(self, params: Params, roots: Roots) -> Result:
        """`prompts/get`."""
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, Mapping | None):
            raise _malformed()
        given = cast("Params", arguments or {})
        prompt = prompts.BY_NAME.get(name)
        if prompt is None:
            return self._skill_prompt(name, str(given.get(prompts.SKILL_ARGUMENT, "")), roots)
        about = str(given.get(prompt.argument, "")).strip()
        if not about:
            raise RequestError(
                INVALID_PARAMS, f"The prompt {prompt.name} needs {prompt.argument!r}."
            )
        try:
            asked = {"query": about, "limit": 8}
            known = self._answer("memory_recall", asked, roots) if prompt.looks_up else ""
        except WellkeptError as error:
            raise RequestError(INTERNAL_ERROR, error_text(error)) from None
        return prompts.message(prompt.text(about, known), prompt.description)

    def _skill_prompt(self, name: str, given: str, roots: Roots) -> Result:
        """A skill as a prompt, run on behalf of the user."""
        session = self._location.session

        def picked(wk: Wellkept) -> str:
            return prompts.picked_skill(wk, name, given, session)

        try:
            return prompts.message(self._with_project("prompts/get", "", roots, picked))
        except (UsageError, NotFoundError) as error:
            raise RequestError(INVALID_PARAMS, error_text(error)) from None
        except WellkeptError as error:
            raise RequestError(INTERNAL_ERROR, error_text(error)) from None


# One document tells models how to work by means of a tool of this name.
_HOW_TO_NAMES: Final = frozenset({"__important", "important"})


def title_of(method: str, params: Params) -> str:
    """What a request is called in a report of its progress."""
    name = params.get("name")
    titles = {tool["name"]: tool["annotations"]["title"] for _, tool in toolsets.all_tools()}
    return titles.get(name, name) if isinstance(name, str) else method


def refuse_cursor(params: Params) -> None:
    """Lists have one page, so any cursor is invalid."""
    if cursor := params.get("cursor"):
        raise RequestError(INVALID_PARAMS, f"Unknown cursor {cursor!r}. List again without one.")


def _require_own_project(named: str, wk: Wellkept, folder: Path) -> None:
    """An agent has the project it works in. Models name it now and then; another one is refused."""
    name = named.strip().casefold()
    if name and name not in {
        wk.project_name.casefold(),
        wk.project.casefold(),
        str(folder).casefold(),
    }:
        raise UsageError(
            "Tools answer for the project at hand only.",
            hint="The person can look into another one: `wellkept recall --project NAME`.",
        )


def _text_result(text: str) -> Result:
    return {"content": [{"type": "text", "text": text}], "isError": False}


def _malformed() -> RequestError:
    return RequestError(INVALID_PARAMS, "Invalid request parameters", "")
