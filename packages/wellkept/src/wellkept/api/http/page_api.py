"""Routes that only the page asks: a project at a glance, the next session, the settings view.

No verbs: nobody types them and no model is shown them. Each calls one method of the library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from wellkept.api.http.endpoints import endpoint
from wellkept.api.views.client_setup import ClientAction, ClientScope
from wellkept.api.views.storage import PRUNE_BELOW, PRUNE_UNUSED_DAYS, StorageView
from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.team.people import Role
from wellkept.core.verbs import Arg

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.api.views.chat import ChatAnswer
    from wellkept.api.views.client_setup import ClientChange, ClientState
    from wellkept.api.views.health import HealthView
    from wellkept.context.bulk import Edited
    from wellkept.context.preview import ContextPreview, JudgedSilence, Replayed

_READ = "GET POST"
_MAX_CHARS = 20_000
DryRunArg = Annotated[bool, Arg("Only say what would happen.")]


@record
class ReplayedPrompts:
    """The latest prompts, and what each would be given now."""

    items: tuple[Replayed, ...]


@record
class MutedLine:
    """A line, and whether it is no longer given."""

    id: str
    muted: bool


@record
class ClientStates:
    """Every client in both scopes. Empty where this process knows none."""

    items: tuple[ClientState, ...]


@endpoint(_READ, "/memory_health", role=Role.READER)
def memory_health(
    wk: Wellkept,
    *,
    days: Annotated[int, Arg("Of the series.", 1, 366)] = 30,
    recent: Annotated[int, Arg("Sessions and observations.", 0, 50)] = 8,
    offset_minutes: Annotated[int, Arg("Where days begin: minutes east of UTC.", -1440, 1440)] = 0,
) -> HealthView:
    """Whether this project's memory is alive, trusted and of use: totals, score with its parts,
    tokens saved, module coverage, growth and use by day. Null is what nobody measured."""
    return wk.health(days=days, recent=recent, offset_minutes=offset_minutes)


@endpoint(_READ, "/ask", role=Role.READER)
def ask(wk: Wellkept, question: Annotated[str, Arg("A question.", 1, 4_000)]) -> ChatAnswer:
    """An answer to a question, word for word from memory, with citations."""
    return wk.ask(question)


# -- The next session -----------------------------------------------------------------------------


@endpoint(_READ, "/next_session", role=Role.READER)
def next_session(
    wk: Wellkept,
    *,
    moment: Annotated[
        Literal["session", "prompt", "file", "failure", "plan"], Arg("What an agent would do.")
    ] = "session",
    text: Annotated[str, Arg("A prompt, command or plan.", 0, _MAX_CHARS)] = "",
    files: Annotated[list[str], Arg("Files at hand.", 0, 20)] = [],  # noqa: B006
    output: Annotated[str, Arg("What the command printed.", 0, _MAX_CHARS)] = "",
    client: Annotated[str, Arg("Leaves out what this client loads itself.")] = "",
    budget_tokens: Annotated[int | None, Arg("Token budget.", 0, 4_000)] = None,
) -> ContextPreview:
    """The pack that a hook would give at a moment now, by section, and what was left out. Nothing
    is logged or counted."""
    return wk.preview(
        text, moment=moment, files=files, output=output, client=client, budget_tokens=budget_tokens
    )


@endpoint(_READ, "/replay_prompts", role=Role.READER)
def replay_prompts(
    wk: Wellkept, *, limit: Annotated[int, Arg("How many prompts.", 1, 40)] = 12
) -> ReplayedPrompts:
    """The latest prompts, and what each would be given now."""
    return ReplayedPrompts(wk.replay_prompts(limit=limit))


@endpoint("POST", "/judge_silence", role=Role.REVIEWER)
def judge_silence(
    wk: Wellkept,
    prompt: Annotated[str, Arg("The prompt that was met with silence.", 1, _MAX_CHARS)],
    *,
    should_give: Annotated[str, Arg("The memory that should have been given.")] = "",
    probability: Annotated[float | None, Arg("Of the nearest.", 0, 1)] = None,
) -> JudgedSilence:
    """Keep a person's word about a prompt that was met with silence, as an example."""
    return wk.judge_silence(prompt, should_give=should_give or None, probability=probability)


@endpoint("POST", "/mute_line", role=Role.REVIEWER)
def mute_line(
    wk: Wellkept,
    id: Annotated[str, Arg("A memory or a line.", 1)],
    *,
    muted: Annotated[bool, Arg("False gives it again.")] = True,
) -> MutedLine:
    """No longer give a line unasked, or give it again."""
    return MutedLine(wk.mute(id, muted=muted), muted)


# -- The settings view ----------------------------------------------------------------------------


@endpoint(_READ, "/storage", role=Role.ADMIN, on_files=True)
def storage(wk: Wellkept) -> StorageView:
    """Files, counts, and what a prune would take."""
    return wk.storage()


@endpoint("POST", "/prune_unsure", role=Role.ADMIN)
def prune_unsure(
    wk: Wellkept,
    *,
    below: Annotated[float, Arg("Confidence below this.", 0, 1)] = PRUNE_BELOW,
    unused_days: Annotated[int, Arg("Not used for so long.", 0, 3650)] = PRUNE_UNUSED_DAYS,
    dry_run: DryRunArg = True,
) -> Edited:
    """Delete memories of little confidence that nobody used, with undo."""
    return wk.prune_unsure(below=below, unused_days=unused_days, dry_run=dry_run)


@endpoint("POST", "/remove_stale", role=Role.ADMIN)
def remove_stale(wk: Wellkept, *, dry_run: DryRunArg = True) -> Edited:
    """Delete the memories of deleted files, with undo."""
    return wk.remove_stale(dry_run=dry_run)


@endpoint(_READ, "/client_states", role=Role.READER, on_files=True)
def client_states(wk: Wellkept) -> ClientStates:
    """Whether Wellkept is installed in each coding client."""
    setup = wk.services.client_setup
    return ClientStates(setup.states() if setup is not None else ())


@endpoint("POST", "/change_client", role=Role.ADMIN, on_files=True)
def change_client(
    wk: Wellkept,
    client: Annotated[str, Arg("The client.", 1)],
    *,
    scope: Annotated[ClientScope, Arg("Whose settings.")] = "user",
    action: Annotated[ClientAction, Arg("What to do.")] = "install",
    dry_run: DryRunArg = True,
) -> ClientChange:
    """Install Wellkept in a client or remove it; the diff first."""
    setup = wk.services.client_setup
    if setup is None:
        raise UsageError("Clients cannot be changed from here.", hint="Run `wellkept install`.")
    return setup.change(client, scope=scope, action=action, dry_run=dry_run)
