"""Record what real browser servers answer, so that the rules about screens are held against them.

    python -m tests.running_clients.record_browsers $WELLKEPT_CLIENTS/browsers [CHROMIUM]

Plays the flows below on the little shop, each in a browser of its own, and writes every call with
its answer to `tests/app/browsers.json`: addresses and names of files made neutral, pictures left
out.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from urllib.request import urlopen

from tests.running_clients.little_shop import little_shop

RECORDINGS = Path(__file__).parents[1] / "app" / "browsers.json"
_NOBODY = "http://127.0.0.1:47291/"
_DEBUGGED = ("--remote-debugging-port=9222",)
_DEBUGGED_AT = "http://127.0.0.1:9222/json"
Fields: TypeAlias = dict[str, Any]
Flow: TypeAlias = Callable[["Hand"], None]


class Hand:
    """Calls the tools of one browser server and notes what comes back; `ref` finds an element by
    its words in the latest snapshot, as an agent would."""

    def __init__(self, process: subprocess.Popen[str], shop: str) -> None:
        self.shop = shop
        self.calls: list[Fields] = []
        self._process = process
        self._number = 0
        self._snapshot = ""
        client = {"name": "recorder", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.version = self._ask("initialize", hello)["serverInfo"]["version"]
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def do(self, tool: str, **given: Any) -> None:
        """Call a tool."""
        begun = time.monotonic()
        answer = self._ask("tools/call", {"name": tool, "arguments": given})
        took_ms = int((time.monotonic() - begun) * 1000)
        parts = [part["text"] for part in answer["content"] if part["type"] == "text"]
        failed = bool(answer.get("isError"))
        self.calls.append(
            {"tool": tool, "input": given, "answer": parts, "failed": failed, "ms": took_ms}
        )
        self._snapshot = next((p for p in parts if "[ref=" in p or "\nuid=" in p), self._snapshot)

    def ref(self, words: str) -> str:
        """The reference of the element with these words."""
        lines = (line for line in self._snapshot.split("\n") if words in line)
        return next(
            found[1] for line in lines if (found := re.search(r"\b(?:ref|uid)=(\w+)", line))
        )

    def _ask(self, method: str, given: Fields) -> Fields:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": given})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            if told.get("id") == self._number and "method" not in told:
                return told["result"]
        raise EOFError(method)

    def _send(self, message: Fields) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


# -- Flows with Playwright ------------------------------------------------------------------------


def _settings(hand: Hand) -> None:
    hand.do("browser_navigate", url=f"{hand.shop}/settings")
    hand.do("browser_snapshot")
    fields = [
        {"name": "Email", "type": "textbox", "target": hand.ref("Email"), "value": "a@b.example"},
        {"name": "Word", "type": "textbox", "target": hand.ref("Password"), "value": "tiger-lily"},
    ]
    hand.do("browser_fill_form", fields=fields)
    hand.do("browser_click", element="Sign in", target=hand.ref('button "Sign in"'))
    hand.do("browser_snapshot")
    save = hand.ref("Save changes")
    hand.do("browser_click", element="Save changes button", target=save)
    hand.do("browser_click", target=hand.ref("I agree"))
    hand.do("browser_click", element="the button to save", target=save)
    number = hand.ref('textbox "Account number"')
    hand.do("browser_type", element="Account number", target=number, text="tiger-lily")
    hand.do("browser_click", target=hand.ref("Delete account"))
    hand.do("browser_click", target=save)
    hand.do("browser_handle_dialog", accept=False)


def _orders(hand: Hand) -> None:
    hand.do("browser_navigate", url=f"{hand.shop}/orders")
    hand.do("browser_click", element="Edit", target="text=Edit")
    hand.do("browser_snapshot")
    old = hand.ref("New order")
    hand.do("browser_click", element="New order link", target=old)
    hand.do("browser_snapshot")
    item = hand.ref('textbox "Item"')
    hand.do("browser_type", target=item, text="tiger-lily")
    hand.do("browser_select_option", target=hand.ref('combobox "Size"'), values=["large"])
    hand.do("browser_click", element="Create", target=hand.ref("Create order"))
    hand.do("browser_snapshot")
    hand.do("browser_click", element="Item", target=item)
    hand.do("browser_press_key", key="Foo")


def _waiting(hand: Hand) -> None:
    hand.do("browser_navigate", url=f"{hand.shop}/reports")
    hand.do("browser_snapshot")
    load = hand.ref("Download report")
    hand.do("browser_click", element="Generate", target=hand.ref("Generate report"))
    hand.do("browser_click", element="Download", target=load)
    hand.do("browser_wait_for", time=4)
    hand.do("browser_click", element="Download", target=load)
    hand.do("browser_navigate", url=f"{hand.shop}/help")
    hand.do("browser_snapshot")
    send = hand.ref("Send question")
    hand.do("browser_click", element="Send", target=send)
    hand.do("browser_wait_for", textGone="One moment")
    hand.do("browser_click", element="Send", target=send)
    hand.do("browser_wait_for", text="Thank you")
    hand.do("browser_navigate", url=f"{hand.shop}/import")
    hand.do("browser_snapshot")
    hand.do("browser_take_screenshot", scale="css")
    hand.do("browser_navigate", url=_NOBODY)


# -- The same with Chrome's own tools --------------------------------------------------------------


def _devtools_settings(hand: Hand) -> None:
    hand.do("new_page", url=f"{hand.shop}/settings")
    hand.do("take_snapshot", pageId=2)
    fields = [
        {"uid": hand.ref("textbox"), "value": "a@b.example"},
        {"uid": hand.ref('textbox "Password'), "value": "tiger-lily"},
    ]
    hand.do("fill_form", pageId=2, elements=fields)
    hand.do("click", pageId=2, uid=hand.ref("button"), includeSnapshot=True)
    hand.do("click", pageId=2, uid=hand.ref("Save changes"))
    hand.do("click", pageId=2, uid=hand.ref("checkbox"))
    hand.do("click", pageId=2, uid=hand.ref("Save changes"))
    hand.do("click", pageId=2, uid=hand.ref("Delete account"))
    hand.do("handle_dialog", pageId=2, action="dismiss")
    hand.do("type_text", pageId=2, text="tiger-lily")
    hand.do("click", pageId=2, uid="9_99")
    hand.do("press_key", pageId=2, key="Foo")


def _devtools_waiting(hand: Hand) -> None:
    hand.do("new_page", url=f"{hand.shop}/reports")
    hand.do("take_snapshot", pageId=2)
    load = hand.ref("Download report")
    hand.do("click", pageId=2, uid=hand.ref("Generate report"))
    hand.do("click", pageId=2, uid=load)
    hand.do("wait_for", pageId=2, text=["No such words"], timeout=3000)
    hand.do("click", pageId=2, uid=load)
    hand.do("navigate_page", pageId=2, type="url", url=f"{hand.shop}/import")
    hand.do("take_snapshot", pageId=2)
    hand.do("navigate_page", pageId=2, type="url", url=_NOBODY)
    hand.do("navigate_page", pageId=77, type="reload")


# -- An Electron application, which to its server is any page with a debugging port ----------------


def _electron(hand: Hand) -> None:
    def send(command: str, **given: str) -> None:
        hand.do("send_command_to_electron", command=command, args=given)

    send("get_page_structure")
    send("fill_input", placeholder="Email", value="tiger-lily")
    send("fill_input", selector="input[name=password]", value="tiger-lily")
    send("click_by_text", text="Sign in")
    send("get_url")
    send("click_by_text", text="I agree to the terms")
    send("click_by_selector", selector="#save")
    send("click_by_text", text="Save changes")
    send("click_by_text", text="Save changes")
    send("send_keyboard_shortcut", text="Ctrl+N")
    send("get_page_structure")
    hand.do("take_screenshot")


FLOWS: dict[str, dict[str, Flow]] = {
    "playwright": {"settings": _settings, "orders": _orders, "waiting": _waiting},
    "chrome-devtools": {"settings": _devtools_settings, "waiting": _devtools_waiting},
    "electron": {"signing in": _electron},
}


# -- Running them ---------------------------------------------------------------------------------


def server_words(server: str, modules: Path, chromium: str) -> list[str]:
    """How a browser server is started; without a window, in a profile of its own."""
    if server == "playwright":
        program = modules / "@playwright/mcp/cli.js"
        return ["node", str(program), "--headless", "--isolated", "--no-sandbox",
                "--executable-path", chromium]  # fmt: skip
    if server == "electron":
        return ["node", str(modules / "electron-mcp-server/dist/index.js")]
    program = modules / "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"
    return ["node", str(program), "--headless", "--isolated", "--no-usage-statistics",
            "--executablePath", chromium, "--chromeArg=--no-sandbox"]  # fmt: skip


@contextmanager
def _hand(words: list[str], shop: str) -> Generator[Hand]:
    with TemporaryDirectory() as folder:
        process = subprocess.Popen(
            words,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            yield Hand(process, shop)
        finally:
            process.terminate()
            process.wait(timeout=20)


@contextmanager
def _beside(words: list[str] | None) -> Generator[None]:
    """Another program while this one goes on."""
    if words is None:
        yield
        return
    with TemporaryDirectory() as profile:
        process = subprocess.Popen(
            [*words, f"--user-data-dir={profile}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait_for(_DEBUGGED_AT)
            yield
        finally:
            process.terminate()
            process.wait(timeout=20)


def _wait_for(address: str) -> None:
    for _ in range(200):
        try:
            urlopen(address, timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(address)


def _neutral(recorded: Fields, shop: str) -> Fields:
    text = json.dumps(recorded).replace(shop, "http://localhost:3000")
    text = re.sub(r"[\w./-]*/(page|console)-[\dTZ-]+\.(yml|png|log)", r"shots/\1.\2", text)
    return json.loads(text)


def main(modules: Path, chromium: str) -> None:
    """Record every flow."""
    recorded: Fields = {}
    with little_shop() as shop:
        for server, flows in FLOWS.items():
            told: Fields = {}
            for name, flow in flows.items():
                words = server_words(server, modules, chromium)
                page = [chromium, "--headless", "--no-sandbox", *_DEBUGGED, f"{shop}/login"]
                with _beside(page if server == "electron" else None), _hand(words, shop) as hand:
                    flow(hand)
                    told["version"] = hand.version
                    told[name] = hand.calls
            recorded[server] = _neutral(told, shop)
    RECORDINGS.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    chrome = sys.argv[2] if len(sys.argv) > 2 else "/usr/bin/chromium"
    main(Path(sys.argv[1]) / "node_modules", chrome)
