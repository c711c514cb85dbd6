"""Chat as server-sent events: what memory knows, then the answer piece by piece.

`notes` has the memories that were found, `text` a piece of the answer, `done` the whole answer with
what it cites. Without a model the answer is one piece, word for word from memory.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Body
from fastapi.responses import StreamingResponse

from wellkept.api.http.operation_routes import ProjectHeader
from wellkept.api.operations.ask import AskInput, AskOutput
from wellkept.api.operations.inputs import Model
from wellkept.api.server.http_errors import problem_of
from wellkept.api.server.record_models import view_model
from wellkept.api.server.threads import WorkerThreads
from wellkept.api.views.chat import ChatAnswer, Citation, ask, chat_model, notes, streamed_answer
from wellkept.api.views.chat import cited as cited_notes
from wellkept.core.errors import WellkeptError

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.core.ports.agent_model import AgentModel


class _Text(Model):
    text: str


def add_chat(
    router: APIRouter,
    workers: WorkerThreads,
    *,
    model_of: Callable[[Any], AgentModel | None] = chat_model,
) -> None:
    """Add the route. `model_of` finds the model that the settings of a project name."""

    @router.post(
        "/chat",
        operation_id="chat",
        tags=["chat"],
        response_class=StreamingResponse,
        responses={
            200: {
                "model": AskOutput,
                "description": "Server-sent events: `notes` (a list of citations), `text`"
                " (`text` is a piece of the answer), and `done` with the object below, or"
                " `problem`.",
                "content": {"text/event-stream": {}},
            }
        },
    )
    async def chat(
        request: Annotated[AskInput, Body()], in_project: ProjectHeader = ""
    ) -> StreamingResponse:
        """Answer a question from memory: word for word, or by the agent's model if one is set."""
        project = request.project or unquote(in_project)

        def look(wk: Wellkept) -> tuple[list[Citation], AgentModel | None, ChatAnswer | None]:
            model = model_of(wk)
            if model is None:
                answer = ask(wk, request.question)
                return list(answer.citations), None, answer
            return notes(wk, request.question), model, None

        found, model, answer = await workers.run(project, look)
        return StreamingResponse(
            _events(request.question, found, model, answer),
            media_type="text/event-stream",
            headers={"cache-control": "no-store"},
        )


async def _events(
    question: str,
    found: list[Citation],
    model: AgentModel | None,
    answer: ChatAnswer | None,
) -> AsyncGenerator[bytes]:
    shown = [view_model(Citation).model_validate(one).model_dump_json() for one in found]
    yield _event("notes", f"[{','.join(shown)}]")
    pieces: list[str] = []
    try:
        if model is None or answer is not None:
            assert answer is not None
            yield _event("text", _Text(text=answer.answer).model_dump_json())
        else:
            async for piece in streamed_answer(model, question, found):
                pieces.append(piece)
                yield _event("text", _Text(text=piece).model_dump_json())
            said = "".join(pieces)
            answer = ChatAnswer(
                question=question,
                answer=said,
                citations=cited_notes(said, found),
                model=model.info.name,
                known=bool(found),
            )
    except WellkeptError as error:
        yield _event("problem", problem_of(error).model_dump_json())
        return
    yield _event("done", AskOutput.of(answer, text="").model_dump_json())


def _event(kind: str, data: str) -> bytes:
    return f"event: {kind}\ndata: {data}\n\n".encode()
