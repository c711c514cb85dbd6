"""`wellkept recall --answer`."""

from __future__ import annotations

import asyncio

import click

from wellkept.api.cli import exit_codes, options, output


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="QUESTION...")
@click.option("--no-model", is_flag=True, help="Word for word from memory, also with a model.")
@options.project_option
@options.json_option
def ask(*, words: tuple[str, ...], no_model: bool, project: str | None, as_json: bool) -> int:
    """Answer a question from memory, with citations.

    The agent's model words the answer if one is set. Exits with 1 when nothing is known, like
    recall.
    """
    from wellkept.api.views.chat import chat_model, notes, streamed_answer

    with options.open_wellkept(project, reads=True) as wk:
        question = output.read_input(words, what="question")
        model = None if no_model or as_json else chat_model(wk)
        if model is None:
            answer = wk.ask(question)
            if as_json:
                output.print_json(answer)
            else:
                click.echo(output.safe(answer.answer))
            return exit_codes.OK if answer.known else exit_codes.NOTHING
        found = notes(wk, question)

        async def stream() -> None:
            async for piece in streamed_answer(model, question, found):
                click.echo(output.safe(piece), nl=False)
            click.echo()

        asyncio.run(stream())
    return exit_codes.OK if found else exit_codes.NOTHING
