"""What was done in the demo's project, session by session, as plain steps.

A step is a kind and its texts. The seed chooses order and numbers, never what is true: two demos of
one seed and day are alike.
"""

from __future__ import annotations

import random
from typing import Final, NamedTuple

DAYS: Final = 28


class Step(NamedTuple):
    """One thing that happens: prompt, read, edit, run, fail, browser, keep, commit or say.

    Of a browser's tool `text` is the name, `more` the result and `given` the input as JSON; of what
    the agent keeps, `more` is the type and `given` the file.
    """

    kind: str
    text: str
    more: str = ""
    given: str = ""


class DemoSession(NamedTuple):
    """A session: days before today, hour, client, branch and steps."""

    days_ago: int
    hour: int
    client: str
    branch: str
    steps: tuple[Step, ...]
    ends: bool = True


_TESTS = "PYTHONPATH=src python -m pytest -q"
_PASSED = "........................                                   [100%]\n{n} passed in 1.84s"
_NO_MODULE = (
    "ImportError while importing test module 'tests/test_bookings.py'.\n"
    "E   ModuleNotFoundError: No module named 'harbour'\n1 error in 0.31s"
)


def _ask(text: str) -> Step:
    return Step("prompt", text)


def _say(text: str) -> Step:
    return Step("say", text)


def _read(*paths: str) -> tuple[Step, ...]:
    return tuple(Step("read", path) for path in paths)


def _edit(path: str, line: str) -> Step:
    return Step("edit", path, line)


def _fix(  # noqa: PLR0917 - one story
    ask: str, paths: tuple[str, ...], line: str, failing: str, message: str, done: str
) -> tuple[Step, ...]:
    """A bug: look, see the test fail, mend, see it pass, commit."""
    return (
        _ask(ask),
        *_read(*paths),
        Step("fail", _TESTS, f"FAILED {failing}\n1 failed, 23 passed in 1.90s"),
        _edit(paths[0], line),
        Step("run", _TESTS, _PASSED.format(n=24)),
        Step("commit", message),
        _say(done),
    )


def _migration(number: int, what: str) -> tuple[Step, ...]:
    """The same steps each time, which becomes a recipe."""
    return (
        _ask(f"Add a column for {what} to bookings."),
        *_read("src/harbour/storage/migrations.py", "src/harbour/bookings/models.py"),
        _edit("src/harbour/storage/migrations.py", f"# {number}: {what}\n"),
        _edit("src/harbour/bookings/models.py", f"# {what} of a booking\n"),
        _edit("tests/test_bookings.py", f"\n\ndef test_{number}():\n    assert service\n"),
        Step("run", _TESTS, _PASSED.format(n=20 + number)),
        Step("commit", f"bookings: {what}"),
        _say(f"Added migration {number} for {what}, the model field and a test; all tests pass."),
    )


def _wrong_path(ask: str, path: str) -> tuple[Step, ...]:
    """Tests are started the wrong way first: the way out is a lesson."""
    return (
        _ask(ask),
        *_read(path),
        Step("fail", "python -m pytest -q", _NO_MODULE),
        Step("run", _TESTS, _PASSED.format(n=24)),
        _edit(path, "# checked\n"),
        Step("run", _TESTS, _PASSED.format(n=24)),
        _say("The tests need PYTHONPATH=src; with it everything passes."),
    )


