"""What goes wrong between a laptop and its team's server: a clear state, nothing half done, and it
goes on by itself."""

from __future__ import annotations

import json
import resource
import signal
import stat
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bench.bad_line import BadLine
from bench.laptops import Laptop, team_server
from wellkept.core.errors import ConflictError, NotFoundError, ProviderError, UsageError
from wellkept.core.records import replace
from wellkept.core.types import Severity
from wellkept.testing.fakes import ManualClock
from wellkept_team.sync.background import sync_due
from wellkept_team.sync.state import (
    Condition,
    Remote,
    get_remote,
    put_remote,
    put_token,
    token_file,
)

pytestmark = pytest.mark.feature("T3")


@contextmanager
def answering(
    status: int, *, body: str = "", headers: dict[str, str] | None = None
) -> Generator[str]:
    """A server that answers everything the same way."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def _pointed_at(laptop: Laptop, url: str) -> None:
    """As if the server that the laptop knows behaved like the one at this address."""
    store, project = laptop.wk.engine.store, laptop.wk.project
    known = get_remote(store, project)
    assert known is not None
    put_token(laptop.home, url, laptop.token)
    put_remote(store, project, replace(known, url=url))


def _remote(laptop: Laptop) -> Remote:
    state = laptop.wk.remote.state()
    assert state is not None
    return state.remote


@pytest.fixture
def joined(tmp_path: Path) -> Iterator[tuple[Laptop, str]]:
    """A reviewer's laptop that shares with a server."""
    with team_server(tmp_path / "server.db", tmp_path / "server", ManualClock()) as served:
        laptop = Laptop(tmp_path / "ann", "ann", role="reviewer")
        laptop.join(served.address)
        yield laptop, served.address
        laptop.wk.close()


@pytest.mark.parametrize(
    ("status", "condition"),
    [
        (401, Condition.LOGIN),
        (403, Condition.FORBIDDEN),
        (409, Condition.FAILING),
        (429, Condition.BUSY),
        (500, Condition.FAILING),
        (200, Condition.FAILING),
    ],
)
def test_every_answer_of_a_server_becomes_a_state_and_the_next_sync_goes_on(
    joined: tuple[Laptop, str], status: int, condition: Condition
) -> None:
    laptop, address = joined
    said = laptop.teach("Money is counted in cents.")
    headers = {"Retry-After": "120"} if status == 429 else {}
    with answering(status, body=json.dumps({"detail": "no"}), headers=headers) as bad:
        _pointed_at(laptop, bad)
        report = laptop.sync()
        failed = _remote(laptop)
    assert report.condition is failed.condition is condition
    assert failed.problem
    assert laptop.token not in failed.problem
    assert (failed.failures, failed.cursor) == (1, 0)
    wait = (failed.next_at or laptop.clock()) - laptop.clock()
    assert timedelta(0) < wait <= timedelta(hours=1)
    if status == 429:
        assert wait == timedelta(seconds=120)
    told = laptop.wk.doctor().findings
    errors = [one for one in told if one.check == "remote" and one.severity is Severity.ERROR]
    assert bool(errors) == (status in (401, 403))
    assert sync_due(laptop.wk.engine, environment=laptop.home) == []
    _pointed_at(laptop, address)
    laptop.clock.advance(hours=2)
    assert sync_due(laptop.wk.engine, environment=laptop.home) == [laptop.wk.project]
    assert _remote(laptop).condition is Condition.OK
    state = laptop.wk.remote.state()
    assert state is not None
    assert state.shared == 1
    assert set(laptop.says()) == {said.id}


def test_it_waits_longer_each_time_and_a_clock_set_back_does_not_stop_it(
    joined: tuple[Laptop, str],
) -> None:
    laptop, _ = joined
    waits: list[timedelta] = []
    with answering(500) as bad:
        _pointed_at(laptop, bad)
        for _ in range(14):
            laptop.sync()
            waits.append((_remote(laptop).next_at or laptop.clock()) - laptop.clock())
    assert waits[0] < waits[2] < waits[4] <= timedelta(hours=1)
    assert waits[-1] == timedelta(hours=1)
    laptop.clock.advance(days=-30)
    assert sync_due(laptop.wk.engine, environment=laptop.home) == [laptop.wk.project]


