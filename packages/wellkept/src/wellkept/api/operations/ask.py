"""The operation behind chat: an answer word for word from memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from wellkept.api.operations.inputs import Input
from wellkept.api.operations.record_models import output_model
from wellkept.api.views.chat import ChatAnswer
from wellkept.core.session.injected_text import quoted

if TYPE_CHECKING:
    from wellkept.api import Wellkept


class AskInput(Input):
    """A question for memory."""

    question: str = Field(min_length=1, max_length=4_000)


class AskOutput(output_model(ChatAnswer)):
    """An answer and the memories it rests on."""


def ask(wk: Wellkept, request: AskInput) -> AskOutput:
    """Answer word for word from memory."""
    found = wk.ask(request.question)
    return AskOutput.of(found, text="\n".join(map(quoted, found.answer.splitlines())))
