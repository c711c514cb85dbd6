"""A loopback server that speaks the protocol of the model hub: what a repository holds, and files.

It answers `/api/models/NAME`, the tree of a revision, and `HEAD` and `GET` of files with ranges,
ETags and commit headers as the real hub does. Large files have the SHA-256 of their content as
ETag, small ones their Git id. Give its `url` to a process as `HF_ENDPOINT`.
Invariant: files are sent as they were given, unless a fault says otherwise. Knows nothing of
Wellkept.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.support.loopback import LoopbackServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE_BYTES = 1_000


class FakeModelHub(LoopbackServer):
    """Serves repositories, given as files by path, between `with` and its end.

    `damaged` paths are sent with other bytes; `status` answers every request. Larger files than
    `cut_after` break off there, `cuts` times; larger than `hold_after` stop there (`holding`) until
    `go_on`.
    """

    def __init__(self, repositories: Mapping[str, Mapping[str, bytes]]) -> None:
        self.repositories = repositories
        self.seen: list[str] = []
        self.ranges: list[str] = []
        self.damaged: set[str] = set()
        self.status: int | None = None
        self.cut_after: int | None = None
        self.cuts = 0
        self.hold_after: int | None = None
        self.holding, self.go_on = threading.Event(), threading.Event()
        server = _Server(("127.0.0.1", 0), _Handler)
        server.hub = self
        super().__init__(server)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    hub: FakeModelHub

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay quiet when a client hangs up."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_HEAD(self) -> None:
        self._serve(with_body=False)

    def do_GET(self) -> None:
        self._serve(with_body=True)

    def log_message(self, format: str, *args: object) -> None:
        """Write no access log."""

    def _serve(self, *, with_body: bool) -> None:
        # One request a connection: the server then ends without waiting for idle clients.
        self.close_connection = True
        hub, path = self.server.hub, urlsplit(self.path).path
        hub.seen.append(f"{self.command} {path}")
        if hub.status is not None:
            self._error(hub.status)
        elif found := re.fullmatch(r"/api/models/([^/]+/[^/]+)(/.*)?", path):
            self._describe(found[1], found[2] or "")
        elif found := re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
            content = hub.repositories.get(found[1], {}).get(found[2])
            if content is None:
                self._error(404)
            else:
                self._file(found[2], content, with_body=with_body)
        else:
            self._error(404)

    def _describe(self, name: str, rest: str) -> None:
        files = self.server.hub.repositories.get(name)
        if files is None:
            self._error(404)
        elif rest.startswith("/tree/"):
            self._send_json([_entry(path, content) for path, content in files.items()])
        else:
            siblings = [
                {"rfilename": each.pop("path"), "blobId": each.pop("oid"), **each}
                for each in (_entry(path, content) for path, content in files.items())
            ]
            self._send_json({"id": name, "sha": COMMIT, "siblings": siblings})

    def _file(self, path: str, content: bytes, *, with_body: bool) -> None:
        hub = self.server.hub
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        begin = int(asked[1]) if asked and with_body else 0
        sent = bytes(len(content)) if path in hub.damaged else content
        if asked:
            hub.ranges.append(f"{path} from {begin}")
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(sent) - begin))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{_identity(content)}"')
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(sent) - 1}/{len(sent)}")
        self.send_header("Connection", "close")
        self.end_headers()
        if not with_body:
            return
        if hub.cuts and hub.cut_after is not None and len(sent) - begin > hub.cut_after:
            hub.cuts -= 1
            self.wfile.write(sent[begin : begin + hub.cut_after])
            return
        if hub.hold_after is not None and len(sent) - begin > hub.hold_after:
            self.wfile.write(sent[begin : begin + hub.hold_after])
            self.wfile.flush()
            hub.holding.set()
            while not hub.go_on.wait(0.02) and not hub.closing.is_set():
                pass
            return
        self.wfile.write(sent[begin:])

    def _error(self, status: int) -> None:
        self._send_json({"error": f"status {status}"}, status)

    def _send_json(self, value: object, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


def _entry(path: str, content: bytes) -> dict[str, object]:
    entry: dict[str, object] = {
        "type": "file",
        "path": path,
        "size": len(content),
        "oid": _git_id(content),
    }
    if len(content) >= LARGE_BYTES:
        sha256 = hashlib.sha256(content).hexdigest()
        entry["lfs"] = {"oid": sha256, "sha256": sha256, "size": len(content), "pointerSize": 130}
    return entry


def _identity(content: bytes) -> str:
    if len(content) >= LARGE_BYTES:
        return hashlib.sha256(content).hexdigest()
    return _git_id(content)


def _git_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
