"""What compaction keeps and costs: `python -m bench.compaction [--split heldout] [--quick]`.

Sessions of 50 to 500 thousand tokens with planted facts run through the loop; afterwards each fact
is asked for. A session ends with `/compact`, so that nothing is kept just because it is recent. A
fact counts as kept when its value is in what the model is shown then, or among the 40 lines that
one search for the question's words finds in the project and in the files that the summary names.
Three ways run on the same sessions: all three tiers; full summaries with a file of what they
replaced; and full summaries alone, as they are common.

No model takes part. An extract by rules stands for the summaries of all ways, with the same budget
of tokens; a real model writes better ones. Figures compare the ways, they do not promise a
model's summary. A call counts as 10 seconds of the clock that spaces the updates of the running
summary. `cost` weighs tokens as a provider with a prompt cache bills them (read 0.1, written 1.25,
output 5). `waited for` is the input of summaries that hold the work up. Micro-compaction is timed
on 500 messages beside writing them as JSON once.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time

from bench.compaction_sessions import PLACES, Fact, Session, Split, make_session
from bench.report import Target, Timing, finish, machine, parser, ratio, say, table, timed_each
from wellkept.core.chat.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ToolCallPart,
    assistant_message,
    tool_message,
    user_message,
)
from wellkept.core.chat.messages import ToolResultPart as Result
from wellkept.core.codec import Json
from wellkept.core.text import estimate_tokens
from wellkept.testing.scripted_model import Answer, ScriptedModel
from wellkept_agent import AgentSession, LoopSettings, tool
from wellkept_agent.budgets import TokenMeter
from wellkept_agent.compaction import micro
from wellkept_agent.compaction.capability import Compaction
from wellkept_agent.compaction.micro import SessionFiles, Written
from wellkept_agent.compaction.summary import REQUEST, digest
from wellkept_agent.events import (
    AgentEvent,
    CompactionCompleted,
    MicroCompactionApplied,
    ProblemReported,
    SessionMemoryCompactApplied,
)
from wellkept_agent.session_memory import SECTIONS, SessionMemory, SessionMemorySettings
from wellkept_agent.settings import CompactionSettings

SIZES = (50_000, 100_000, 200_000, 350_000, 500_000)
WINDOW = 100_000
_HITS = 40
_LINE_CHARS = 400
_READ, _WRITTEN, _OUTPUT = 0.1, 1.25, 5.0
_CALL_S = 10.0
_NEW_TOKENS = 500


# -- The stand-in for a model ---------------------------------------------------------------------


class StandIn:
    """Plays a session step by step; summarises by rules when it is asked to."""

    def __init__(self, session: Session, *, summary_tokens: int, memory_tokens: int) -> None:
        self._plan = iter(_plan(session))
        self._summary_tokens = summary_tokens
        self._memory_tokens = memory_tokens
        self.summary_calls = 0
        self.written_tokens = 0

    def __call__(self, request: ModelRequest) -> Answer:
        first, last = request.messages[0].text, request.messages[-1]
        if "maintaining a session memory summary" in first:
            return self._memory(request)
        if REQUEST in last.text:
            self.summary_calls += 1
            earlier = request.messages[1:-1] or _parsed(last.text.replace(REQUEST, ""))
            text = digest(earlier, max_tokens=self._summary_tokens)
            self.written_tokens += estimate_tokens(text)
            return text
        return next(self._plan)

    def _memory(self, request: ModelRequest) -> Answer:
        """Bring the running summary up to date: what it holds, and an extract of what is new."""
        text = request.messages[-1].text
        old = text.split("<summary>\n", 1)[1].split("\n</summary>", 1)[0]
        new = _parsed(text.split("<conversation>\n", 1)[1].rsplit("\n</conversation>", 1)[0])
        lines = _statements(digest(new, max_tokens=_NEW_TOKENS))
        kept = [*_statements(old), *lines]
        if estimate_tokens("\n".join(kept)) > self._memory_tokens - 100:  # full: an extract of it
            whole = [user_message("\n".join(_statements(old))), user_message("\n".join(lines))]
            kept = _statements(digest(whole, max_tokens=self._memory_tokens * 3 // 4))
        summary = "\n".join([*(f"## {name}" for name in SECTIONS), *kept])
        self.written_tokens += estimate_tokens(summary)
        return summary


def _statements(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("- ") and line[2] != "["]


def _parsed(text: str) -> list[Message]:
    """Messages of a conversation that was written as text."""
    found: list[Message] = []
    for block in re.split(r"(?m)^## (?=Person|Agent|Tool|Runtime)", text)[1:]:
        name, _, body = block.partition("\n")
        if name in ("Person", "Agent"):
            body = re.sub(r"(?m)^\[calls .*$", "", body)
            found.append(user_message(body) if name == "Person" else assistant_message(body))
    return found


def _plan(session: Session) -> list[Answer]:
    plan: list[Answer] = []
    for turn in session.turns:
        for number, step in enumerate(turn.steps):
            key = "file_path" if step.tool == "Read" else "command"
            arguments = json.dumps({key: step.argument, "step": number})
            call = ToolCallPart(f"c{len(plan)}", step.tool, arguments)
            plan.append(assistant_message(step.text, call))
        plan.append(turn.answer or "done")
    return plan


# -- One run --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Run:
    """What came of one session under one way."""

    tokens: int
    facts: int
    in_view: int = 0
    by_search: int = 0
    lost: Counter[str] = field(default_factory=Counter[str])
    calls: int = 0
    input_tokens: int = 0
    uncached_tokens: int = 0
    cost: float = 0.0
    summary_calls: int = 0
    summary_input: int = 0
    background_input: int = 0
    micro: int = 0
    session_memory: int = 0
    full: int = 0
    problems: int = 0
    most_tokens: int = 0
    cpu_s: float = 0.0

    @property
    def kept(self) -> float:
        """Share of facts that are shown or found."""
        return (self.in_view + self.by_search) / max(1, self.facts)

    def as_json(self) -> dict[str, Json]:
        """The figures."""
        return {
            "tokens": self.tokens,
            "facts": self.facts,
            "kept_percent": round(100 * self.kept, 1),
            "in_view": self.in_view,
            "by_search": self.by_search,
            "lost": {place: self.lost[place] for place in PLACES},
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "uncached_tokens": self.uncached_tokens,
            "cost": round(self.cost),
            "summary_calls": self.summary_calls,
            "summary_input": self.summary_input,
            "background_input": self.background_input,
            "micro": self.micro,
            "session_memory": self.session_memory,
            "full": self.full,
            "problems": self.problems,
            "most_tokens_in_a_call": self.most_tokens,
            "cpu_s": round(self.cpu_s, 2),
        }


TIERS, WITH_FILES, ALONE = "three tiers", "summaries, files", "summaries alone"
WAYS = (TIERS, WITH_FILES, ALONE)


def run(session: Session, way: str, *, window: int = WINDOW) -> Run:
    """Play a session one way and ask for its facts."""
    settings = CompactionSettings(
        disable_micro_compact=way != TIERS, session_memory_compact=way == TIERS
    )
    memory = SessionMemorySettings(session_memory=way == TIERS)
    stand_in = StandIn(
        session,
        summary_tokens=min(settings.summary_tokens, window // 8),
        memory_tokens=memory.max_summary_tokens,
    )
    info = ModelInfo(
        name="stand-in", provider="bench", context_tokens=window, has_prompt_cache=True
    )
    model = ScriptedModel(stand_in, info=info)
    done = Run(session.tokens, len(session.facts))
    with tempfile.TemporaryDirectory(prefix="wellkept-bench-") as folder:
        root = Path(folder) / "project"
        for name, text in session.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        agent = _agent(model, session, root, Path(folder) / "session", settings, memory)
        agent.listen(lambda event: _count(done, event))
        began = process_time()
        asyncio.run(_play(agent, session))
        done.cpu_s = process_time() - began
        # What the next call would show: the session goes on from here.
        shown = "\n".join(_text(message) for message in agent.conversation.messages)
        searched = [root] if way == ALONE else [root, agent.folder]
        _ask(done, session.facts, shown, _lines(searched))
        done.summary_calls = stand_in.summary_calls
        _cost(done, model.requests)
        done.cost += stand_in.written_tokens * _OUTPUT
    return done


def _agent(  # noqa: PLR0917
    model: ScriptedModel,
    session: Session,
    root: Path,
    folder: Path,
    settings: CompactionSettings,
    memory: SessionMemorySettings,
) -> AgentSession:
    outputs = iter(s.result for t in session.turns for s in t.steps if s.tool == "Bash")

    @tool(name="Read", read_only=True)
    def read(file_path: str, step: int) -> str:  # noqa: ARG001
        text = session.files[file_path]
        agent.files.track_read(root / file_path, text)
        return text

    @tool(name="Bash", read_only=True)
    def bash(command: str, step: int) -> str:  # noqa: ARG001
        return next(outputs)

    agent = AgentSession(
        model,
        root=root,
        folder=folder,
        system="You are a coding agent.",
        tools=[read, bash],
        capabilities=[
            Compaction(settings),
            SessionMemory(memory, monotonic=lambda: _CALL_S * len(model.requests)),
        ],
        settings=LoopSettings(max_steps=1_000, repeated_calls=1_000),
    )
    return agent


async def _play(agent: AgentSession, session: Session) -> None:
    memory = next(c for c in agent.capabilities if isinstance(c, SessionMemory))
    for turn in session.turns:
        result = await agent.run(turn.prompt)
        if not result.ok:
            raise SystemExit(f"The run stopped: {result.end} {result.detail}")
        await memory.settled()  # a person reads the answer before the next prompt
    compaction = next(c for c in agent.capabilities if isinstance(c, Compaction))
    await compaction.compact()


def _count(done: Run, event: AgentEvent) -> None:
    match event:
        case MicroCompactionApplied():
            done.micro += 1
        case SessionMemoryCompactApplied():
            done.session_memory += 1
        case CompactionCompleted():
            done.full += 1
        case ProblemReported():
            done.problems += 1
        case _:
            pass


# -- Asking and counting --------------------------------------------------------------------------


def _text(message: Message) -> str:
    parts = [message.text, *(r.content for r in message.tool_results)]
    return "\n".join([*parts, *(call.arguments for call in message.tool_calls)])


def _lines(folders: Sequence[Path]) -> list[str]:
    lines: list[str] = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                lines += path.read_text("utf-8", "replace").splitlines()
    return lines


def _ask(done: Run, facts: Sequence[Fact], shown: str, lines: Sequence[str]) -> None:
    for fact in facts:
        if fact.value in shown:
            done.in_view += 1
        elif fact.value in _search(fact.question, lines):
            done.by_search += 1
        else:
            done.lost[fact.place] += 1


def _search(question: str, lines: Sequence[str]) -> str:
    """One search for the words of a question: the lines that hold most of them, cut to a width."""
    words = question.casefold().split()
    found = [(sum(word in line for word in words), line) for line in map(str.casefold, lines)]
    best = sorted((one for one in found if one[0]), key=lambda one: -one[0])[:_HITS]
    return "\n".join(_around(line, words) for _, line in best)


def _around(line: str, words: Sequence[str]) -> str:
    """The part of a long line around its rarest word, as a search shows it."""
    if len(line) <= _LINE_CHARS:
        return line
    at = max((line.find(word) for word in words), default=0)
    start = max(0, at - _LINE_CHARS // 2)
    return line[start : start + _LINE_CHARS]


def _cost(done: Run, requests: Sequence[ModelRequest]) -> None:
    """Tokens as a provider with a prompt cache counts them: what begins as an earlier request of
    the same kind did is read from the cache."""
    last: dict[str, tuple[Message, ...]] = {}
    for request in requests:
        messages = request.messages
        kind = "memory" if "session memory summary" in messages[0].text else "work"
        if REQUEST in messages[-1].text:
            done.summary_input += request.tokens
        elif kind == "memory":
            done.background_input += request.tokens
        before = last.get(kind, ())
        same = 0
        while same < min(len(before), len(messages)) and before[same] == messages[same]:
            same += 1
        cached = sum(message.tokens for message in messages[:same])
        fresh = request.tokens - cached
        if REQUEST not in messages[-1].text:
            last[kind] = messages
        done.calls += 1
        done.input_tokens += request.tokens
        done.uncached_tokens += fresh
        done.most_tokens = max(done.most_tokens, request.tokens)
        done.cost += cached * _READ + fresh * _WRITTEN


# -- Micro-compaction's time ----------------------------------------------------------------------


def micro_times(messages: int = 500, *, rounds: int = 50) -> dict[str, Timing]:
    """Deciding whether to clear (each step), and clearing (rarely), beside writing JSON once."""
    turns: list[Message] = [user_message("go")]
    while len(turns) < messages - 1:
        number = len(turns)
        turns += [
            assistant_message("", ToolCallPart(f"c{number}", "Read", '{"file_path": "a.py"}')),
            tool_message(Result(f"c{number}", "Read", f"line {number} of a file\n" * 180)),
        ]
    turns.append(assistant_message("done"))
    settings = CompactionSettings()
    warm = TokenMeter(1.33)
    micro.plan(turns, settings, warm)

    def clear(_: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            planned = micro.plan(turns, settings, warm)
            micro.apply(turns, planned, settings, SessionFiles(Path(folder)))

    class InMemory(SessionFiles):
        """Writes nothing: the rest of the work alone."""

        def write_result(self, call_id: str, content: str) -> Written:  # noqa: ARG002
            return Written(self.results / f"{call_id}.txt", is_new=False)

        def write_small_results(self, results: Sequence[Result]) -> Written:
            return self.write_result(results[0].call_id, "")

    def clear_in_memory(_: int) -> None:
        planned = micro.plan(turns, settings, warm)
        micro.apply(turns, planned, settings, InMemory(Path("nowhere")))

    def as_json(_: int) -> None:
        json.dumps([{"role": m.role, "parts": [str(p) for p in m.parts]} for m in turns])

    actions: dict[str, Callable[[int], object]] = {
        "decide": lambda _: micro.plan(turns, settings, warm),
        "decide_cold": lambda _: micro.plan(turns, settings, TokenMeter(1.33)),
        "clear_in_memory": clear_in_memory,
        "clear_to_files": clear,
        "json_dump": as_json,
    }
    return {name: timed_each(action, range(rounds), warm_up=5) for name, action in actions.items()}


# -- All of it ------------------------------------------------------------------------------------


def measure(sizes: Sequence[int], *, seeds: int, split: Split, window: int) -> dict[str, list[Run]]:
    """All ways on the same sessions."""
    ways: dict[str, list[Run]] = {way: [] for way in WAYS}
    for tokens in sizes:
        for seed in range(seeds):
            session = make_session(tokens=tokens, seed=seed, split=split)
            for way, runs in ways.items():
                began = perf_counter()
                runs.append(run(session, way, window=window))
                say(f"{way}, {tokens:,} tokens, seed {seed}: {perf_counter() - began:.1f} s")
    return ways


def _kept(runs: Sequence[Run]) -> float:
    return 100 * sum(r.in_view + r.by_search for r in runs) / max(1, sum(r.facts for r in runs))


_HEAD = (
    "way tokens kept shown found lost micro memory full largest input uncached cost waited_for "
    "background"
).split()


def _row(way: str, run: Run) -> list[str]:
    numbers = (
        run.in_view,
        run.by_search,
        sum(run.lost.values()),
        run.micro,
        run.session_memory,
        run.full,
        run.most_tokens,
        run.input_tokens,
        run.uncached_tokens,
        round(run.cost),
        run.summary_input,
        run.background_input,
    )
    return [way, f"{run.tokens:,}", f"{100 * run.kept:.0f} %", *(f"{n:,}" for n in numbers)]


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--split", choices=["development", "heldout"], default="development")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--window", type=int, default=WINDOW)
    options.add_argument("--quick", action="store_true", help="two sizes, one seed")
    given = options.parse_args()
    sizes, seeds = (SIZES[1:3], 1) if given.quick else (SIZES, given.seeds)
    ways = measure(sizes, seeds=seeds, split=given.split, window=given.window)
    times = micro_times()
    rows = [_row(way, run) for way, runs in ways.items() for run in runs]
    tiered, alone = ways[TIERS], ways[ALONE]
    targets = [
        Target("facts kept, three tiers, %", 95.0, _kept(tiered), at_least=True),
        Target("micro-compaction decides on 500 messages, ms", 5.0, times["decide"].p50_ms),
    ]
    lost: dict[str, Json] = {place: sum(r.lost[place] for r in tiered) for place in PLACES}
    figures: dict[str, Json] = {
        "machine": machine(),
        "split": given.split,
        "window": given.window,
        "summaries": "extract by rules, no model",
        "targets": [target.as_json() for target in targets],
        "kept_percent": {way: round(_kept(runs), 1) for way, runs in ways.items()},
        "lost_by_place": lost,
        "cost_ratio": ratio(sum(r.cost for r in tiered), sum(r.cost for r in alone)),
        "input_ratio": ratio(
            sum(r.input_tokens for r in tiered), sum(r.input_tokens for r in alone)
        ),
        "blocking_summary_input_ratio": ratio(
            sum(r.summary_input for r in tiered), sum(r.summary_input for r in alone)
        ),
        "micro": {name: one.as_json() for name, one in times.items()},
        "micro_decide_against_json": ratio(times["decide"].p50_ms, times["json_dump"].p50_ms),
        "runs": {way: [r.as_json() for r in runs] for way, runs in ways.items()},
    }
    finish("compaction", figures, as_json=given.json, lines=table(_HEAD, rows))


if __name__ == "__main__":
    main()
