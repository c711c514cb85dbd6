"""A session in a temporary project whose tools are called one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wellkept.core.chat.messages import Message, ModelInfo, ModelRequest, ToolCallPart
from wellkept.testing.scripted_model import ScriptedModel, call, calls
from wellkept_agent import AgentSession, LoopSettings, ToolOutput
from wellkept_agent.events import AgentEvent
from wellkept_agent.hooks import HookContext
from wellkept_agent.permissions import Decision, PermissionRequest, Question
from wellkept_agent.tools.default import default_tools


class TestPerson:
    """Answers as told and remembers what was asked."""

    __test__ = False

    def __init__(self) -> None:
        self.decision = Decision.ALLOW
        self.asked: list[PermissionRequest] = []
        self.answers: tuple[str, ...] | None = None
        self.questions: tuple[Question, ...] = ()
        self.plan_answer: str | None = None
        self.plans: list[str] = []

    async def permit(self, request: PermissionRequest) -> Decision:
        self.asked.append(request)
        return self.decision

    async def answer(self, questions: tuple[Question, ...]) -> tuple[str, ...] | None:
        self.questions = questions
        return self.answers

    async def approve_plan(self, plan: str) -> str | None:
        self.plans.append(plan)
        return self.plan_answer


class ToolBench:
    """Runs single tool calls through the whole loop."""

    def __init__(self, root: Path, folder: Path, **options: object) -> None:
        self.root = root
        self.person = TestPerson()
        self.events: list[AgentEvent] = []
        self.outputs: list[ToolOutput] = []
        self._next: list[Message] = []
        info = ModelInfo(name="scripted", provider="scripted", has_images=True)
        mode = options.pop("mode", "bypass")
        options.setdefault("tools", default_tools())
        options.setdefault("person", self.person)
        options.setdefault("settings", LoopSettings(permission_mode=str(mode)))
        self.session = AgentSession(
            ScriptedModel(self._answer, info=info),
            root=root,
            folder=folder,
            **options,  # pyright: ignore[reportArgumentType]
        )
        self.session.listen(self.events.append)
        self.session.hooks.add("on_after_tool", self._saw)

    def use(self, name: str, /, **arguments: object) -> ToolOutput:
        """The output of one call."""
        return self.use_all(call(name, **arguments))[0]

    def use_all(self, *parts: ToolCallPart) -> list[ToolOutput]:
        """The outputs of calls of one answer, in the order in which they ended."""
        self.outputs = []
        self._next = [calls(*parts)]
        asyncio.run(self.session.run("go"))
        return self.outputs

    def write(self, name: str, text: str | bytes = "") -> Path:
        """A file of the project."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    async def _saw(self, _context: HookContext, _call: ToolCallPart, output: ToolOutput) -> None:
        self.outputs.append(output)

    def _answer(self, _request: ModelRequest) -> Message | str:
        return self._next.pop() if self._next else "done"


MakeBench = Callable[..., ToolBench]


@pytest.fixture
def make_bench(tmp_path: Path) -> Iterator[MakeBench]:
    """Benches with options of `AgentSession`; `mode` is the permission mode."""
    root = tmp_path / "project"
    root.mkdir()
    made: list[ToolBench] = []

    def make(**options: object) -> ToolBench:
        made.append(ToolBench(root, tmp_path / "session", **options))
        return made[-1]

    yield make
    for bench in made:
        bench.session.jobs.end_all()


@pytest.fixture
def bench(make_bench: MakeBench) -> ToolBench:
    """A bench with the default tools that asks nobody."""
    return make_bench()
