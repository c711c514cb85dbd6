"""How many tokens a conversation takes, as well as it can be known.

What the provider counted for the last call is exact; only what came after it is estimated, with a
safety margin. Without a count of the provider everything is estimated. Estimates of messages are
cached: messages never change, they are replaced.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from wellkept.core.chat.messages import Message, ModelUsage, ToolDefinition, part_tokens
from wellkept.core.chat.messages import ToolResultPart as Result
from wellkept.core.text import estimate_tokens

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
