"""Facts about a running application are tied to the files that put it on the screen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.opening import open_in
from tests.codegraph.trees import write
from tests.observe.telling import START, Teller
from wellkept.core.session.events import ToolKind
from wellkept.observe.ingest.ingest import EventIngester
from wellkept.observe.observer.drain import machine_environment
from wellkept.testing.fakes import ManualClock
from wellkept_plugins.browser.sources import BrowserSources, labels

pytestmark = pytest.mark.feature("D8")

FILES = {
    "src/panels/ExportPanel.tsx": "export const ExportPanel = () => (\n"
    "  <button id='export-all' data-testid=\"export-go\">\n    Export everything\n  </button>\n);\n",
    "src/pages/orders.tsx": "import { ExportPanel } from '../panels/ExportPanel';\n"
    'export default () => <ExportPanel title="Common words" />;\n',
    "src/a.tsx": "export const A = () => <p>Common words</p>;\n",
    "src/b.tsx": "export const B = () => <p>Common words</p>;\n",
    "src/panels/ExportPanel.test.tsx": "test('Export everything', () => {});\n",
    "locales/en.json": '{"export": "Export everything"}\n',
}


@pytest.fixture
def sources(tmp_path: Path) -> BrowserSources:
    write(tmp_path, FILES)
    return BrowserSources(str(tmp_path))


@pytest.mark.parametrize(
    ("about", "files"),
    [
        ("click `Export everything`", ("src/panels/ExportPanel.tsx",)),
        ("click `Export everything button`", ("src/panels/ExportPanel.tsx",)),
        ("click `#export-all`", ("src/panels/ExportPanel.tsx",)),
        ('click `[data-testid="export-go"]`', ("src/panels/ExportPanel.tsx",)),
        ("click `Common words`", ()),
        ("click `OK`", ()),
        ("press `Nowhere to be found`", ()),
        ("", ()),
    ],
)
def test_what_was_acted_on_is_looked_for_in_the_source(
    sources: BrowserSources, about: str, files: tuple[str, ...]
) -> None:
    assert sources.files_of("", about, ()) == files


def test_the_page_and_what_the_tool_named_count_too(sources: BrowserSources) -> None:
    found = sources.files_of("/orders", "click `Export everything`", ())
    assert found == ("src/panels/ExportPanel.tsx", "src/pages/orders.tsx")
    named = sources.files_of("/orders", "click `Export everything`", ("src/a.tsx",))
    assert named == ("src/a.tsx", "src/panels/ExportPanel.tsx")


def test_a_folder_that_is_gone_ties_nothing(tmp_path: Path) -> None:
    for folder in (None, "", "bad\0name", str(tmp_path / "gone")):
        assert BrowserSources(folder).files_of("/orders", "click `Export everything`", ()) == ()


def test_labels_are_told_from_roles_and_selectors() -> None:
    assert labels("fill `the Search orders input`") == ["Search orders"]
    assert labels('click `text="Sign out now"`') == ["Sign out now"]
    assert labels("wait") == []


@pytest.mark.feature("E3")
def test_what_a_browser_showed_comes_with_the_impact_of_its_component(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    say = Teller("qa", cwd=str(tmp_path))
    click = say.call(
        "mcp__playwright__browser_click",
        ToolKind.MCP,
        input=json.dumps({"element": "Export everything button"}),
        output="Error: element is disabled",
    )
    events = [say.start(), say.prompt("QA the orders"), click, say.turn_end("Ok."), say.end()]
    with open_in(tmp_path, project=None, clock=ManualClock(START)) as wk:
        taker = EventIngester(wk.engine, machine_environment(wk.engine.store, {}))
        for event in events:
            taker.commit([event], [])
        wk.observer.learn(list(taker.due))
        wk.graph.build(workers=1)
        for asked in ("src/panels/ExportPanel.tsx", "src/panels/ExportPanel.tsx::ExportPanel"):
            found = wk.graph.impact(asked)
            assert "src/pages/orders.tsx" in found.files
            assert ["is disabled" in fact.text for fact in found.e2e_observations] == [True]
        assert wk.graph.impact("src/a.tsx").e2e_observations == ()
