"""The page: its files, the first visit, and what a browser is refused."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
import uvicorn

from tests.server.http_serving import TOKEN, Served, served_in
from tests.server.mcp_client import memories_in
from wellkept.api.http.app import guarded_app, make_http_app
from wellkept.api.server.auth import LOOPBACK_HOSTS
from wellkept.api.server.connection_timeouts import TimedProtocol
from wellkept.api.server.page_session import COOKIE, is_own_page, session_value
from wellkept.api.server.run import LOOPBACK, address_of, listening
from wellkept.api.server.token_file import rotate_token, token_of

pytestmark = pytest.mark.feature("H1")
OWN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def web(tmp_path: Path) -> Generator[Served]:
    with served_in(tmp_path) as known:
        yield known


def _visit(address: str, token: str = TOKEN) -> httpx2.Response:
    return httpx2.get(f"{address}/?token={token}", follow_redirects=False)


def _cookie(address: str) -> dict[str, str]:
    value = _visit(address).headers["set-cookie"].partition(";")[0]
    return {"Cookie": value}


def test_the_token_in_the_address_becomes_a_strict_cookie(web: Served) -> None:
    answer = _visit(web.address)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert TOKEN not in cookie
    for word in ("HttpOnly", "SameSite=Strict", "Path=/api"):
        assert word in cookie
    assert answer.headers["cache-control"] == "no-store"
    listed = httpx2.get(f"{web.address}/api/list", headers={**_cookie(web.address), **OWN})
    assert listed.status_code == 200


@pytest.mark.parametrize("token", ["wrong", "", TOKEN[:-1], f"{TOKEN}%00"])
def test_a_wrong_token_gets_no_cookie(web: Served, token: str) -> None:
    answer = _visit(web.address, token)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_guessing_by_address_is_stopped(web: Served) -> None:
    codes = [_visit(web.address, f"guess-{number}").status_code for number in range(40)]
    assert codes[-1] == 429
    assert _visit(web.address).status_code == 429


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_another_page_cannot_use_the_cookie(web: Served, site: str) -> None:
    headers = {**_cookie(web.address), "Sec-Fetch-Site": site}
    answer = httpx2.post(f"{web.address}/api/memory_store", headers=headers, json={"content": "x"})
    assert answer.status_code == 403
    assert web.get("stats")["total"] == 0


def test_without_fetch_headers_a_change_needs_the_own_origin(web: Served) -> None:
    cookie = _cookie(web.address)
    url = f"{web.address}/api/memory_store"
    body = {"content": "Told by an older browser"}
    assert httpx2.post(url, headers=cookie, json=body).status_code == 403
    foreign = {**cookie, "Origin": "http://evil.example"}
    assert httpx2.post(url, headers=foreign, json=body).status_code == 403
    own = {**cookie, "Origin": web.address}
    assert httpx2.post(url, headers=own, json=body).status_code == 200
    assert httpx2.get(f"{web.address}/api/stats", headers=cookie).status_code == 200


def test_a_name_that_was_bent_to_this_machine_gets_nothing(web: Served) -> None:
    headers = {**_cookie(web.address), **OWN, "Host": "evil.example"}
    for path in ("/api/list", "/", f"/?token={TOKEN}", "/assets/x.js"):
        answer = httpx2.get(f"{web.address}{path}", headers=headers, follow_redirects=False)
        assert answer.status_code == 421
        assert "set-cookie" not in answer.headers


def test_the_cookie_opens_the_api_only_and_cannot_be_made_up(web: Served) -> None:
    cookie = _cookie(web.address)
    assert httpx2.post(f"{web.address}/mcp", headers={**cookie, **OWN}).status_code == 401
    for value in (TOKEN, "", session_value("another"), '"'):
        headers = {"Cookie": f"{COOKIE}={value}", **OWN}
        assert httpx2.get(f"{web.address}/api/list", headers=headers).status_code == 401


def test_a_new_token_ends_the_session(tmp_path: Path) -> None:
    data = tmp_path / "data"
    old = token_of(data)
    rotate_token(data)
    assert session_value(old) != session_value(token_of(data))


@pytest.mark.parametrize(
    ("headers", "method", "own"),
    [
        ({"sec-fetch-site": "same-origin"}, "POST", True),
        ({"sec-fetch-site": "none"}, "GET", True),
        ({"sec-fetch-site": "none"}, "POST", False),
        ({"sec-fetch-site": "same-site"}, "GET", False),
        ({}, "GET", True),
        ({}, "DELETE", False),
        ({"origin": "http://127.0.0.1"}, "DELETE", True),
    ],
)
def test_who_is_the_page_itself(headers: dict[str, str], method: str, own: bool) -> None:
    assert is_own_page(headers, method=method) is own


# -- Files ----------------------------------------------------------------------------------------


@pytest.fixture
def page(tmp_path: Path) -> Generator[str]:
    """The address of a server with a built page."""
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Built</title>")
    (folder / "assets" / "index-abc123.js").write_text("export const x = 1;" * 100)
    (folder / "assets" / ".hidden.js").write_text("hidden")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "assets" / "link.txt").symlink_to(tmp_path / "secret.txt")
    memories = memories_in(tmp_path)
    app = make_http_app(memories, stopping=threading.Event(), page=folder)
    listener = listening(LOOPBACK, 0)
    guarded = guarded_app(app, token=TOKEN, hosts=LOOPBACK_HOSTS)
    config = uvicorn.Config(guarded, log_config=None, http=TimedProtocol)  # type: ignore[arg-type]
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield address_of(listener)
    server.should_exit = True
    thread.join()
    listener.close()
    memories.close()


def test_the_page_is_served_with_a_strict_policy(page: str) -> None:
    answer = httpx2.get(f"{page}/")
    assert "Built" in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_hashed_files_are_kept_for_good_and_packed(page: str) -> None:
    with httpx2.stream(
        "GET", f"{page}/assets/index-abc123.js", headers={"Accept-Encoding": "gzip"}
    ) as answer:
        raw = b"".join(answer.iter_raw())
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/javascript")
    assert gzip.decompress(raw).startswith(b"export const x")
    plain = httpx2.get(f"{page}/assets/index-abc123.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text.startswith("export const x")


@pytest.mark.parametrize(
    "name", ["missing.js", "../../secret.txt", "..%2f..%2fsecret.txt", ".hidden.js", "link.txt", ""]
)
def test_nothing_but_files_of_the_page_is_served(page: str, name: str) -> None:
    answer = httpx2.get(f"{page}/assets/{name}")
    assert answer.status_code in {401, 404}
    assert "secret" not in answer.text


def test_without_a_built_page_it_is_said_how_to_build_it(tmp_path: Path) -> None:
    memories = memories_in(tmp_path)
    try:
        app = make_http_app(memories, page=tmp_path / "nowhere")
        from starlette.testclient import TestClient

        answer = TestClient(app).get("/")
    finally:
        memories.close()
    assert answer.status_code == 200
    assert "make page" in answer.text
