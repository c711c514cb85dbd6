"""A loopback server that speaks the streaming protocols of chat services, faults included.

    with ChatServer(["Hello.", calls(call("Read", file_path="a.py")), Fault(status=529)]) as server:
        ... server.url, server.openai_url, server.requests

Open `server` first; `shapes` holds what each service sends, as recorded from the real ones.
"""

from __future__ import annotations

from tests.support.chat_server.faults import Fault, overflow
from tests.support.chat_server.server import ChatServer, SeenCall

__all__ = ["ChatServer", "Fault", "SeenCall", "overflow"]
