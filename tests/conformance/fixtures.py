"""What the official MCP conformance suite expects of a server, beside what Wellkept offers.

The suite calls tools, prompts and resources by names of its own. They are mounted on Wellkept's
server: the same dispatch, transport and guard, with Wellkept's own operations still in place.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

Request: TypeAlias = ServerRequestContext[dict[str, Any]]
Made: TypeAlias = list[types.ContentBlock]
Tool: TypeAlias = Callable[[Request, dict[str, Any]], Awaitable[Made]]

# The smallest picture and the smallest sound that are valid.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
SCHEMA_2020: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
    "if": {"properties": {"name": {"const": "nobody"}}},
    "then": {"required": ["name"]},
    "else": {"required": []},
    "additionalProperties": False,
}


def _text(text: str) -> types.TextContent:
    return types.TextContent(text=text)


def _image() -> types.ImageContent:
    return types.ImageContent(data=PNG, mime_type="image/png")


def _resource(uri: str, text: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    contents = types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return types.EmbeddedResource(resource=contents)


# -- Tools ----------------------------------------------------------------------------------------


async def _simple(_: Request, __: dict[str, Any]) -> Made:
    return [_text("This is a simple text response for testing.")]


async def _picture(_: Request, __: dict[str, Any]) -> Made:
    return [_image()]


async def _sound(_: Request, __: dict[str, Any]) -> Made:
    return [types.AudioContent(data=WAV, mime_type="audio/wav")]


async def _embedded(_: Request, __: dict[str, Any]) -> Made:
    return [_resource("test://embedded-resource", "This is an embedded resource content.")]


async def _mixed(_: Request, __: dict[str, Any]) -> Made:
    body = '{"test":"data","value":123}'
    inside = _resource("test://mixed-content-resource", body, "application/json")
    return [_text("Multiple content types test:"), _image(), inside]


async def _logging(request: Request, _: dict[str, Any]) -> Made:
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await request.session.send_log_message(  # pyright: ignore[reportDeprecated]
            "info", message, related_request_id=request.request_id
        )
    return [_text("Logged.")]


async def _progress(request: Request, _: dict[str, Any]) -> Made:
    for done in (0, 50, 100):
        await request.session.report_progress(done, 100, f"{done} of 100")
    return [_text("Reported.")]


async def _error(_: Request, __: dict[str, Any]) -> Made:
    raise ValueError("This tool intentionally returns an error for testing")


async def _sampling(request: Request, given: dict[str, Any]) -> Made:
    asked = types.SamplingMessage(role="user", content=_text(given["prompt"]))
    answer = await request.session.create_message(  # pyright: ignore[reportDeprecated]
        [asked], max_tokens=100, related_request_id=request.request_id
    )
    said = answer.content.text if isinstance(answer.content, types.TextContent) else ""
    return [_text(f"LLM response: {said}")]


def _asking(properties: dict[str, Any], required: list[str], message: str = "Please") -> Tool:
    schema = {"type": "object", "properties": properties, "required": required}

    async def ask(request: Request, given: dict[str, Any]) -> Made:
        answer = await request.session.elicit_form(
            given.get("message", message), schema, related_request_id=request.request_id
        )
        content = json.dumps(answer.content)
        return [_text(f"Elicitation completed: action={answer.action}, content={content}")]

    return ask


def _titled(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in pairs]


OPTIONS = ["option1", "option2", "option3"]
DEFAULTS: dict[str, Any] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
ENUMS: dict[str, Any] = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {
        "type": "string",
        "oneOf": _titled(("value1", "First"), ("value2", "Second"), ("value3", "Third")),
    },
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {
        "type": "array",
        "items": {"anyOf": _titled(("value1", "First"), ("value2", "Second"), ("value3", "Third"))},
    },
}
PERSON = {"username": {"type": "string"}, "email": {"type": "string"}}


async def _reconnection(request: Request, _: dict[str, Any]) -> Made:
    if request.close_sse_stream is not None:
        await request.close_sse_stream()
    return [_text("Reconnection test completed successfully.")]


TOOLS: dict[str, Tool] = {
    "test_simple_text": _simple,
    "test_image_content": _picture,
    "test_audio_content": _sound,
    "test_embedded_resource": _embedded,
    "test_multiple_content_types": _mixed,
    "test_tool_with_logging": _logging,
    "test_tool_with_progress": _progress,
    "test_error_handling": _error,
    "test_sampling": _sampling,
    "test_elicitation": _asking(PERSON, ["username", "email"]),
    "test_elicitation_sep1034_defaults": _asking(DEFAULTS, []),
    "test_elicitation_sep1330_enums": _asking(ENUMS, []),
    "test_reconnection": _reconnection,
    "json_schema_2020_12_tool": _simple,
}
ARGUMENTS = {"test_sampling": "prompt", "test_elicitation": "message"}


def _schema(name: str) -> dict[str, Any]:
    if name == "json_schema_2020_12_tool":
        return SCHEMA_2020
    needed = ARGUMENTS.get(name)
    properties = {needed: {"type": "string"}} if needed else {}
    return {"type": "object", "properties": properties, "required": list(properties)}


# -- Resources and prompts ------------------------------------------------------------------------

RESOURCES = {
    "test://static-text": "text/plain",
    "test://static-binary": "image/png",
    "test://watched-resource": "text/plain",
}
TEMPLATE = "test://template/{id}/data"
PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
}


def _read(uri: str) -> types.TextResourceContents | types.BlobResourceContents | None:
    if uri == "test://static-binary":
        return types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    if uri in RESOURCES:
        text = "This is the content of the static text resource."
        return types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    head, tail = TEMPLATE.split("{id}")
    if not (uri.startswith(head) and uri.endswith(tail)):
        return None
    number = uri.removeprefix(head).removesuffix(tail)
    body = json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})
    return types.TextResourceContents(uri=uri, mime_type="application/json", text=body)


def _said(name: str, given: dict[str, str]) -> list[types.ContentBlock]:
    if name == "test_simple_prompt":
        return [_text("This is a simple prompt for testing.")]
    if name == "test_prompt_with_arguments":
        return [_text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
    if name == "test_prompt_with_image":
        return [_image(), _text("Please analyze the image above.")]
    inside = _resource(given["resourceUri"], "Embedded resource content for testing.")
    return [inside, _text("Please process the embedded resource above.")]


# -- Mounting -------------------------------------------------------------------------------------


def mount(server: Server[dict[str, Any]]) -> Server[dict[str, Any]]:
    """The server with the suite's fixtures; whatever has another name is still Wellkept's."""
    own = {method: server.get_request_handler(method) for method in _WRAPPED}

    def wrap(method: str, params: type[Any], handler: Any) -> None:
        entry = own[method]
        assert entry is not None

        async def wrapped(request: Request, given: Any) -> Any:
            return await handler(request, given, entry.handler)

        server.add_request_handler(method, params, wrapped)

    wrap("tools/list", types.PaginatedRequestParams, _list_tools)
    wrap("tools/call", types.CallToolRequestParams, _call_tool)
    wrap("resources/list", types.PaginatedRequestParams, _list_resources)
    wrap("resources/templates/list", types.PaginatedRequestParams, _list_templates)
    wrap("resources/read", types.ReadResourceRequestParams, _read_resource)
    wrap("prompts/list", types.PaginatedRequestParams, _list_prompts)
    wrap("prompts/get", types.GetPromptRequestParams, _get_prompt)
    server.add_request_handler("completion/complete", types.CompleteRequestParams, _complete)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _nothing)
    server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, _nothing)
    server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, _nothing)
    return server


_WRAPPED = (
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
)


async def _list_tools(request: Request, given: Any, own: Any) -> types.ListToolsResult:
    listed = await own(request, given)
    more = [
        types.Tool(name=name, description="Fixture.", input_schema=_schema(name)) for name in TOOLS
    ]
    return types.ListToolsResult(tools=[*listed.tools, *more])


async def _call_tool(request: Request, given: types.CallToolRequestParams, own: Any) -> Any:
    tool = TOOLS.get(given.name)
    if tool is None:
        return await own(request, given)
    try:
        return types.CallToolResult(content=await tool(request, given.arguments or {}))
    except ValueError as error:
        return types.CallToolResult(content=[_text(str(error))], is_error=True)


async def _list_resources(request: Request, given: Any, own: Any) -> types.ListResourcesResult:
    listed = await own(request, given)
    more = [
        types.Resource(uri=uri, name=uri, description="Fixture.", mime_type=kind)
        for uri, kind in RESOURCES.items()
    ]
    return types.ListResourcesResult(resources=[*listed.resources, *more])


async def _list_templates(
    request: Request, given: Any, own: Any
) -> types.ListResourceTemplatesResult:
    listed = await own(request, given)
    more = types.ResourceTemplate(uri_template=TEMPLATE, name="template", description="Fixture.")
    return types.ListResourceTemplatesResult(resource_templates=[*listed.resource_templates, more])


async def _read_resource(request: Request, given: types.ReadResourceRequestParams, own: Any) -> Any:
    found = _read(str(given.uri))
    return types.ReadResourceResult(contents=[found]) if found else await own(request, given)


async def _list_prompts(request: Request, given: Any, own: Any) -> types.ListPromptsResult:
    listed = await own(request, given)
    more = [
        types.Prompt(
            name=name,
            description="Fixture.",
            arguments=[types.PromptArgument(name=each, required=True) for each in arguments],
        )
        for name, arguments in PROMPTS.items()
    ]
    return types.ListPromptsResult(prompts=[*listed.prompts, *more])


async def _get_prompt(request: Request, given: types.GetPromptRequestParams, own: Any) -> Any:
    wanted = PROMPTS.get(given.name)
    if wanted is None:
        return await own(request, given)
    arguments = given.arguments or {}
    if missing := [name for name in wanted if name not in arguments]:
        raise MCPError(types.INVALID_PARAMS, f"Missing: {', '.join(missing)}.")
    said = _said(given.name, arguments)
    messages = [types.PromptMessage(role="user", content=block) for block in said]
    return types.GetPromptResult(messages=messages)


async def _complete(_: Request, __: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=["paris", "park"], total=2))


async def _nothing(_: Request, __: Any) -> types.EmptyResult:
    return types.EmptyResult()
