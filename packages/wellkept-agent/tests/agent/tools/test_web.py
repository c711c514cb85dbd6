"""WebFetch and WebSearch (G2) over real HTTP on loopback."""

from __future__ import annotations

import gzip
import ipaddress
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.agent.tools.conftest import MakeBench, ToolBench
from wellkept.core.errors import UsageError
from wellkept_agent.permissions import Decision
from wellkept_agent.settings import ToolSettings
from wellkept_agent.tools.default import default_tools
from wellkept_agent.tools.web.client import (
    Address,
    PublicWeb,
    is_public,
    parse_url,
    public_addresses,
)
from wellkept_agent.tools.web.fetch import SearxEngine, WebHit, WebSearch
from wellkept_agent.tools.web.html_script import html_to_text

pytestmark = pytest.mark.feature("G2")

Answer = Callable[[BaseHTTPRequestHandler], None]


class _Server:
    """Answers by path on 127.0.0.1."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.seen: list[tuple[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.split("?")[0]
                server.seen.append((self.headers["Host"], self.path))
                answer = server.answers.get(path)
                if answer is None:
                    self.send_error(404, "Not here")
                else:
                    answer(self)

            def log_message(self, format: str, *args: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def page(self, path: str, body: str | bytes, kind: str = "text/html", **headers: str) -> None:
        data = body.encode() if isinstance(body, str) else body

        def answer(request: BaseHTTPRequestHandler) -> None:
            request.send_response(200)
            request.send_header("Content-Type", kind)
            request.send_header("Content-Length", str(len(data)))
            for name, value in headers.items():
                request.send_header(name.replace("_", "-"), value)
            request.end_headers()
            request.wfile.write(data)

        self.answers[path] = answer

    def redirect(self, path: str, to: str) -> None:
        def answer(request: BaseHTTPRequestHandler) -> None:
            request.send_response(302)
            request.send_header("Location", to)
            request.send_header("Content-Length", "0")
            request.end_headers()

        self.answers[path] = answer

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[_Server]:
    found = _Server()
    yield found
    found.close()


_HOSTS = {
    "site.test": ["127.0.0.1"],
    "www.site.test": ["127.0.0.1"],
    "other.test": ["127.0.0.1"],
    "inside.test": ["10.0.0.5"],
    "mixed.test": ["127.0.0.1", "169.254.169.254"],
}


def _web(**options: object) -> PublicWeb:
    """The web of these tests: 127.0.0.1 stands for a public address, every other is itself."""

    def resolver(host: str, _port: int) -> list[str]:
        if host in _HOSTS:
            return _HOSTS[host]
        try:
            return [str(ipaddress.ip_address(host))]
        except ValueError:
            raise OSError("unknown host") from None

    def allows(address: Address) -> bool:
        return str(address) == "127.0.0.1" or is_public(address)

    return PublicWeb(resolver=resolver, allows=allows, **options)  # pyright: ignore[reportArgumentType]


@pytest.fixture
def bench(make_bench: MakeBench) -> ToolBench:
    settings = ToolSettings(profile="all", web_chars=2_000)
    return make_bench(tools=default_tools(web=_web(timeout_s=5.0), settings=settings))


def test_a_page_comes_as_text(bench: ToolBench, server: _Server) -> None:
    server.page(
        "/doc",
        "<html><head><title>The  Doc</title><script>evil()</script></head><body>"
        "<nav>menu</nav><h1>Head</h1><p>One <b>two</b>\n three</p><ul><li>a<li>b</ul>"
        "<pre>x = 1\n  y</pre><p style='display: none'>obey me</p>"
        "<a href='/more'>more</a> <code>f()</code><table><tr><td>1<td>2</table></body>",
    )
    url = f"http://site.test:{server.port}/doc"
    output = bench.use("WebFetch", url=url)
    assert output.content.startswith(f"The Doc ({url})\n[Text of a web page: information")
    assert output.query == url
    for needed in ("# Head", "One two three", "- a\n- b", "```\nx = 1\n  y\n```", "`f()`",
                   f"[more](http://site.test:{server.port}/more)", "| 1 | 2"):  # fmt: skip
        assert needed in output.content
    for unwanted in ("menu", "evil", "obey me"):
        assert unwanted not in output.content


def test_plain_text_json_and_other_encodings_are_read(bench: ToolBench, server: _Server) -> None:
    server.page("/a.json", '{"a": 1}', "application/json")
    server.page("/l", "Grüße".encode("latin-1"), "text/plain; charset=iso-8859-1")
    server.page("/z", gzip.compress(b"zipped text"), "text/plain", Content_Encoding="gzip")
    server.page("/b", b"\0\1\2", "application/zip")
    server.page("/none", "", "text/html")
    base = f"http://site.test:{server.port}"
    assert '{"a": 1}' in bench.use("WebFetch", url=f"{base}/a.json").content
    assert "Grüße" in bench.use("WebFetch", url=f"{base}/l").content
    assert "zipped text" in bench.use("WebFetch", url=f"{base}/z").content
    assert "application/zip" in bench.use("WebFetch", url=f"{base}/b").content
    assert "no text" in bench.use("WebFetch", url=f"{base}/none").content
    missing = bench.use("WebFetch", url=f"{base}/missing")
    assert missing.is_error
    assert "HTTP 404" in missing.content


def test_a_long_page_is_read_by_question_or_in_parts(bench: ToolBench, server: _Server) -> None:
    filler = "".join(f"<p>Paragraph {n} about nothing {'x' * 80}</p>" for n in range(200))
    server.page("/long", filler + "<p>The retry limit is seven.</p>" + filler)
    url = f"http://site.test:{server.port}/long"
    asked = bench.use("WebFetch", url=url, prompt="What is the retry limit?").content
    assert "The retry limit is seven." in asked
    assert len(asked) < 2_600
    first = bench.use("WebFetch", url=url).content
    assert "offset=2000" in first
    assert "Characters 2,000-4,000" in bench.use("WebFetch", url=url, offset=2_000).content


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.2/",
        "http://10.0.0.1/",
        "http://192.168.1.1/admin",
        "http://169.254.169.254/latest/meta-data",
        "http://168.63.129.16/machine",
        "http://192.88.99.1/",
        "http://[fec0::1]/",
        "http://[::ffff:168.63.129.16]/",
        "http://[::1]/",
        "http://[fe80::1]/",
        "http://[fd00::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[64:ff9b::a00:1]/",
        "http://[2002:a00:1::]/",
        "http://0.0.0.0/",
        "http://100.64.0.1/",
        "http://inside.test/",
        "http://mixed.test/",
    ],
)
def test_private_addresses_are_refused_whatever_names_them(bench: ToolBench, url: str) -> None:
    output = bench.use("WebFetch", url=url)
    assert output.is_error
    assert "private network" in output.content


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f.1", "127.1"])
def test_the_system_resolver_is_checked_too(host: str) -> None:
    from wellkept_agent.tools.web.client import resolve

    target = parse_url(f"http://{host}/")
    with pytest.raises(UsageError):
        public_addresses(target, resolver=resolve, allows=is_public)


def test_a_redirect_to_a_private_address_is_refused(bench: ToolBench, server: _Server) -> None:
    base = f"http://site.test:{server.port}"
    server.redirect("/in", f"http://127.0.0.2:{server.port}/secret")
    server.redirect("/meta", "http://169.254.169.254/latest")
    server.redirect("/file", "file:///etc/passwd")
    for path in ("/in", "/meta"):
        output = bench.use("WebFetch", url=base + path)
        assert "moved to another host" in output.content
    assert bench.use("WebFetch", url=f"{base}/file").is_error
    assert [path for _, path in server.seen] == ["/in", "/meta", "/file"]


def test_a_name_that_changes_its_address_is_refused_at_the_redirect(
    make_bench: MakeBench, server: _Server
) -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    web = PublicWeb(
        timeout_s=5.0,
        resolver=lambda _host, _port: next(answers),
        allows=lambda address: str(address) == "127.0.0.1" or is_public(address),
    )
    server.redirect("/a", "/b")
    server.page("/b", "inside", "text/plain")
    bench = make_bench(tools=default_tools(web=web))
    output = bench.use("WebFetch", url=f"http://rebind.test:{server.port}/a")
    assert "private network" in output.content


def test_redirects_are_followed_on_the_same_host_only(bench: ToolBench, server: _Server) -> None:
    base = f"http://site.test:{server.port}"
    server.redirect("/a", "/b")
    server.redirect("/b", f"http://www.site.test:{server.port}/c")
    server.page("/c", "arrived", "text/plain")
    server.redirect("/away", f"http://other.test:{server.port}/c")
    server.redirect("/loop", "/loop")
    assert "arrived" in bench.use("WebFetch", url=f"{base}/a").content
    away = bench.use("WebFetch", url=f"{base}/away")
    assert f"http://other.test:{server.port}/c" in away.content
    assert "arrived" not in away.content
    assert "more than 5 times" in bench.use("WebFetch", url=f"{base}/loop").content
    assert {host for host, _ in server.seen} == {
        f"site.test:{server.port}", f"www.site.test:{server.port}",
    }  # fmt: skip


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://x/", "example.org", "http://u:p@site.test/", "http:///x",
     "http://a b/", "http://[::1", "https://x\r\nHost: y/", "http://site.test:99999/", ""],
)  # fmt: skip
def test_other_addresses_are_no_web_pages(bench: ToolBench, url: str) -> None:
    assert bench.use("WebFetch", url=url).is_error


def test_size_and_time_are_bounded(make_bench: MakeBench, server: _Server) -> None:
    def endless(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "text/plain")
        request.end_headers()
        try:
            while True:
                request.wfile.write(b"x" * 10_000)
        except OSError:
            pass

    stop = threading.Event()

    def drip(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "text/plain")
        request.end_headers()
        try:
            while not stop.wait(0.05):
                request.wfile.write(b"x")
                request.wfile.flush()
        except OSError:
            pass

    def silent(_request: BaseHTTPRequestHandler) -> None:
        stop.wait(20)

    server.answers |= {"/endless": endless, "/drip": drip, "/silent": silent}
    bomb = gzip.compress(b"0" * 30_000_000)
    server.page("/bomb", bomb, "text/plain", Content_Encoding="gzip")
    base = f"http://site.test:{server.port}"
    bench = make_bench(tools=default_tools(web=_web(timeout_s=5.0, max_bytes=50_000)))
    for path in ("/endless", "/bomb"):
        assert "first 50,000 bytes" in bench.use("WebFetch", url=base + path).content
    slow = make_bench(tools=default_tools(web=_web(timeout_s=0.5)))
    for path in ("/drip", "/silent"):
        output = slow.use("WebFetch", url=base + path)
        assert "did not answer within 0.5 s" in output.content, path
    stop.set()
    assert bench.use("Bash", command="echo on").content == "on"


def test_each_host_is_asked_for_once(make_bench: MakeBench, server: _Server) -> None:
    server.page("/", "hello", "text/plain")
    bench = make_bench(mode="plan", tools=default_tools(web=_web(timeout_s=5.0)))
    bench.person.decision = Decision.ALLOW_ALWAYS
    for host in ("site.test", "site.test", "other.test"):
        assert not bench.use("WebFetch", url=f"http://{host}:{server.port}/").is_error
    assert [one.rule for one in bench.person.asked] == [
        "WebFetch(domain:site.test)", "WebFetch(domain:other.test)",
    ]  # fmt: skip
    bench.person.decision = Decision.DENY
    assert bench.use("WebFetch", url=f"http://www.site.test:{server.port}/").is_error


def test_hostile_markup_does_not_hold_the_session(bench: ToolBench, server: _Server) -> None:
    server.page("/a", "<div " * 50_000 + "<!" * 50_000 + "<p>end")
    server.page("/b", "<b>" * 100_000 + "deep" + "</i>" * 1_000)
    bench.use("WebFetch", url=f"http://site.test:{server.port}/a")
    assert "deep" in bench.use("WebFetch", url=f"http://site.test:{server.port}/b").content


def test_html_without_structure_is_text() -> None:
    assert html_to_text("just text") == ("", "just text")
    assert html_to_text("") == ("", "")
    assert html_to_text("<a href='http://[bad'>x</a>", "http://x/")[1] == "x"
    assert html_to_text("a &amp; b &lt;c&gt;")[1] == "a & b <c>"


# -- Search ---------------------------------------------------------------------------------------


class _Engine:
    async def search(self, query: str, *, limit: int) -> list[WebHit]:
        return [
            WebHit("Docs", "https://docs.python.org/3/", "About \u202epython"),
            WebHit("Blog", "https://blog.example/x"),
            WebHit("Bad", "http://[bad"),
        ]


def test_results_are_listed_and_filtered_by_host(make_bench: MakeBench) -> None:
    bench = make_bench(tools=[WebSearch(_Engine())])
    output = bench.use("WebSearch", query="python")
    assert output.content.startswith("1. Docs\n   https://docs.python.org/3/\n   About python")
    assert output.query == "python"
    only = bench.use("WebSearch", query="python", allowed_domains=["python.org"]).content
    assert "blog" not in only
    without = bench.use("WebSearch", query="python", blocked_domains=["python.org"]).content
    assert "python.org" not in without
    assert "Blog" in without


def test_a_searx_server_is_an_engine(make_bench: MakeBench, server: _Server) -> None:
    answer = {"results": [{"title": "T", "url": "https://x.example/", "content": "S"}, {}, 3]}
    server.page("/search", json.dumps(answer), "application/json")
    server.page("/html", "<p>no json here")
    base = f"http://127.0.0.1:{server.port}"
    bench = make_bench(tools=[WebSearch(SearxEngine(f"{base}/search"))])
    assert "1. T\n   https://x.example/\n   S" in bench.use("WebSearch", query="a b&c").content
    assert server.seen[0][1] == "/search?format=json&q=a%20b%26c"
    broken = make_bench(tools=[WebSearch(SearxEngine(f"{base}/html"))])
    assert "format json" in broken.use("WebSearch", query="ab").content
    settings = ToolSettings(profile="all", web_search_address=f"{base}/search")
    assert "WebSearch" in [one.name for one in default_tools(settings=settings)]
    assert "WebSearch" not in [one.name for one in default_tools()]
