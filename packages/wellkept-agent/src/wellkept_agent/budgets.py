"""Token budgets of a prompt's sections, and what gives way when they are exceeded.

    budgets = PromptBudgets().for_model(model.info)
    parts = trimmed(PromptParts(memories=..., skills=..., ...), budgets)

Instructions and tools are fixed: they are never cut. Memories and skills are ranked, best first,
and give way in this order: all skills but one (none, when it hardly fits), all memories but five,
then the body of the skill. Invariant: what `trimmed` returns fits its budgets, and trimming it
again changes nothing. Pure; knows no store and no model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from wellkept.core.chat.messages import Message, ModelInfo, ModelUsage, ToolDefinition, part_tokens
from wellkept.core.chat.messages import ToolResultPart as Result
from wellkept.core.records import record, replace
from wellkept.core.text import estimate_tokens

CUT = "\n[cut to the budget]"
_SMALL_MODEL_SHARE = 0.5
_WINDOW_SHARE = 0.125


@record(kw_only=True)
class PromptBudgets:
    """Tokens of each section of the prompt's stable part, 5,500 in all."""

    base_tokens: int = 500  # tokens of the base instructions
    index_tokens: int = 1_000  # tokens of the project's index summary
    tools_tokens: int = 2_000  # tokens of the tool definitions
    memories_tokens: int = 500  # tokens of project memories
    memories_chars: int = 2_000  # characters of project memories
    skills_tokens: int = 1_000  # tokens of matched skills
    session_memory_tokens: int = 500  # tokens of the session's memory
    matched_memories: int = 5  # memories found by the person's message
    trimmed_memories: int = 5  # memories that stay when the budget is exceeded
    trimmed_skills: int = 1  # skills that stay when the budget is exceeded
    low_relevance: float = 0.3  # a last skill below this score goes when the budget is exceeded

    @property
    def total_tokens(self) -> int:
        """Tokens of all sections."""
        return (
            self.base_tokens
            + self.index_tokens
            + self.tools_tokens
            + self.memories_tokens
            + self.skills_tokens
            + self.session_memory_tokens
        )

    def for_model(self, info: ModelInfo) -> PromptBudgets:
        """The budgets for a model: smaller for a small model, and where the whole prompt would
        take more than an eighth of its window."""
        share = min(1.0, _WINDOW_SHARE * info.context_tokens / max(1, self.total_tokens))
        share = min(share, _SMALL_MODEL_SHARE) if info.small else share
        if share == 1.0:
            return self
        return replace(
            self,
            index_tokens=int(self.index_tokens * share),
            memories_tokens=int(self.memories_tokens * share),
            memories_chars=int(self.memories_chars * share),
            skills_tokens=int(self.skills_tokens * share),
            session_memory_tokens=int(self.session_memory_tokens * share),
        )


@record(kw_only=True)
class SkillText:
    """A matched skill: the heading it is shown under, its body, and how well it fits (0 to 1)."""

    name: str
    heading: str
    body: str
    score: float = 1.0

    @property
    def text(self) -> str:
        """Heading and body, as they are shown."""
        return f"{self.heading}\n{self.body}".strip("\n")


@record(kw_only=True)
class PromptParts:
    """What a prompt is made of. `memories` are lines, best first; `skills` too. `trimmed` says in
    plain words what gave way."""

    base: str = ""
    index: str = ""
    tools_tokens: int = 0
    memories: tuple[str, ...] = ()
    skills: tuple[SkillText, ...] = ()
    session_memory: str = ""
    trimmed: tuple[str, ...] = ()

    @property
    def memories_tokens(self) -> int:
        """Tokens of the memories, with their line ends."""
        return estimate_tokens("\n".join(self.memories))

    @property
    def skills_tokens(self) -> int:
        """Tokens of the skills."""
        return sum(estimate_tokens(skill.text) for skill in self.skills)


def trimmed(
    parts: PromptParts, budgets: PromptBudgets, *, skills_chars: int | None = None
) -> PromptParts:
    """The parts within their budgets. `skills_chars` limits the characters of all skills."""
    parts = replace(
        parts,
        index=cut(parts.index, tokens=budgets.index_tokens),
        session_memory=cut(parts.session_memory, tokens=budgets.session_memory_tokens),
        memories=_within(parts.memories, budgets),
    )
    notes: list[str] = []
    if _is_over(parts, budgets, skills_chars):
        kept = parts.skills[: budgets.trimmed_skills]
        kept = tuple(skill for skill in kept if skill.score >= budgets.low_relevance)
        if len(kept) < len(parts.skills):
            notes.append(f"skills: {len(parts.skills)} -> {len(kept)}")
        parts = replace(parts, skills=kept)
    if _is_over(parts, budgets, skills_chars) and len(parts.memories) > budgets.trimmed_memories:
        notes.append(f"memories: {len(parts.memories)} -> {budgets.trimmed_memories}")
        parts = replace(parts, memories=parts.memories[: budgets.trimmed_memories])
    if _is_over(parts, budgets, skills_chars):
        parts = _cut_skills(parts, budgets, skills_chars, notes)
    return replace(parts, trimmed=(*parts.trimmed, *notes))


