"""A small MCP server with good and bad habits, for tests of clients.

    python -m tests.support.mcp_server [stdio | http PORT | sse PORT] [--die] [--silent]

It adds numbers, draws, says too much, is slow, and dies when asked to. `--die` ends at once with a
message, `--silent` never answers.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import Annotated, Any

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


class Point(BaseModel):
    """A place on a map."""

    x: int
    y: int | None = None


def build_server() -> MCPServer[Any]:
    """The server, not running yet."""
    server: MCPServer[Any] = MCPServer("habits", instructions="For tests.")
    output = os.fstat(1).st_ino

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def add(a: int, b: Annotated[int, Field(description="The second one.")] = 1) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    def move(points: list[Point]) -> str:
        """Move along points."""
        return " -> ".join(f"({p.x}, {p.y})" for p in points)

    @server.tool()
    def draw() -> Image:
        """Draw one pixel."""
        return Image(data=PIXEL, format="png")

    @server.tool()
    def shout(characters: int) -> str:
        """Say so many characters, with a NUL in front."""
        return "\0" + "x" * characters

    @server.tool()
    def fail() -> str:
        """Always fail."""
        raise ValueError("this never works")

    @server.tool()
    def wait(seconds: float) -> str:
        """Answer late."""
        time.sleep(seconds)
        return "at last"

    @server.tool()
    def die() -> str:
        """End the server in the middle of a call."""
        sys.stderr.write("fatal: asked to die\n")
        sys.stderr.flush()
        os._exit(3)

    @server.tool()
    def hang_up() -> str:
        """Answer, then close the connection without ending."""
        threading.Timer(0.2, _close_output, [output]).start()
        return "bye"

    @server.tool()
    def environment(name: str) -> str:
        """The value of a variable."""
        return os.environ.get(name, "[unset]")

    @server.tool()
    async def learn(context: Context[Any, Any]) -> str:
        """Have one more tool from now on."""

        def learned() -> str:
            """Something new."""
            return "new"

        server.add_tool(learned)
        await context.notify_tools_changed()
        return "learned"

    @server.tool()
    def header(context: Context[Any, Any], name: str) -> str:
        """A header of the request, over HTTP."""
        request = context.request_context.request
        return request.headers.get(name, "[none]") if request is not None else "[no request]"

    @server.prompt()
    def review(path: str, tone: str = "kind") -> str:
        """Review a file."""
        return f"Review {path}. Be {tone}."

    return server


def _close_output(inode: int) -> None:
    """Close the standard output and its copies."""
    for descriptor in range(256):
        with suppress(OSError):
            if os.fstat(descriptor).st_ino == inode:
                os.close(descriptor)


def main(arguments: list[str]) -> None:
    """Run on a transport."""
    if "--die" in arguments:
        sys.stderr.write("fatal: no configuration\n")
        raise SystemExit(2)
    if "--silent" in arguments:
        time.sleep(600)
    kind = arguments[0] if arguments else "stdio"
    server = build_server()
    if kind == "stdio":
        server.run("stdio")
    elif kind == "sse":
        server.run("sse", host="127.0.0.1", port=int(arguments[1]))
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
