"""A small web shop on loopback whose pages behave as real ones do: a login, a button that waits for
a tick, a report that takes time, a curtain, a question before something is deleted."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

_FRAME = """<!doctype html><meta charset=utf-8><link rel=icon href=data:,>
<title>{title} - Little Shop</title>
<nav><a href="/">Home</a> <a href="/orders">Orders</a> <a href="/settings">Settings</a></nav>
<h1>{title}</h1>{body}<p id=said></p>
<script>const say = text => {{ document.getElementById('said').textContent = text }}</script>"""
_SLOW_MS = 7_000
_PAGES = {
    "/": ("Welcome", "<p>Buy little things.</p>"),
    "/login": (
        "Sign in",
        """<form action="/session"><label>Email <input name=email></label>
        <label>Password <input name=password type=password></label><button>Sign in</button></form>""",
    ),
    "/settings": (
        "Settings",
        """<label><input type=checkbox onchange="save.disabled = !this.checked">
        I agree to the terms</label>
        <button id=save disabled onclick="say('Saved')">Save changes</button>
        <label>Account number <input readonly value="A-1"></label>
        <button onclick="if (confirm('Delete the account for ever?')) say('Deleted')">
        Delete account</button>""",
    ),
    "/reports": (
        "Reports",
        f"""<button onclick="setTimeout(() => {{ load.disabled = false }}, {_SLOW_MS})">
        Generate report</button>
        <button id=load disabled onclick="say('Downloaded')">Download report</button>""",
    ),
    "/help": (
        "Help",
        f"""<button onclick="say('Thank you')">Send question</button>
        <div id=curtain style="position:fixed;inset:0;background:#fff">One moment</div>
        <script>setTimeout(() => curtain.remove(), {_SLOW_MS})</script>""",
    ),
    "/orders": (
        "Orders",
        """<ul><li>Pen <button>Edit</button></li><li>Cup <button>Edit</button></li></ul>
        <a href="/orders/new">New order</a>""",
    ),
    "/orders/new": (
        "New order",
        """<form action="/orders/1042"><label>Item <input name=item required></label>
        <label>Size <select name=size><option>small<option>large</select></label>
        <button>Create order</button></form>""",
    ),
    "/orders/1042": ("Order created", "<p>Thank you for order 1042.</p>"),
    "/import": (
        "Import",
        """<p role=alert>Please connect a warehouse in the settings first.</p>
        <button disabled>Start import</button>""",
    ),
}


class _Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        known = "shop=1" in (self.headers.get("cookie") or "")
        if path == "/session":
            self._send_to("/settings", cookie=True)
        elif path == "/settings" and not known:
            self._send_to("/login?next=/settings")
        elif path in _PAGES:
            title, body = _PAGES[path]
            self._send(200, _FRAME.format(title=title, body=body))
        else:
            self._send(404, "There is no such page.")

    def log_message(self, format: str, *args: object) -> None:
        """Requests are nobody's business here."""

    def _send(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())

    def _send_to(self, place: str, *, cookie: bool = False) -> None:
        self.send_response(302)
        self.send_header("location", place)
        if cookie:
            self.send_header("set-cookie", "shop=1")
        self.end_headers()


@contextmanager
def little_shop() -> Generator[str]:
    """Serve the shop; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Shop)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
