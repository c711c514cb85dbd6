"""The ways into the disk through Wellkept's own agent, for `bench.ways_in`.

A scripted model works in the project with real tools: prompts, commands and what they print, files,
background commands, to-do lists, plan files, state, the running summary and compaction. The project
itself is the person's; what must hold no secret is everything that Wellkept writes beside it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from bench.planted import Plant
from wellkept.core.chat.messages import ModelInfo, ModelRequest
from wellkept.core.errors import WellkeptError
from wellkept.testing.scripted_model import Answer, ScriptedModel, call, calls
from wellkept_agent.compaction.summary import REQUEST
from wellkept_agent.session_memory import SECTIONS

if TYPE_CHECKING:
    from bench.ways_in import Scene
    from wellkept.core.chat.messages import Message
    from wellkept_agent import Agent
    from wellkept_agent.session import AgentSession

_WINDOW_TOKENS = 24_000
_GROUP = 12
_PLAN_FILE = re.compile(r"/\S+/plans/[\w-]+\.md")
_FILLER = "The worker took its job and put it back. " * 400


def agent_session(scene: Scene, planted: Sequence[Plant]) -> None:
    """Prompts, answers, thinking, commands and their output, files, jobs, to-dos, memories."""

    def steps(some: Sequence[Plant]) -> Iterator[Message | str]:
        for number, plant in enumerate(some):
            path = f"{scene.work}/part{number}.txt"
            yield calls(call("Write", file_path=path, content=plant.text), text=plant.text)
            yield calls(call("Read", file_path=path), call("Grep", pattern=plant.text))
            yield calls(call("Bash", command=f"cat part{number}.txt"))
            quoted = plant.text.replace("'", "'\\''")
            yield calls(call("Bash", command=f"printf '%s' '{quoted}' >&2; exit 3"))
            yield calls(
                call("Bash", command=f"cat part{number}.txt", run_in_background=True),
                call("WebFetch", url=f"http://127.0.0.1:9/ {plant.text}"),
            )
            yield calls(call("BashOutput", bash_id=f"bash_{number + 1}"))
        todos = [{"content": one.text, "status": "pending", "activeForm": one.text} for one in some]
        yield calls(
            call("TodoWrite", todos=todos),
            call(
                "Task",
                description=some[0].text,
                prompt=some[0].text,
                subagent_type="general-purpose",
            ),
        )
        yield calls(
            *(
                call("memory_store", key=f"k{n}", content=one.text, category="knowledge")
                for n, one in enumerate(some)
            )
        )
        yield f"I saw {some[-1].text}"

    for some in _parts(planted):
        _work(scene, _scripted(steps(some)), [f"Use this: {one.text}" for one in some[:4]])


def agent_compaction(scene: Scene, planted: Sequence[Plant]) -> None:
    """Old results, replaced messages and the two summaries of a long conversation."""

    def steps(some: Sequence[Plant]) -> Iterator[Message | str]:
        for number, plant in enumerate(some):
            path = scene.work / f"log{number}.txt"
            path.write_text(f"{plant.text}\n{_FILLER}\n{plant.text}\n", "utf-8")
            yield calls(call("Read", file_path=str(path)), call("Bash", command=f"cat {path}"))
        yield "Read them all."

    for some in _parts(planted):
        text = "\n\n".join(one.text for one in some)
        model = _scripted(steps(some), summary=text)
        _work(scene, model, [f"Read the logs. {some[0].text}", "And now?"])


def agent_plan(scene: Scene, planted: Sequence[Plant]) -> None:
    """Plan files, by Write and by Edit."""
    for some in _parts(planted):
        text = "\n\n".join(one.text for one in some)

        def steps(text: str = text) -> Iterator[Callable[[ModelRequest], Message] | str]:
            yield lambda request: calls(
                call("Write", file_path=_plan_file(request), content=f"# Plan\n\n{text}\n")
            )
            yield lambda request: calls(call("Read", file_path=_plan_file(request)))
            yield lambda request: calls(
                call(
                    "Edit",
                    file_path=_plan_file(request),
                    old_string="# Plan",
                    new_string=f"# The plan\n\n{text}",
                )
            )
            yield lambda _request: calls(call("ExitPlanMode"))
            yield "Planned."

        _work(scene, _scripted(steps()), ["Plan the deployment"], plan=True)


def agent_state(scene: Scene, planted: Sequence[Plant]) -> None:
    """Values that tools and callers keep for the session and for the project."""

    async def run(agent: Agent) -> None:
        async with agent.session() as session:
            await session.run("Hello there")
            for number, plant in enumerate(planted):
                for scope in ("session", "project"):
                    with suppress(WellkeptError):
                        session.state.set(f"{scope}:k{number}", {"note": plant.text})
                session.state.add_finding(plant.text)
            await session.run("And again")

    with scene.open() as wk:
        asyncio.run(run(wk.agent(ScriptedModel(lambda _request: "Hello."))))


def chat_history(scene: Scene, planted: Sequence[Plant]) -> None:
    """What a person typed into `wellkept agent chat`."""
    from wellkept_agent.terminal.line_editor import PromptHistory

    with scene.open() as wk:
        wk.services.know_secrets()
        history = PromptHistory(wk.path.parent / "agent" / "prompts")
        for plant in planted:
            history.append_string(plant.text)
        scene.notes.append(f"{len(list(history.load_history_strings()))} prompts")


def _parts(planted: Sequence[Plant]) -> Iterator[Sequence[Plant]]:
    for start in range(0, len(planted), _GROUP):
        yield planted[start : start + _GROUP]


def _plan_file(request: ModelRequest) -> str:
    text = "\n".join(message.text for message in request.messages)
    results = (one.content for message in request.messages for one in message.tool_results)
    found = _PLAN_FILE.findall("\n".join((text, *results)))
    return found[-1] if found else "/nowhere.md"


def _scripted(
    steps: Iterator[Message | str] | Iterator[Callable[[ModelRequest], Message] | str],
    *,
    summary: str = "",
) -> ScriptedModel:
    def answer(request: ModelRequest) -> Answer:
        if REQUEST in request.messages[-1].text:
            return f"## Facts\n{summary}"
        if "maintaining a session memory summary" in request.messages[0].text:
            if request.messages[-1].tool_results:
                return "done"
            text = "\n\n".join(f"## {name}\n- {summary[:3000]}" for name in SECTIONS)
            return calls(call("Edit", old_string="", new_string=text))
        step = next(steps, "Done.")
        return step(request) if callable(step) else step

    info = ModelInfo(name="scripted", provider="scripted", context_tokens=_WINDOW_TOKENS)
    return ScriptedModel(answer, info=info)


def _work(
    scene: Scene, model: ScriptedModel, prompts: Sequence[str], *, plan: bool = False
) -> None:
    environment = {
        "WELLKEPT_AGENT_SESSION_MEMORY_MIN_TOKENS_TO_INIT": "500",
        "WELLKEPT_AGENT_SESSION_MEMORY_MIN_TOKENS_BETWEEN_UPDATE": "500",
        "WELLKEPT_AGENT_SESSION_MEMORY_IDLE_S": "0",
        "WELLKEPT_AGENT_EXTRACTION_COOLDOWN": "0",
        "WELLKEPT_AGENT_MICRO_THRESHOLD": "4000",
        "WELLKEPT_AGENT_MICRO_MIN_SAVINGS": "1000",
    }

    async def run(agent: Agent) -> AgentSession:
        async with agent.session() as session:
            for prompt in prompts:
                result = await session.run(prompt)
                scene.notes.append(result.detail)
            return session

    scene.environment.update(environment)
    with scene.open() as wk:
        mode = "plan" if plan else "bypass"
        asyncio.run(run(wk.agent(model, permission_mode=mode, max_steps=200)))