def test_a_clock_days_off_is_told_and_does_no_harm(tmp_path: Path) -> None:
    clock = ManualClock()
    with team_server(tmp_path / "server.db", tmp_path / "server", clock) as served:
        early = Laptop(tmp_path / "early", "early", role="reviewer", skew=timedelta(days=-6))
        late = Laptop(tmp_path / "late", "late", role="reviewer", skew=timedelta(days=6))
        for one in (early, late):
            one.join(served.address)
            one.teach(f"What {one.name} said.")
            one.sync()
        early.sync()
        assert set(early.says()) == set(late.says())
        assert all(one.valid_from <= early.clock() for one in early.open())
        assert _remote(early).skew_s > 86_400 * 5 > 0 > _remote(late).skew_s
        told = [one.message for one in late.wk.doctor().findings if one.check == "remote"]
        assert any("clock" in one for one in told)
        new = late.correct(next(iter(late.says())), "Said better.")
        late.sync()
        early.sync()
        assert new.id in early.says()
        for one in (early, late):
            one.wk.close()


def test_a_line_that_always_breaks_loses_and_doubles_nothing(
    joined: tuple[Laptop, str], tmp_path: Path
) -> None:
    laptop, address = joined
    for number in range(30):
        laptop.teach(f"Rule {number}.")
    with BadLine(address, seed=7, bad=0.7) as line:
        _pointed_at(laptop, line.address)
        for _ in range(40):
            report = laptop.sync()
            if report.problem is None:
                break
            assert _remote(laptop).condition in (Condition.OFFLINE, Condition.FAILING)
        assert line.cuts
    _pointed_at(laptop, address)
    assert laptop.sync().problem is None
    other = Laptop(tmp_path / "bob", "bob")
    other.join(address)
    assert other.says() == laptop.says()
    assert len(other.says()) == 30
    other.wk.close()


def test_a_full_disk_here_writes_nothing_half_and_recovers(
    joined: tuple[Laptop, str], tmp_path: Path
) -> None:
    laptop, address = joined
    writer = Laptop(tmp_path / "bob", "bob", role="reviewer")
    writer.join(address)
    for number in range(50):
        writer.teach(f"A long rule number {number}: " + "many words " * 300)
    writer.sync()
    size = sum(one.stat().st_size for one in (tmp_path / "ann").glob("memory.db*"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40_000, before[1]))
        report = laptop.sync()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert report.condition is Condition.LOCAL
    assert report.problem
    assert laptop.wk.engine.store.check(deep=True) == []
    assert laptop.sync().problem is None
    assert laptop.says() == writer.says()
    writer.wk.close()


def test_a_server_set_back_to_an_old_copy_gets_back_what_it_lost(tmp_path: Path) -> None:
    clock = ManualClock()
    laptop = Laptop(tmp_path / "ann", "ann", role="reviewer")
    with team_server(tmp_path / "server.db", tmp_path / "server", clock) as served:
        laptop.join(served.address)
        laptop.teach("Before the copy.")
        laptop.sync()
    copy = (tmp_path / "server.db").read_bytes()
    with team_server(tmp_path / "server.db", tmp_path / "server", clock) as served:
        _pointed_at(laptop, served.address)
        laptop.teach("After the copy.")
        laptop.teach("Long after it.")
        laptop.sync()
    for left in tmp_path.glob("server.db*"):
        left.unlink()
    (tmp_path / "server.db").write_bytes(copy)
    with team_server(tmp_path / "server.db", tmp_path / "server", clock) as served:
        _pointed_at(laptop, served.address)
        assert laptop.sync().problem is None
        other = Laptop(tmp_path / "bob", "bob")
        other.join(served.address)
        assert other.says() == laptop.says()
        assert len(other.says()) == 3
        other.wk.close()
    laptop.wk.close()


def test_a_wrong_token_keeps_nothing_and_a_good_one_is_private(tmp_path: Path) -> None:
    laptop = Laptop(tmp_path / "ann", "ann")
    with team_server(tmp_path / "server.db", tmp_path / "server", ManualClock()) as served:
        with pytest.raises(ProviderError, match="401"):
            laptop.wk.remote.add(served.address, token="nobody")
        assert laptop.wk.remote.state() is None
        assert not token_file(laptop.home, served.address).exists()
        with pytest.raises(UsageError, match="no token"):
            laptop.wk.remote.add(served.address, token=" ")
        with pytest.raises(UsageError, match="not the address"):
            laptop.wk.remote.add("ftp://x", token="t")
        laptop.join(served.address)
        file = token_file(laptop.home, served.address)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert laptop.token.encode() not in (tmp_path / "ann" / "memory.db").read_bytes()
        with pytest.raises(ConflictError, match="already"):
            laptop.wk.remote.add("http://127.0.0.1:9", token="t")
        said = laptop.teach("Stays here.")
        laptop.wk.remote.remove()
        assert not file.exists()
        assert said.id in laptop.says()
        with pytest.raises(NotFoundError, match="no remote"):
            laptop.wk.remote.sync()
    laptop.wk.close()
