"""Facts about a running application, from what browser and desktop tools say."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.observe.telling import Teller, world
from wellkept.core.changes import Delete
from wellkept.core.memory import Memory
from wellkept.core.payloads import E2EObservation
from wellkept.core.query import Filter
from wellkept.core.session.events import ToolCalled, ToolKind
from wellkept.core.session.scratchpad import SignalKind
from wellkept.core.types import MemoryType, Source
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.ingest import EventIngester
from wellkept_plugins.browser.facts import learn_browser_facts
from wellkept_plugins.browser.page_files import files_of_page
from wellkept_plugins.browser.rules import BrowserFact, facts
from wellkept_plugins.browser.steps import BrowserState, BrowserStep, read_step

pytestmark = pytest.mark.feature("D8")


def use(
    say: Teller, name: str, output: str = "ok", *, error: str | None = None, **given: str
) -> ToolCalled:
    return say.call(name, ToolKind.MCP, input=json.dumps(given), output=output, error=error)


def step_of(call: ToolCalled) -> BrowserStep:
    read = read_step(call)
    assert read is not None
    return read[0]


def told(*calls: ToolCalled) -> list[BrowserFact]:
    """The facts of calls in a row."""
    steps: list[BrowserStep] = []
    screen = BrowserState()
    found: list[BrowserFact] = []
    for call in calls:
        read = read_step(call, screen)
        assert read is not None
        step, screen = read
        found += facts(steps, step)
        steps.append(step)
    return found


@pytest.mark.parametrize(
    "name",
    [
        "mcp__playwright__browser_click",
        "mcp__puppeteer__puppeteer_click",
        "mcp__chrome-devtools__click",
        "mcp__electron__click_by_text",
        "mcp_electron_click_by_text",
        "MCP:browser_click",
        "click_by_text",
    ],
)
def test_tools_of_browsers_and_desktops_are_known_by_name(name: str) -> None:
    step = step_of(use(Teller(), name, text="Save"))
    assert step.kind == "act"
    assert step.target == "`Save`"


@pytest.mark.parametrize(
    "name",
    ["mcp__github__create_issue", "mcp__wellkept__search", "Read", "mcp__db__select", "click"],
)
def test_other_tools_are_left_alone(name: str) -> None:
    assert read_step(use(Teller(), name, text="Save")) is None


@pytest.mark.parametrize(
    "given",
    [
        {"element": "Password", "text": "tiger-lily"},
        {"target": "e3", "text": "tiger-lily"},
        {"text": "tiger-lily"},
        {"uid": "1_2", "value": "tiger-lily"},
        {"key": "tiger-lily"},
        {"fields": [{"name": "Password", "value": "tiger-lily"}]},
    ],
)
@pytest.mark.parametrize("verb", ["type", "type_text", "fill", "fill_form", "press_key"])
@pytest.mark.parametrize("failed", [True, False])
def test_what_is_typed_is_never_kept(verb: str, given: dict[str, object], failed: bool) -> None:
    echo = 'Call log:\n - fill("tiger-lily")\nPlease enable tiger-lily in the settings'
    call = Teller().call(
        f"mcp__playwright__browser_{verb}",
        ToolKind.MCP,
        input=json.dumps(given),
        output="" if failed else echo,
        error=echo if failed else None,
    )
    assert "tiger-lily" not in repr(read_step(call))


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("Error: Please enable sync in the settings", "Please enable sync in the settings"),
        ("Error: the panel requires a running backend", "requires a running backend"),
        ("Login required", "Login required"),
    ],
)
def test_what_must_hold_first_is_a_precondition(output: str, content: str) -> None:
    (fact,) = told(use(Teller(), "mcp__electron__click_by_text", output, text="Memory"))
    assert fact.kind == "precondition"
    assert content in fact.content


def test_being_sent_to_the_login_is_a_precondition() -> None:
    (fact,) = told(
        use(
            Teller(),
            "mcp__playwright__browser_navigate",
            "- Page URL: http://localhost:3000/login?next=/settings\n- Page Title: Sign in",
            url="http://localhost:3000/settings",
        )
    )
    assert fact.kind == "precondition"
    assert fact.content == "Opening /settings leads to /login: it needs a login first."


def test_what_works_only_after_a_while_is_timing() -> None:
    say = Teller()
    *_, fact = told(
        use(say, "mcp__playwright__browser_click", element="Open dialog"),
        use(
            say,
            "mcp__playwright__browser_click",
            error="TimeoutError: locator.click: Timeout 5000ms exceeded, element is not enabled",
            element="Confirm",
        ),
        use(say, "mcp__playwright__browser_wait_for", time="2"),
        use(say, "mcp__playwright__browser_click", element="Confirm"),
    )
    assert fact.kind == "timing"
    assert (
        fact.content
        == "Click `Confirm` takes a moment to work after click `Open dialog`: wait for it."
    )


def test_a_failure_below_a_heading_is_one_and_a_page_that_speaks_of_errors_is_none() -> None:
    error = "### Result\nError: Timeout 5000ms exceeded."
    failed = step_of(use(Teller(), "mcp__playwright__browser_click", error))
    page = "### Page\n- Page URL: http://x/help\n### Snapshot\n- heading: Error codes"
    shown = step_of(use(Teller(), "mcp__playwright__browser_snapshot", page))
    assert (failed.ok, shown.ok) == (False, True)


def test_a_time_out_that_never_ends_says_nothing() -> None:
    error = "TimeoutError: Timeout 5000ms exceeded waiting for locator"
    assert (
        told(use(Teller(), "mcp__playwright__browser_click", error=error, element="Nowhere")) == []
    )


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("Error: element is disabled", "Click `Delete`: the element is disabled"),
        (
            '### Modal state\n- ["confirm" dialog with message "Delete all data?"]',
            'opens a dialog: "Delete all data?"',
        ),
    ],
)
def test_how_a_part_of_the_screen_behaves_is_ui_behaviour(output: str, content: str) -> None:
    (fact,) = told(use(Teller(), "mcp__playwright__browser_click", output, element="Delete"))
    assert fact.kind == "ui_behavior"
    assert content in fact.content


def test_a_quirk_of_the_tool_is_a_gotcha_of_the_tool() -> None:
    (fact,) = told(
        use(
            Teller(),
            "mcp__playwright__browser_click",
            error="Error: strict mode violation: getByText('Save') resolved to 2 elements",
            element="Save",
        )
    )
    assert fact.kind == "mcp_gotcha"
    assert fact.content == "`Save` fits several elements: name one of them more exactly."


def test_the_steps_to_a_place_are_a_test_sequence_without_what_was_typed() -> None:
    say = Teller()
    (fact,) = told(
        use(say, "mcp__playwright__browser_navigate", url="http://localhost:3000/"),
        use(say, "mcp__playwright__browser_click", element="Projects"),
        use(say, "mcp__playwright__browser_type", element="Name", text="Secret name"),
        use(say, "mcp__playwright__browser_click", element="Create"),
        use(say, "mcp__playwright__browser_snapshot", "Page Title: New project"),
    )
    assert fact.kind == "test_sequence"
    assert fact.content == (
        'To get to "New project": open /, then click `Projects`, then type `Name`,'
        " then click `Create`."
    )


def test_routine_steps_say_nothing() -> None:
    say = Teller()
    assert (
        told(
            use(say, "mcp__playwright__browser_navigate", "Page Title: Shop", url="http://x/"),
            use(say, "mcp__playwright__browser_snapshot", '- button "Log in" [disabled]'),
            use(say, "mcp__playwright__browser_take_screenshot", "Saved to shot-1.png"),
            use(
                say,
                "mcp__playwright__browser_click",
                '- link "Settings"\n- text: Loading…',
                element="Settings",
            ),
        )
        == []
    )


@settings(max_examples=60)
@given(st.text(max_size=200), st.text(max_size=60), st.text(max_size=60))
def test_no_answer_breaks_the_rules(output: str, target: str, typed: str) -> None:
    say = Teller()
    calls = [
        use(say, "mcp__playwright__browser_navigate", output, url=target),
        use(say, "mcp__playwright__browser_click", output, element=target),
        say.call("mcp__playwright__browser_click", ToolKind.MCP, input=typed, output=output),
    ]
    for fact in told(*calls):
        assert fact.content.endswith(".")


# -- From sightings to memories -------------------------------------------------------------------

DISABLED = "Error: element is disabled"


def session(engine: Engine, name: str, *outputs: str) -> None:
    """A session in which Delete was clicked, each call taken in by itself as hooks do."""
    say = Teller(name)
    taker = EventIngester(engine, world())
    taker.commit([say.start()], [])
    for output in outputs:
        call = use(say, "mcp__playwright__browser_click", output, element="Delete")
        taker.commit([call], [])
        taker.commit([call], [])
    project = engine.store.sessions(project=None)[0].project
    learn_browser_facts(engine, project=project, session_id=name)


def observed(engine: Engine) -> list[Memory]:
    where = Filter(project=None, types=(MemoryType.E2E_OBSERVATION,))
    return list(engine.store.iterate(where))


def test_a_first_sighting_is_kept_for_review_and_a_second_confirms_it(engine: Engine) -> None:
    session(engine, "one", DISABLED, DISABLED)
    (first,) = observed(engine)
    assert first.confidence == 0.75
    assert first.needs_review
    assert first.source is Source.MCP_AUTO
    assert isinstance(first.payload, E2EObservation)
    assert first.payload.observation_type == "ui_behavior"
    session(engine, "two", DISABLED)
    (again,) = observed(engine)
    assert again.id == first.id
    assert again.confidence == 0.9
    assert set(again.provenance_sessions) == {"one", "two"}
    assert engine.store.explanations([first.id])[first.id].sessions == ("one", "two")


def test_a_contradiction_costs_a_fifth_once_for_each_session(engine: Engine) -> None:
    session(engine, "one", DISABLED)
    session(engine, "two", "Clicked")
    (memory,) = observed(engine)
    assert memory.confidence == pytest.approx(0.55)
    learn_browser_facts(engine, project=memory.project, session_id="two")
    assert observed(engine)[0].confidence == pytest.approx(0.55)


def test_learning_twice_from_a_session_changes_nothing(engine: Engine) -> None:
    session(engine, "one", DISABLED)
    before = observed(engine)
    learn_browser_facts(engine, project=before[0].project, session_id="one")
    assert observed(engine) == before


def test_what_somebody_removed_is_kept_again_only_after_twice_the_sessions(engine: Engine) -> None:
    session(engine, "one", DISABLED)
    session(engine, "two", DISABLED)
    (memory,) = observed(engine)
    engine.store.apply([Delete(memory.id)])
    session(engine, "three", DISABLED)
    assert observed(engine) == []
    session(engine, "four", DISABLED)
    assert len(observed(engine)) == 1


def test_another_project_is_not_told(engine: Engine) -> None:
    session(engine, "one", DISABLED)
    assert learn_browser_facts(engine, project="name:elsewhere", session_id="one") == []
    seen = engine.store.signals(project="name:elsewhere", kinds=(SignalKind.E2E,))
    assert seen == []


def test_what_works_later_in_the_session_is_not_out_of_use(engine: Engine) -> None:
    session(engine, "one", DISABLED)
    assert len(observed(engine)) == 1
    session(engine, "one", DISABLED, "Clicked")
    (timing,) = [memory for memory in observed(engine) if memory.is_open]
    assert isinstance(timing.payload, E2EObservation)
    assert timing.payload.observation_type == "timing"
    session(engine, "two", DISABLED)
    assert len([memory for memory in observed(engine) if memory.is_open]) == 2


def test_another_action_in_between_is_a_precondition_and_waiting_is_not() -> None:
    say = Teller()
    click = "mcp__playwright__browser_click"
    *_, fact = told(
        use(say, click, DISABLED, element="Save"),
        use(say, click, "Clicked", element="I agree"),
        use(say, click, "Clicked", element="Save"),
    )
    assert fact.kind == "precondition"
    assert fact.content == "Before click `Save` works: click `I agree`."


def test_a_site_elsewhere_is_told_with_its_name() -> None:
    (fact,) = told(
        use(
            Teller(),
            "mcp__playwright__browser_navigate",
            "- Page URL: https://shop.example.org/login",
            url="https://shop.example.org/orders/17?token=abc",
        )
    )
    assert fact.content == (
        "Opening shop.example.org/orders/N leads to shop.example.org/login: it needs a login first."
    )
    assert files_of_page(fact.page, (), ["app/orders/page.tsx"]) == ()


# -- Pages and files ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "known", "expected"),
    [
        ("/settings", ["app/settings/page.tsx", "src/settings.py"], ["app/settings/page.tsx"]),
        ("/settings", ["src/pages/Settings.vue"], ["src/pages/Settings.vue"]),
        ("/settings", ["src/components/SettingsPanel.tsx"], ["src/components/SettingsPanel.tsx"]),
        ("/orders/new", ["app/routes/orders.new.tsx"], ["app/routes/orders.new.tsx"]),
        (
            "/orders/N",
            ["src/routes/orders/[id]/+page.svelte"],
            ["src/routes/orders/[id]/+page.svelte"],
        ),
        ("/orders/N", ["app/(shop)/orders/[id]/page.tsx"], ["app/(shop)/orders/[id]/page.tsx"]),
        ("/orders/new", ["app/views/orders/new.html.erb"], ["app/views/orders/new.html.erb"]),
        ("/orders/new", ["shop/templates/orders/new.html"], ["shop/templates/orders/new.html"]),
        ("/", ["app/page.tsx", "app/orders/page.tsx"], ["app/page.tsx"]),
        ("/settings", ["src/pages/settings.test.tsx", "tests/pages/settings.tsx"], []),
        ("/edit", ["a/Edit.tsx", "b/Edit.tsx", "c/Edit.tsx"], []),
        ("", ["app/page.tsx"], []),
    ],
)
def test_a_page_is_tied_to_the_file_it_comes_from(
    page: str, known: list[str], expected: list[str]
) -> None:
    assert list(files_of_page(page, (), known)) == expected


def test_files_that_a_tool_names_count_only_when_they_are_there() -> None:
    known = ["web/src/Settings.tsx", "a/x.ts", "b/x.ts"]
    named = ["src/Settings.tsx", "src/auth/keys.ts", "x.ts"]
    assert files_of_page("", named, known) == ("web/src/Settings.tsx",)
