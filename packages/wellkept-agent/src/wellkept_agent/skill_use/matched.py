"""`MatchSkills`: a skill that clearly fits a prompt is told with it, within its budget.

The text stands in a message of its own before the prompt, so that nothing before it changes and
recall is asked with the person's words alone. A skill is told once, and again after compaction.
Most prompts match none. A search that is late tells nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from wellkept.core.chat.messages import MessageKind, user_message
from wellkept.core.records import record, replace
from wellkept_agent.budgets import PromptBudgets, PromptParts, SkillText, trimmed
from wellkept_agent.capability import Capability
from wellkept_agent.counters import CountUsage
from wellkept_agent.flags import FeatureFlags
from wellkept_agent.recall.capability import SHOWN

if TYPE_CHECKING:
    from wellkept.core.chat.messages import Message
    from wellkept_agent.hooks import HookContext
    from wellkept_agent.session import AgentSession

TOLD = "session:skills.told"
MATCH_LIMIT_S = 1.0
_FRAME = "wellkept-memory"


@record
class MatchedSkill:
    """A skill for a prompt. `id` is what recall knows it by, so that it is not named again."""

    skill: SkillText
    id: str


class SkillMatcher(Protocol):
    """The skills that fit a prompt, best first. Synchronous; called in a thread."""

    def __call__(self, prompt: str, /) -> Sequence[MatchedSkill]: ...


class MatchSkills(Capability):
    """Tells skills that fit. Comes before `Recall`, and after `SkillUse`."""

    name: ClassVar[str] = "matched skills"

    def __init__(
        self,
        match: SkillMatcher,
        *,
        budgets: PromptBudgets | None = None,
        flags: FeatureFlags | None = None,
    ) -> None:
        self._match = match
        self._max_chars = (flags or FeatureFlags()).skills_max_injected_chars
        # Memories have a room of their own, which they may have filled.
        self._budgets = replace(budgets or PromptBudgets(), memories_tokens=0)

    def attach(self, session: AgentSession) -> None:
        """Remember the session."""
        self._session = session

    async def on_user_message(self, context: HookContext, text: str) -> None:
        """Tell the skills that fit a prompt and were not told yet."""
        _ = context
        if not text.strip() or text.lstrip().startswith("/"):
            return
        try:
            matched = await asyncio.wait_for(asyncio.to_thread(self._match, text), MATCH_LIMIT_S)
        except TimeoutError:
            return  # the thread goes on: the next prompt finds the indexes built
        self._count(matched)
        new = [one for one in matched if one.id not in self._listed(TOLD)]
        parts = PromptParts(skills=tuple(one.skill for one in new))
        kept = trimmed(parts, self._budgets, skills_chars=self._max_chars).skills
        if not kept:
            return
        names = {skill.name for skill in kept}
        self._note([one.id for one in new if one.skill.name in names])
        self._session.add(user_message(_framed(kept), kind=MessageKind.REMINDER))

    async def on_compaction(self, context: HookContext, messages: Sequence[Message]) -> None:
        """What was told is about to go: it may be told again."""
        _ = context, messages
        self._session.state.remove(TOLD)

    def _count(self, matched: Sequence[MatchedSkill]) -> None:
        for capability in self._session.capabilities:
            if isinstance(capability, CountUsage):
                for one in matched:
                    capability.matched(one.skill.name, one.skill.score)

    def _note(self, ids: Sequence[str]) -> None:
        for key in (TOLD, SHOWN):
            self._session.state.set(key, [*sorted({*self._listed(key), *ids})])

    def _listed(self, key: str) -> set[str]:
        found = self._session.state.get(key)
        return {str(one) for one in found} if isinstance(found, list) else set()


def _framed(skills: Sequence[SkillText]) -> str:
    body = "\n\n".join(skill.text for skill in skills)
    return (
        f'<{_FRAME} about="skills">\nInstructions for such work; use what fits.\n\n{body}\n'
        f"</{_FRAME}>"
    )