def _in_browser(ask: str, path: str) -> tuple[Step, ...]:
    """The running app is tried out in a browser, which must sign in first."""
    site = "http://localhost:8040"
    sign_in = f"### Page\n- Page URL: {site}/login?next={path}\n- Page Title: Sign in - Harbour\n"
    form = (
        '### Snapshot\n```yaml\n- heading "Sign in" [level=1] [ref=e6]\n'
        '- textbox "Email" [ref=e9]\n'
        '- textbox "Password" [ref=e11]\n- button "Sign in" [ref=e12]\n```'
    )
    inside = f"### Page\n- Page URL: {site}{path}\n- Page Title: Berths - Harbour\n"
    click = '{"element": "Sign in button", "ref": "e12"}'
    return (
        _ask(ask),
        Step("run", "make run &", "Harbour listens on 8040"),
        Step("browser", "browser_navigate", sign_in, f'{{"url": "{site}{path}"}}'),
        Step("browser", "browser_snapshot", sign_in + form, "{}"),
        Step("browser", "browser_click", inside, click),
        Step("browser", "browser_snapshot", inside, "{}"),
        Step("run", _TESTS, _PASSED.format(n=24)),
        _say(f"{path} works after signing in; without a session it leads to the login."),
    )


_BILLING = ("src/harbour/billing/invoices.py", "src/harbour/billing/rounding.py",
            "src/harbour/billing/tariffs.py")  # fmt: skip
_TIDES = ("src/harbour/tides/cache.py", "src/harbour/tides/client.py",
          "src/harbour/tides/forecast.py")  # fmt: skip
_WEB = ("src/harbour/web/routes.py", "src/harbour/web/session.py")
_CALENDAR = ("src/harbour/bookings/calendar.py", "src/harbour/bookings/service.py")


