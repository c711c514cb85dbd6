"""From a client's event to the bytes that are printed: the same in the hook and in a live process.

payload -> event -> question -> what was said before -> context -> note what is said now -> the
client's own form. Where the context comes from is given as a function; this module knows nothing
of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from wellkept.clients.answers.context_request import HookContextRequest, question_of
from wellkept.clients.answers.render import render, takes_context
from wellkept.clients.answers.shown_items import ShownItems
from wellkept.clients.registry import translate
from wellkept.core.clock import Clock, system_clock
from wellkept.core.records import record


@record
class RenderedContext:
    """A text worth saying, and the ids of what it says."""

    text: str = ""
    ids: tuple[str, ...] = ()


ContextOf: TypeAlias = Callable[[HookContextRequest, frozenset[str]], RenderedContext]
"""What is worth saying to a question, without the ids that were said before."""


class HookResponder:
    """Answers events; can be given to an `AnswerServer` as it is."""

    def __init__(
        self, context_of: ContextOf, *, shown: ShownItems, clock: Clock = system_clock
    ) -> None:
        self._context_of = context_of
        self._shown = shown
        self._clock = clock

    def __call__(self, client: str, event: str, payload: bytes) -> bytes:
        """What the hook prints for an event; empty when there is nothing to say."""
        if not takes_context(client, event):
            return b""
        translated = translate(client, event, payload, event_id="", at=self._clock())
        asked = next(filter(None, map(question_of, translated)), None)
        return b"" if asked is None else self._answered(asked, event)

    def _answered(self, question: HookContextRequest, event: str) -> bytes:
        client, session = question.client, question.session
        if question.fresh:
            self._shown.forget(client, session)
        said = self._context_of(question, self._shown.ids(client, session))
        answer = render(client, event, said.text)
        if answer:
            self._shown.add(client, session, said.ids)
        return answer