def cut(text: str, *, tokens: int, chars: int | None = None) -> str:
    """A text that fits, cut at the end of a line where one is near, and marked as cut."""
    limit = len(text) if chars is None else chars
    if estimate_tokens(text) <= tokens and len(text) <= limit:
        return text
    low, high = 0, min(len(text), max(0, limit - len(CUT)))
    while low < high:  # the longest beginning that fits with the mark
        middle = (low + high + 1) // 2
        fits = estimate_tokens(text[:middle] + CUT) <= tokens
        low, high = (middle, high) if fits else (low, middle - 1)
    if low <= 0:
        return ""
    end = text.rfind("\n", 0, low)
    return text[: end if end > low // 2 else low].rstrip() + CUT


def _within(memories: Sequence[str], budgets: PromptBudgets) -> tuple[str, ...]:
    """The best memories that fit their own section; one that is too long is passed over."""
    kept: list[str] = []
    for line in memories:
        text = "\n".join([*kept, line])
        if len(text) <= budgets.memories_chars and (
            estimate_tokens(text) <= budgets.memories_tokens
        ):
            kept.append(line)
    return tuple(kept)


def _room_for_skills(parts: PromptParts, budgets: PromptBudgets) -> int:
    """Tokens that memories leave of what both may take together. A fixed section that is larger
    than planned takes nothing from them: it is there in any case."""
    return max(0, budgets.skills_tokens + budgets.memories_tokens - parts.memories_tokens)


def _is_over(parts: PromptParts, budgets: PromptBudgets, skills_chars: int | None) -> bool:
    if skills_chars is not None and sum(len(one.text) for one in parts.skills) > skills_chars:
        return True
    return parts.skills_tokens > _room_for_skills(parts, budgets)


def _cut_skills(
    parts: PromptParts, budgets: PromptBudgets, skills_chars: int | None, notes: list[str]
) -> PromptParts:
    """Each skill's body cut to its share of the room; one of which nothing is left goes."""
    count = max(1, len(parts.skills))
    tokens = _room_for_skills(parts, budgets) // count
    chars = None if skills_chars is None else skills_chars // count
    kept: list[SkillText] = []
    for skill in parts.skills:
        head = len(skill.heading) + 1
        left = cut(
            skill.body,
            tokens=tokens - estimate_tokens(skill.heading + "\n") - 1,
            chars=None if chars is None else chars - head,
        )
        if left:
            kept.append(replace(skill, body=left))
            notes.append(f"skill {skill.name}: {len(skill.body):,} -> {len(left):,} characters")
        else:
            notes.append(f"skill {skill.name}: left out")
    return replace(parts, skills=tuple(kept))


# -- How many tokens a conversation takes, as well as it can be known -----------------------------


_BELIEVABLE_SHARE = 0.25


class TokenMeter:
    """Tokens of one session's conversation."""

    def __init__(self, margin: float) -> None:
        self._margin = margin
        self._messages: dict[str, tuple[Message, int]] = {}
        self._results: dict[tuple[str, str], tuple[Result, int]] = {}
        self._tools: tuple[tuple[str, ...], int] = ((), 0)
        self._sent: tuple[str, int] | None = None
        self._counted: tuple[str, str, int] | None = None

    def message(self, message: Message) -> int:
        """About the tokens of a message."""
        known = self._messages.get(message.id)
        if known is None or known[0] is not message:
            known = self._messages[message.id] = (message, message.tokens)
        return known[1]

    def result(self, message: Message, result: Result) -> int:
        """About the tokens of a tool result."""
        key = (message.id, result.call_id)
        known = self._results.get(key)
        if known is None or known[0] is not result:
            known = self._results[key] = (result, part_tokens(result))
        return known[1]

    def estimate(self, messages: Sequence[Message]) -> int:
        """About the tokens of messages, without a margin."""
        return sum(map(self.message, messages))

    def tools(self, definitions: Sequence[ToolDefinition]) -> int:
        """About the tokens of tool definitions."""
        names = tuple(one.name for one in definitions)
        if self._tools[0] != names:
            tokens = sum(
                estimate_tokens(one.name + one.description)
                + estimate_tokens(json.dumps(one.parameters, default=str))
                for one in definitions
            )
            self._tools = (names, tokens)
        return self._tools[1]

    def used(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition] = (),
        *,
        with_margin: bool = True,
    ) -> int:
        """Tokens of the next call."""
        margin = self._margin if with_margin else 1.0
        if self._counted is not None:
            last_sent, answer, tokens = self._counted
            for index in range(len(messages) - 1, -1, -1):
                if messages[index].id == last_sent:
                    new = [one for one in messages[index + 1 :] if one.id != answer]
                    return tokens + math.ceil(self.estimate(new) * margin)
        return math.ceil((self.estimate(messages) + self.tools(tools)) * margin)

    def sent(self, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> None:
        """Note what a call is about to be made with."""
        if messages:
            self._sent = (messages[-1].id, self.estimate(messages) + self.tools(tools))

    def counted(self, answer: Message, usage: ModelUsage | None) -> None:
        """Take the provider's count of the last call; one that cannot be true is not believed."""
        self._counted = None
        if self._sent is not None and usage is not None:
            last, estimate = self._sent
            if usage.total >= estimate * _BELIEVABLE_SHARE:
                self._counted = (last, answer.id, usage.total)

    def forget(self, messages: Sequence[Message] = ()) -> None:
        """Old messages were replaced: the provider's count is void. Only the estimates of
        `messages` are kept."""
        self._counted = self._sent = None
        here = {one.id for one in messages}
        self._messages = {k: v for k, v in self._messages.items() if k in here}
        self._results = {k: v for k, v in self._results.items() if k[0] in here}
