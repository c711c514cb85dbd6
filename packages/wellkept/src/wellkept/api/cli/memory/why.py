"""`wellkept why`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import MEMORY
from wellkept.core.errors import ConflictError, NotFoundError, UsageError

if TYPE_CHECKING:
    import wellkept
    from wellkept.api.views.injected_line import LineReason
    from wellkept.context.injection_log import MemoryUse
    from wellkept.core.memory import Memory
    from wellkept.core.session.scratchpad import Explanation
    from wellkept.observe.observer.api import MemoryReason


class _PastedText(click.Command):
    """A command whose text may begin with the dash of a list."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [one.removeprefix("- ") for one in args])


@click.command(cls=_PastedText)
@click.argument("words", metavar="ID|TEXT", nargs=-1, required=True, type=MEMORY)
@options.project_option
@options.json_option
def why(*, words: tuple[str, ...], project: str | None, as_json: bool) -> None:
    """Show where a memory or a line that an agent was given comes from, and whether it was of use.

    Sessions, signals, rule and score; when and where agents were given it, how often it was used or
    ignored or did harm, and the tokens it saved. Give an id (a full or short one, its beginning, a
    key, the id of a line), or paste the line or a part of it.
    """
    text = " ".join(words)
    with options.open_wellkept(project, reads=True) as wk:
        memory, line = _find(wk, text)
        reason = wk.observer.why(memory) if memory else None
        use = wk.injected.use_of(memory) if memory else None
    if as_json:
        output.print_json(
            {
                "memory": memory,
                "explanation": reason.explanation if reason else None,
                "use": use,
                "line": line,
            }
        )
    elif reason is not None and use is not None:
        _print_reason(reason)
        _print_facts(use_facts(use))
    elif line is not None:
        _print_line(line)


def _find(wk: wellkept.Wellkept, text: str) -> tuple[Memory | None, LineReason | None]:
    """The memory, or the line when it comes from no memory."""
    from wellkept.api.views.injected_line import cited_memory, find_line

    try:
        return wk.get(cited_memory(text) or text), None
    except (NotFoundError, UsageError):
        line = find_line(wk.engine.store, wk.project, text)
    except ConflictError:
        if " " not in text.strip():
            raise
        line = find_line(wk.engine.store, wk.project, text)
    if line.line.memory_id is None:
        return None, line
    try:
        return wk.get(line.line.memory_id), line
    except NotFoundError:
        return None, line


def _print_reason(reason: MemoryReason) -> None:
    memory, explanation = reason.memory, reason.explanation
    click.echo(f"{click.style('m:' + memory.short, fg='cyan', bold=True)} {memory.type.value}")
    click.echo(output.indented(memory.content, by=2))
    facts = [("whose words", memory.told_by), ("source", memory.source.value)]
    if explanation is not None:
        facts += [
            ("rule", explanation.rule),
            ("validated by", explanation.validated_by),
            ("score", _score(explanation)),
            ("sessions", ", ".join(explanation.sessions)),
            *(("signal", signal) for signal in explanation.signals),
        ]
    # List each session once.
    listed = set(explanation.sessions) if explanation is not None else set[str]()
    facts += [
        ("evidence", f"{item.kind.value} {item.ref}{f': {item.note}' if item.note else ''}")
        for item in memory.evidence
        if item.ref not in listed
    ]
    _print_facts(facts)
    if explanation is None and not memory.evidence:
        output.note("No further provenance is recorded.")


def _print_line(found: LineReason) -> None:
    from wellkept.context.injection_log import use_text

    line = found.line
    click.echo(f"{click.style(line.line_id, fg='cyan', bold=True)} {line.kind}")
    click.echo(output.indented(line.text or "(text deleted)", by=2))
    facts = [("reason", line.reason), ("given", use_text(found.use))]
    for one in found.latest:
        trigger = f", because of {one.trigger}" if one.trigger else ""
        facts.append(
            (
                "given",
                f"{one.at:%Y-%m-%d %H:%M} at {one.moment}, session {one.session_id[:12]}"
                f" of {one.client}{trigger}",
            )
        )
    if found.silent is not None:
        facts.append(("silent", f"since {found.silent.at:%Y-%m-%d}: {found.silent.reason}"))
    _print_facts(facts)
    output.note("This line was put together from sessions, code or skills; no memory holds it.")


def _print_facts(facts: list[tuple[str, str]]) -> None:
    for name, value in facts:
        if value:
            click.echo(f"  {click.style(name, dim=True)}: {output.one_line(value)}")


def use_facts(known: MemoryUse) -> list[tuple[str, str]]:
    """Where a memory was learned, and whether it was ever of use."""
    from wellkept.context.injection_log import HOW_SAVED_IS_COUNTED, session_text, use_text

    facts = [("from", session_text(one)) for one in known.sessions]
    facts.append(("given", use_text(known.use)))
    if known.use is not None:
        facts.append(("tokens saved", f"{known.use.saved_tokens:,}. {HOW_SAVED_IS_COUNTED}"))
    facts += [("given", one) for one in known.latest_texts]
    if known.suspect is not None:
        facts.append(("cut or left out", f"it reads as an instruction: {known.suspect}"))
    if known.silent is not None:
        facts.append(("silent", f"since {known.silent.at:%Y-%m-%d}: {known.silent.reason}"))
    return facts


def _score(explanation: Explanation) -> str:
    if not explanation.is_weighed:
        return f"{explanation.score:.2f}" if explanation.score else ""
    return (
        f"{explanation.score:.2f} (threshold {explanation.threshold:.2f})"
        f" = 0.4 x frequency {explanation.frequency:.2f} + 0.3 x recency {explanation.recency:.2f}"
        f" + 0.3 x novelty {explanation.novelty:.2f}"
    )
