"""How much memory and skills are used, counted on this machine only.

Four counters: `memory_extracted`, `memory_injected`, `skill_matched` (by skill, with its score) and
`skill_used` (by skill: the session took fewer steps than the average one before it). Counts are
collected in memory and added to the store once, at the end of a session: `flush` is atomic per
number, so that sessions side by side lose nothing. Nothing is ever sent anywhere.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, ClassVar

from wellkept.core.records import record
from wellkept_agent.control import RunEnd
from wellkept_agent.events import MemoryInjected
from wellkept_agent.hooks import Capability

if TYPE_CHECKING:
    from wellkept.core.ports.store import KeyValueStore
    from wellkept_agent.events import AgentEvent
    from wellkept_agent.hooks import HookContext, SessionSummary
    from wellkept_agent.session import AgentSession, RunResult

NAMESPACE = "agent_counters"
MEMORY_EXTRACTED = "memory_extracted"
MEMORY_INJECTED = "memory_injected"
SKILL_MATCHED = "skill_matched"
SKILL_USED = "skill_used"
_SCORE = "skill_matched_score_milli"
_SESSIONS = "sessions"
_STEPS = "steps"
_NO_LIMIT = 1 << 62
_MAX_NAME_CHARS = 120


@record(kw_only=True)
class SkillCount:
    """How often a skill was matched, its mean score, and how often it helped."""

    matched: int = 0
    mean_score: float = 0.0
    used: int = 0


@record(kw_only=True)
class CounterReport:
    """Everything counted so far."""

    memory_extracted: int
    memory_injected: int
    skill_matched: int
    skill_used: int
    skills: dict[str, SkillCount]
    sessions: int
    mean_steps: float


class Counters:
    """Counts of one process, added to a store by `flush`. Without a store they stay in memory."""

    def __init__(self, store: KeyValueStore | None = None, *, namespace: str = NAMESPACE) -> None:
        self._store = store
        self._namespace = namespace
        self._new: Counter[str] = Counter()

    def memories_extracted(self, count: int) -> None:
        """Count memories that a session gave."""
        self._new[MEMORY_EXTRACTED] += max(0, count)

    def memories_injected(self, count: int) -> None:
        """Count memories that a model was told."""
        self._new[MEMORY_INJECTED] += max(0, count)

    def skill_matched(self, name: str, score: float) -> None:
        """Count that a skill fitted a prompt, with its score between 0 and 1."""
        short = name[:_MAX_NAME_CHARS]
        self._new[SKILL_MATCHED] += 1
        self._new[f"{SKILL_MATCHED}:{short}"] += 1
        self._new[f"{_SCORE}:{short}"] += max(0, round(score * 1000))

    def session_ended(self, *, steps: int, skills: frozenset[str]) -> None:
        """Count a session that came to its end: whether its skills helped is read from its steps,
        against the average of the sessions before it."""
        before = self.report()
        if before.sessions and steps < before.mean_steps:
            for name in sorted(skills):
                self._new[SKILL_USED] += 1
                self._new[f"{SKILL_USED}:{name[:_MAX_NAME_CHARS]}"] += 1
        self._new[_SESSIONS] += 1
        self._new[_STEPS] += max(0, steps)

    def flush(self) -> None:
        """Add what was counted to the store. Synchronous: call it in a thread."""
        if self._store is None:
            return
        for key, count in list(self._new.items()):
            if count and self._store.try_increment(self._namespace, key, count, limit=_NO_LIMIT):
                self._new[key] -= count

    def report(self) -> CounterReport:
        """Everything counted so far, in the store and since."""
        stored = {} if self._store is None else self._store.values(self._namespace)
        counts = Counter({key: v for key, v in stored.items() if isinstance(v, int)})
        counts.update(self._new)
        names = {key.partition(":")[2] for key in counts if key.startswith(f"{SKILL_MATCHED}:")}
        return CounterReport(
            memory_extracted=counts[MEMORY_EXTRACTED],
            memory_injected=counts[MEMORY_INJECTED],
            skill_matched=counts[SKILL_MATCHED],
            skill_used=counts[SKILL_USED],
            skills={name: _skill(counts, name) for name in sorted(names)},
            sessions=counts[_SESSIONS],
            mean_steps=counts[_STEPS] / max(1, counts[_SESSIONS]),
        )


def _skill(counts: Counter[str], name: str) -> SkillCount:
    matched = counts[f"{SKILL_MATCHED}:{name}"]
    return SkillCount(
        matched=matched,
        mean_score=counts[f"{_SCORE}:{name}"] / 1000 / max(1, matched),
        used=counts[f"{SKILL_USED}:{name}"],
    )


class CountUsage(Capability):
    """Counts memories that are told, and keeps all counts at the end of the session.

    Whoever matches skills calls `matched`; whoever extracts memories calls
    `counters.memories_extracted`.
    """

    name: ClassVar[str] = "counters"

    def __init__(self, counters: Counters) -> None:
        self.counters = counters
        self._skills: set[str] = set()
        self._steps = 0
        self._is_done = False

    def attach(self, session: AgentSession) -> None:
        """Listen to what the model is told."""
        session.listen(self._heard)

    def matched(self, name: str, score: float) -> None:
        """Note that a skill fitted a prompt of this session."""
        self._skills.add(name)
        self.counters.skill_matched(name, score)

    def turn_ended(self, result: RunResult) -> None:
        """Add the steps of a turn."""
        self._steps += result.steps
        self._is_done = result.end is RunEnd.DONE

    async def on_session_end(self, context: HookContext, summary: SessionSummary) -> None:
        """Keep the counts."""
        await asyncio.to_thread(self._keep)

    def _keep(self) -> None:
        if self._is_done:
            self.counters.session_ended(steps=self._steps, skills=frozenset(self._skills))
        self.counters.flush()

    def _heard(self, event: AgentEvent) -> None:
        if isinstance(event, MemoryInjected):
            self.counters.memories_injected(len(event.citations))
