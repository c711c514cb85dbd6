"""Chat as server-sent events: what memory knows, then the answer piece by piece.

`notes` has the memories that were found, `text` a piece of the answer, `done` the whole answer with
what it cites. Without a model the answer is one piece, word for word from memory.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Annotated

from wellkept.api.http.endpoints import EVENTS, Asked, endpoint, event, streamed
from wellkept.api.server.http_errors import problem_of
from wellkept.api.views import chat as views
from wellkept.core.errors import WellkeptError
from wellkept.core.team.people import Role
from wellkept.core.verbs import Arg

if TYPE_CHECKING:
    from starlette.responses import StreamingResponse

    from wellkept.api import Wellkept
    from wellkept.core.ports.models import AgentModel


@endpoint(
    "POST",
    "/chat",
    role=Role.READER,
    gives=views.ChatAnswer,
    media=EVENTS,
    told="Server-sent events: `notes` (a list of citations), `text` (`text` is a piece of the"
    " answer), and `done` with the object below, or `problem`.",
)
async def chat(
    asked: Asked, question: Annotated[str, Arg("What to answer.", 1, 4_000)]
) -> StreamingResponse:
    """Answer a question from memory: word for word, or by the agent's model if one is set."""

    def look(
        wk: Wellkept,
    ) -> tuple[list[views.Citation], AgentModel | None, views.ChatAnswer | None]:
        model = views.chat_model(wk)
        if model is None:
            answer = views.ask(wk, question)
            return list(answer.citations), None, answer
        return views.notes(wk, question), model, None

    found, model, answer = await asked.server.workers.run(asked.project, look)
    return streamed(_events(question, found, model, answer))


async def _events(
    question: str,
    found: list[views.Citation],
    model: AgentModel | None,
    answer: views.ChatAnswer | None,
) -> AsyncGenerator[bytes]:
    yield event("notes", found)
    pieces: list[str] = []
    try:
        if model is None or answer is not None:
            assert answer is not None
            yield event("text", {"text": answer.answer})
        else:
            async for piece in views.streamed_answer(model, question, found):
                pieces.append(piece)
                yield event("text", {"text": piece})
            said = "".join(pieces)
            answer = views.ChatAnswer(
                question=question,
                answer=said,
                citations=views.cited(said, found),
                model=model.info.name,
                known=bool(found),
            )
    except WellkeptError as error:
        yield event("problem", problem_of(error))
        return
    yield event("done", answer)
