"""OpenAI Agents SDK: `WellkeptSession` keeps a conversation, `recall_filter` recalls for it.

    session = WellkeptSession("chat-17", wk)
    config = RunConfig(call_model_input_filter=recall_filter(wk))
    result = await Runner.run(agent, "Where do we deploy?", session=session, run_config=config)

Items of a session are memories of that session: recall finds them, no other session is told them
unasked, and no upkeep deletes them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from wellkept.api.async_wellkept import AsyncWellkept
from wellkept.api.wellkept import Wellkept
from wellkept.core.errors import UsageError
from wellkept_adapters.items import (
    DEFAULT_LIMIT,
    Item,
    Items,
    as_async,
    framework,
    recalled_text,
    require_plain_name,
    texts_in,
)

with framework("the OpenAI Agents SDK", extra="openai-agents"):
    from agents import TResponseInputItem
    from agents.memory import SessionSettings
    from agents.run import CallModelData, ModelInputData

_ALL = 1_000_000_000
_TEXT_FIELDS = ("content", "output", "summary", "text", "arguments", "name", "input")


class WellkeptSession:
    """One conversation, kept in one project. Has the methods of the SDK's `Session`."""

    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        wellkept: Wellkept | AsyncWellkept,
        *,
        session_settings: SessionSettings | None = None,
    ) -> None:
        require_plain_name(session_id)
        self.session_id = session_id
        self.session_settings = session_settings
        self._wellkept = as_async(wellkept)
        self._items = Items(self._wellkept.sync, "openai-agents")
        self._place = (session_id,)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The last items in the order they came; all without a limit."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is not None and limit <= 0:
            return []
        most = _ALL if limit is None else limit
        found = await self._wellkept.run(lambda _: self._items.latest(self._place, limit=most))
        return [_as_input(item) for item in reversed(found)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Keep items at the end, all or none."""
        given = [(_as_mapping(item), _item_text(item)) for item in items]
        await self._wellkept.run(
            lambda _: self._items.append(self._place, given, session=self.session_id)
        )

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item away for good and return it."""
        item = await self._wellkept.run(lambda _: self._pop())
        return None if item is None else _as_input(item)

    async def clear_session(self) -> None:
        """Delete every item of this session for good."""
        await self._wellkept.run(lambda _: self._items.remove(list(self._items.below(self._place))))

    def _pop(self) -> Item | None:
        found = self._items.latest(self._place, limit=1)
        self._items.remove(found)
        return found[0] if found else None


def recall_filter(
    wellkept: Wellkept | AsyncWellkept,
    *,
    limit: int = DEFAULT_LIMIT,
    session: WellkeptSession | None = None,
) -> Callable[[CallModelData[Any]], Awaitable[ModelInputData]]:
    """For `RunConfig(call_model_input_filter=…)`: tells the model what is known about the last
    message of the user. It is added to the instructions of one call and never kept.

    With `session`, what that session holds is not told again.
    """
    wk = as_async(wellkept)
    own = session.session_id if session else None

    async def add_recalled(data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        question = _last_question(given.input)
        text = await wk.run(recalled_text, question, limit=limit, without_session=own)
        if not text:
            return given
        parts = [part for part in (given.instructions, text) if part]
        return ModelInputData(input=given.input, instructions="\n\n".join(parts))

    return add_recalled


def _last_question(items: Sequence[TResponseInputItem]) -> str:
    for item in reversed(items):
        fields = _as_mapping(item)
        if fields.get("role") == "user":
            return _item_text(item)
    return ""


def _as_mapping(item: TResponseInputItem) -> Mapping[str, object]:
    given = cast("object", item)
    if not isinstance(given, dict):
        raise UsageError(
            f"An item of a session is an object, not {type(given).__name__}.",
            hint='For example {"role": "user", "content": "Hello"}.',
        )
    return cast("Mapping[str, object]", given)


def _as_input(item: Item) -> TResponseInputItem:
    return cast("TResponseInputItem", dict(item.value))


def _item_text(item: TResponseInputItem) -> str:
    """What an item says, for people and recall."""
    fields = _as_mapping(item)
    content = fields.get("content")
    parts = cast("list[object]", content) if isinstance(content, list) else [content]
    said = [
        cast("Mapping[str, object]", part).get("text") if isinstance(part, dict) else part
        for part in parts
    ]
    text = "\n".join(str(one) for one in said if one)
    if text:
        return text
    others = (fields.get(name) for name in _TEXT_FIELDS if name != "content")
    return "\n".join(text for one in others for text in texts_in(one)) or str(fields.get("type"))
