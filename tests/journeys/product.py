"""The installed product as a person has it: commands, hooks, MCP and server as real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

import wellkept
from wellkept.clients import hook

_TIMEOUT_S = 120.0
CLI = (sys.executable, "-m", "wellkept.cli")
HOOK = (sys.executable, "-I", "-S", hook.__file__)
_AUTHOR = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a process printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON document on standard output."""
        return json.loads(self.out)


@dataclass(slots=True)
class Client:
    """One session of a coding client: each step starts the hook, as the client would."""

    here: Installation
    name: str
    steps: int = field(default=0)

    def _hook(self, event: str, /, **payload: object) -> str:
        """What the hook hands to the model."""
        self.steps += 1
        whole = {
            "session_id": self.name,
            "cwd": str(self.here.repository),
            "hook_event_name": event,
            **payload,
        }
        done = self.here.run(*HOOK, "claude-code", event, "both", stdin=json.dumps(whole))
        assert (done.code, done.err) == (0, ""), f"{event}: {done}"
        if not done.out:
            return ""
        said = json.loads(done.out)
        return str(said.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def start(self, source: str = "startup") -> str:
        """The session begins."""
        return self._hook("SessionStart", source=source)

    def prompt(self, text: str, *, mode: str = "default") -> str:
        """The person says something."""
        return self._hook("UserPromptSubmit", prompt=text, permission_mode=mode)

    def tool(self, name: str, given: dict[str, object], result: object) -> str:
        """Any tool that went well."""
        call = {"tool_input": given, "tool_response": result, "tool_use_id": f"t-{self.steps}"}
        return self._hook("PostToolUse", tool_name=name, **call)

    def read(self, file: str) -> str:
        """The agent reads a file."""
        path = self.here.repository / file
        shown = {"type": "text", "file": {"filePath": str(path), "content": path.read_text()}}
        return self.tool("Read", {"file_path": str(path)}, shown)

    def edit(self, file: str, old: str, new: str) -> str:
        """The agent changes a file, really."""
        path = self.here.repository / file
        before = path.read_text()
        assert old in before
        path.write_text(before.replace(old, new, 1))
        given: dict[str, object] = {
            "file_path": str(path),
            "old_string": old,
            "new_string": new,
            "replace_all": False,
        }
        result = {
            "filePath": str(path),
            "oldString": old,
            "newString": new,
            "originalFile": before,
            "structuredPatch": [
                {
                    "oldStart": 1,
                    "oldLines": 1,
                    "newStart": 1,
                    "newLines": 1,
                    "lines": [f"-{old}", f"+{new}"],
                }
            ],
        }
        return self.tool("Edit", given, result)

    def bash(self, command: str, output: str = "", *, code: int = 0) -> str:
        """The agent ran a command that printed this."""
        if code == 0:
            shown = {"stdout": output, "stderr": "", "interrupted": False}
            return self.tool("Bash", {"command": command}, shown)
        return self._hook(
            "PostToolUseFailure",
            tool_name="Bash",
            tool_input={"command": command},
            tool_use_id=f"t-{self.steps}",
            error=f"Exit code {code}\n{output}",
            is_interrupt=False,
        )

    def compact(self, summary: str) -> None:
        """The client shortens the conversation."""
        self._hook("PreCompact", trigger="auto", custom_instructions="")
        self._hook("PostCompact", trigger="auto", compact_summary=summary)

    def stop(self, message: str = "Done.") -> str:
        """The agent has answered."""
        return self._hook("Stop", stop_hook_active=False, last_assistant_message=message)

    def end(self, message: str = "Done.") -> None:
        """The agent has answered, the session is over and taken in."""
        self.stop(message)
        self._hook("SessionEnd", reason="other")
        self.here.drain()


@dataclass(frozen=True, slots=True)
class Installation:
    """Wellkept as a person has it: `here.wellkept("recall", "deploy")`."""

    home: Path
    repository: Path
    environment: dict[str, str]

    def wellkept(self, *arguments: str, stdin: str = "") -> Answer:
        """Run a command that must succeed."""
        answer = self.run(*CLI, *arguments, stdin=stdin)
        assert answer.code == 0, f"{arguments}: {answer.code}\n{answer.out}\n{answer.err}"
        return answer

    def refused(self, *arguments: str, stdin: str = "") -> Answer:
        """Run a command that must not succeed."""
        answer = self.run(*CLI, *arguments, stdin=stdin)
        assert answer.code != 0, f"{arguments}: {answer.out}"
        return answer

    def run(self, *command: str, stdin: str = "") -> Answer:
        """Run any program in the repository."""
        done = subprocess.run(
            command,
            cwd=self.repository,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def remember(self, text: str, *options: str) -> Any:
        """The memory that a person's own command leaves."""
        return self.wellkept("remember", text, *options, "--json").json["memory"]

    def listed(self, *options: str) -> list[Any]:
        """What `list` shows."""
        return self.wellkept("list", "--json", "--limit", "1000", *options).json["items"]

    def shown(self, name: str) -> Any:
        """The memory that `show` shows."""
        (item,) = self.wellkept("show", name, "--json").json["items"]
        return item["memory"]

    def texts(self, *options: str) -> set[str]:
        """The words of what `list` shows."""
        return {item["content"] for item in self.listed(*options)}

    def found(self, question: str, *options: str) -> list[str]:
        """The words of what `recall` finds, best first."""
        answer = self.run(*CLI, "recall", question, "--json", *options)
        assert answer.code in (0, 1), answer.err
        return [hit["memory"]["content"] for hit in answer.json["hits"]] if answer.out else []

    def session(self, name: str = "s-1") -> Client:
        """A session of a coding client in this repository."""
        return Client(self, name)

    def drain(self) -> Any:
        """Take in what hooks caught."""
        return self.wellkept("admin", "drain", "--json").json

    def file(self, path: str, text: str) -> Path:
        """Write a file of the repository."""
        whole = self.repository / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_text(text, "utf-8")
        return whole

    def git(self, *arguments: str) -> str:
        """Run git as Somebody."""
        done = self.run("git", *_AUTHOR, *arguments)
        assert done.code == 0, done.err
        return done.out.strip()

    def commit(self, message: str) -> str:
        """Commit everything; returns the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def mcp(self, tool: str, /, toolsets: str = "", **arguments: Any) -> Any:
        """The result of one tool call, from a server that a client started here."""
        return self.mcp_calls((tool, arguments), toolsets=toolsets)[0]

    def mcp_calls(self, *calls: tuple[str, dict[str, Any]], toolsets: str = "") -> list[Any]:
        """The results of tool calls in one run of the server; `tools/list` is a call as well."""
        greeting = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "journey", "version": "1"},
        }
        lines: list[dict[str, object]] = [
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
        ]
        for number, (tool, arguments) in enumerate(calls, 1):
            plain = "/" in tool
            method = tool if plain else "tools/call"
            given = arguments if plain else {"name": tool, "arguments": arguments}
            lines.append({"jsonrpc": "2.0", "id": number, "method": method, "params": given})
        command = [*CLI, "mcp", *(["--toolsets", toolsets] if toolsets else [])]
        done = self.run(*command, stdin="".join(f"{json.dumps(one)}\n" for one in lines))
        answers = {one.get("id"): one for one in map(json.loads, done.out.splitlines())}
        assert {*range(1, len(calls) + 1)} <= set(answers), f"{done.out}\n{done.err}"
        return [answers[number]["result"] for number in range(1, len(calls) + 1)]

    def told(self, tool: str, /, **arguments: Any) -> str:
        """The text that a tool call answers with."""
        return str(self.mcp(tool, **arguments)["content"][0]["text"])

    @contextmanager
    def serving(self, *arguments: str) -> Generator[httpx2.Client]:
        """`wellkept serve` on a free port, with a client that has the token."""
        command = [*CLI, "serve", "--port", "0", *arguments]
        environment = {**self.environment, "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(
            command, cwd=self.repository, env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            try:
                address = next(line for line in process.stdout if "http://" in line).split()[-1]
                token = (self.home / "server.token").read_text("ascii").strip()
                headers = {"Authorization": f"Bearer {token}"}
                with httpx2.Client(base_url=address, headers=headers, timeout=60) as client:
                    yield client
            finally:
                process.terminate()
                process.wait(timeout=60)

    def library(self) -> wellkept.Wellkept:
        """The memory of this repository, opened as a program in Python would."""
        return wellkept.open(
            self.home / "memory.db", cwd=self.repository, environment=self.environment
        )


def installed(home: Path, person: Path, repository: Path) -> Installation:
    """An empty home, and a repository with one commit."""
    person.mkdir()
    repository.mkdir()
    environment = {
        "HOME": str(person),
        "PATH": os.environ["PATH"],
        "WELLKEPT_HOME": str(home),
        "WELLKEPT_HOOK_TIMEOUT_MS": "100000",
        "WELLKEPT_FORBID_REAL_REQUESTS": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    # A journey on a copy of the sources, in which something was taken away.
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    here = Installation(home, repository, environment)
    here.file("README.md", "# Widget\n")
    here.git("init", "-q", "-b", "main")
    here.commit("Begin")
    return here
