"""When context nobody asked for is told, and when silence is right."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from tests.app.test_way_outs import CAUSE, shipping, take
from tests.observe.learning_steps import Work
from wellkept.api.hook_context import HookContextProvider
from wellkept.context.prompt_policy import PromptKind, named_files, prompt_kind
from wellkept.core.payloads import E2EObservation, RecipeStep, WorkflowRecipe
from wellkept.core.session.events import Event
from wellkept.core.session.hook_context import HookContextRequest
from wellkept.core.settings.model import Settings

pytestmark = pytest.mark.feature("B9", "D12", "C4")


@pytest.fixture
def repo(tmp_path: Path) -> GitRepository:
    return GitRepository.create(tmp_path / "repo")


@pytest.fixture
def wk(repo: GitRepository) -> wellkept.Wellkept:
    return wellkept.open(cwd=repo.root, settings=Settings(embedding_provider="none"))


def told(wk: wellkept.Wellkept, prompt: str, *, session: str = "session-009") -> str:
    request = HookContextRequest(
        client="claude-code", session=session, moment="prompt", cwd=str(wk.root), query=prompt
    )
    return HookContextProvider(lambda _: wk)(request, frozenset()).text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("6", PromptKind.SHORT),
        ("commit this", PromptKind.SHORT),
        ("да, давай", PromptKind.SHORT),
        ("why is the build red", PromptKind.PLAIN),
        ("<task-notification>done</task-notification>", PromptKind.NOTICE),
        ("[Request interrupted by user]", PromptKind.NOTICE),
        ('<teammate-message teammate_id="lead">Fix it', PromptKind.BRIEF),
    ],
)
def test_the_kind_of_a_prompt(text: str, kind: PromptKind) -> None:
    assert prompt_kind(text) is kind


def test_files_that_a_brief_names() -> None:
    text = "Edit /home/dev/app/src/a.ts, src/[id]/(x)/page.tsx:12 and /etc/passwd.txt; see ../up.py"
    assert named_files(text, cwd="/home/dev/app") == ("src/a.ts", "src/[id]/(x)/page.tsx")
    assert named_files("a/" * 5_000, cwd=None) == ()


def at_work(path: str, *, name: str) -> list[Event]:
    w = Work(9, name=name)
    return [w.prompt("Rewrite this part of the shop"), w.change(path)]


def test_before_a_commit_files_of_another_session_are_named(
    wk: wellkept.Wellkept, repo: GitRepository
) -> None:
    repo.commit("first", mine="1", theirs="1")
    take(wk, at_work("theirs.txt", name="other"))
    take(wk, at_work("mine.txt", name="session"))
    repo.write("mine.txt", "2")
    repo.write("theirs.txt", "2")
    text = told(wk, "commit")
    assert "Edited in this session: mine.txt." in text
    assert "not yours: theirs.txt" in text
    assert told(wk, "yeah") == ""
    repo.git("commit", "-qm", "theirs", "theirs.txt")
    assert told(wk, "commit") == ""


def test_a_trivial_task_gets_no_recipe_and_no_end_to_end_observation(
    wk: wellkept.Wellkept,
) -> None:
    step = RecipeStep("Change the colour of the button in theme.css")
    wk.remember(
        "Change the colour of a button in the shop",
        type="workflow_recipe",
        payload=WorkflowRecipe("colour of a button", (step,)),
        source="user_taught",
    )
    wk.remember(
        "The button of the shop needs a second click in the browser",
        type="e2e_observation",
        payload=E2EObservation("ui_behavior"),
        source="user_taught",
    )
    query = "Change the colour of the shop button, then check it in the browser"
    kinds = {item.memory.type.value for item in wk.context(query, moment="plan").items}
    assert kinds >= {"workflow_recipe", "e2e_observation"}
    assert not wk.context(query, moment="plan", complexity="trivial").items
    with pytest.raises(wellkept.WellkeptError, match="complexity"):
        wk.context(query, complexity="huge")  # pyright: ignore[reportArgumentType]


def test_a_way_out_is_told_at_a_failure_once_in_a_session(wk: wellkept.Wellkept) -> None:
    for number in (1, 2, 3):
        take(wk, shipping(number))
    provider = HookContextProvider(lambda _: wk)
    failure = HookContextRequest(
        client="claude-code",
        session="session-009",
        moment="failure",
        cwd=str(wk.root),
        query="make ship",
        output=CAUSE,
    )
    first = provider(failure, frozenset())
    assert "SHIP_REGION=eu-west" in first.text
    assert provider(failure, frozenset(first.ids)).text == ""


REPORT = (
    "Invoices are rounded per line in `src/rounding.py`, half to even, and the totals of the ledger"
    " are summed from the rounded lines. Refunds take the same way through the rounding."
)


def rounding(*, name: str) -> list[Event]:
    w = Work(12, name=name)
    return [
        w.prompt("Invoices of the ledger are off by a cent, please mend the rounding"),
        w.change("src/rounding.py"),
        w.turn_end(REPORT),
        w.end(),
    ]


GO_ON = "The rounding of invoices: the ledger is off by a cent when a refund takes half a line"


def test_the_first_prompt_is_told_the_earlier_work_that_it_is_about(
    wk: wellkept.Wellkept, repo: GitRepository
) -> None:
    repo.write("src/rounding.py", "1")
    take(wk, rounding(name="money"))
    for number in range(1, 5):
        take(wk, at_work(f"page{number}.txt", name=f"pages{number}"))
    text = told(wk, GO_ON, session="new")
    assert "Earlier work (" in text
    assert "half to even" in text
    assert "half to even" not in told(wk, "The header of the shop looks odd on phones", session="n")
    # Nor what the session was told at its start, or in the middle of other work.
    request = HookContextRequest(
        client="claude-code", session="new", moment="prompt", cwd=str(wk.root), query=GO_ON
    )
    shown = frozenset(wk.context(session="new", days=3_650).ids)
    assert "half to even" not in HookContextProvider(lambda _: wk)(request, shown).text
    w = Work(13, name="new")
    take(wk, [w.prompt("Look at the header first"), w.prompt("And at the footer")])
    assert "half to even" not in told(wk, GO_ON, session="new-013")