def _work() -> list[tuple[str, tuple[Step, ...]]]:
    """Every session's branch and steps, in the order of the weeks."""
    return [
        ("main", (_ask("Look around and tell me how bookings and invoices hang together. Remember"
                       " that all amounts are integers in cents."),
                  *_read("README.md", *_BILLING, *_CALENDAR),
                  Step("keep", "Bookings draft an invoice at once, so that the price of the day of"
                       " booking holds", "decision", "src/harbour/bookings/service.py"),
                  _say("Bookings call the calendar, then draft an invoice from the tariff."))),
        ("fix/rounding", _fix("An invoice of 10.005 euros shows 10.00. Always round half up, never"
                              " to even.", _BILLING, "# half up\n",
                              "tests/test_billing.py::test_invoice - assert 1000 == 1001",
                              "billing: round half up", "Invoices now round half up.")),
        ("feature/notes", _migration(7, "notes")),
        ("main", _wrong_path("Check that the tides module is covered by tests.", _TIDES[2])),
        ("fix/tides", _fix("The tide page is slow: the coast guard's service is asked each time."
                           " We decided to keep tides for one hour because they publish hourly.",
                           _TIDES, "# kept for an hour\n",
                           "tests/test_tides.py::test_tides - asked 3 times, expected 1",
                           "tides: keep answers for an hour", "Tides are asked once an hour.")),
        ("feature/length", _migration(8, "boat length")),
        ("main", _in_browser("Try the booking form in the browser.", "/book")),
        ("fix/overlap", _fix("Two boats got the same berth on the changeover day.", _CALENDAR,
                             "# the last day is free again at noon\n",
                             "tests/test_bookings.py::test_booking - berth 4 booked twice",
                             "bookings: the changeover day is half open",
                             "The last day of a stay is free from noon on.")),
        ("main", (_ask("Remember: never call the tide service in tests, use the recorded answers."),
                  *_read("tests/test_tides.py", "src/harbour/tides/client.py"),
                  _edit("tests/test_tides.py", "\n\nRECORDED = {}\n"),
                  Step("run", _TESTS, _PASSED.format(n=25)),
                  Step("keep", "The coast guard's service answers 429 after ten requests a minute",
                       "gotcha", _TIDES[1]),
                  Step("commit", "tides: recorded answers in tests"),
                  _say("Tests use recorded tides now."))),
        ("feature/harbour-dues", _migration(9, "harbour dues")),
        ("main", _wrong_path("Do the web tests cover the login?", "src/harbour/web/session.py")),
        ("feature/login", _fix("Sessions stay open for ever after a logout. They must end at once.",
                               _WEB[::-1], "# closed at logout\n",
                               "tests/test_web.py::test_pages - session still valid",
                               "web: a logout ends the session", "A logout deletes the session.")),
        ("main", _in_browser("Check the tide page in the browser after the change.",
                             "/tides")),
        ("spike/async", (_ask("Try whether an async tide client is faster."),
                         *_read(*_TIDES), _edit(_TIDES[1], "# async\n"),
                         Step("fail", _TESTS, "RuntimeError: event loop is closed\n6 failed"),
                         _edit(_TIDES[1], "# one loop\n"),
                         Step("fail", _TESTS, "RuntimeError: event loop is closed\n4 failed"),
                         Step("keep", "An async tide client fails: the web framework closes the"
                              " event loop after each request", "dead_end", _TIDES[1]),
                         Step("run", "git checkout -- src/harbour/tides/client.py", ""),
                         Step("run", _TESTS, _PASSED.format(n=25)),
                         _say("The async client does not pay: the framework closes the loop. I went"
                              " back to the plain one."))),
        ("feature/season", _migration(10, "season")),
        ("fix/credit", _fix("A cancelled stay is credited twice when the button is pressed twice.",
                            _BILLING, "# one credit for one invoice\n",
                            "tests/test_billing.py::test_invoice - 2 credits, expected 1",
                            "billing: one credit for one invoice",
                            "An invoice can be credited once.")),
        ("main", (_ask("No, that is wrong: prices for guests are per metre and night, not per"
                       " night. Remember that tariffs are per metre and night."),
                  *_read(*_BILLING[::-1]), _edit(_BILLING[2], "# per metre and night\n"),
                  Step("run", _TESTS, _PASSED.format(n=26)),
                  Step("commit", "billing: tariffs are per metre and night"),
                  _say("Tariffs are per metre and night now; invoices follow."))),
        ("feature/waiting-list", _migration(11, "waiting list")),
        ("main", _in_browser("Does the booking form still work on a narrow screen?",
                             "/book")),
        ("fix/tide-zone", _fix("Tides are an hour off since the clocks changed.", _TIDES,
                               "# moments in UTC\n",
                               "tests/test_tides.py::test_tides - 13:10, expected 12:10",
                               "tides: moments in UTC", "Tides are kept in UTC.")),
        ("main", _wrong_path("Run everything once more before the release.", _CALENDAR[0])),
        ("release/0.5", (_ask("Prepare the release 0.5."),
                         *_read("pyproject.toml", "README.md", "CONTRIBUTING.md"),
                         _edit("pyproject.toml", "# 0.5.0\n"),
                         Step("run", _TESTS, _PASSED.format(n=27)),
                         Step("commit", "release: 0.5.0"),
                         _say("Version 0.5.0 is set and committed. Next steps: tag and push."))),
        ("feature/deposits", _migration(12, "deposits")),
        ("feature/deposits", (_ask("Deposits shall be kept apart from the invoice total. Where is"
                                   " the total made?"),
                              *_read(*_BILLING), *_read(*_CALENDAR),
                              _edit(_BILLING[0], "# deposits apart\n"),
                              Step("run", _TESTS, _PASSED.format(n=28)))),
    ]  # fmt: skip


def demo_sessions(*, seed: int) -> list[DemoSession]:
    """The sessions, oldest first; the last one is still open."""
    chance = random.Random(seed)
    work = _work()
    spread = sorted(chance.sample(range(1, DAYS), k=min(len(work) - 2, DAYS - 1)), reverse=True)
    days = [*spread, *([0] * (len(work) - len(spread)))]
    last = len(work) - 1
    return [
        DemoSession(
            days_ago=day,
            hour=chance.choice((8, 9, 10, 13, 14, 15)) if day else 5 + number - last,
            client="claude-code",
            branch=branch,
            steps=steps,
            ends=number != last,
        )
        for number, (day, (branch, steps)) in enumerate(zip(days, work, strict=True))
    ]
