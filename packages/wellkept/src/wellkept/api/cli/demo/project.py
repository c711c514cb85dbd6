"""The repository of the demo: a booking service of a small marina."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

NAME: Final = "harbour"
_AUTHOR: Final = ("Robin Vester", "robin@harbour.example")


def _module(doc: str, imports: str, *functions: str) -> str:
    body = "\n\n\n".join(
        f'def {name}(value: object) -> object:\n    """{name.replace("_", " ").capitalize()}.'
        f'"""\n    return {call}'
        for name, call in (function.split("=") for function in functions)
    )
    return f'"""{doc}"""\n\n{imports}\n\n\n{body}\n'.replace("\n\n\n\n\n", "\n\n\n")


FILES: Final = MappingProxyType(
    {
        "README.md": "# Harbour\n\nBerth bookings, tides and invoices of a small marina.\n\n"
        "Run the tests with `make test`. The web app starts with `make run` on port 8040.\n\n"
        "Amounts are integers in cents everywhere; only invoices show euros.\n",
        "CONTRIBUTING.md": "# Contributing\n\nEvery change has a test. Migrations are numbered and "
        "never edited after they were merged. Commits are `area: what changed`.\n",
        "Makefile": "test:\n\tPYTHONPATH=src python -m pytest -q\n"
        "run:\n\tpython -m harbour.web.app\n",
        "pyproject.toml": '[project]\nname = "harbour"\nversion = "0.4.0"\n',
        "src/harbour/__init__.py": '"""Berth bookings of a small marina."""\n',
        "src/harbour/bookings/__init__.py": '"""Who lies where, and when."""\n',
        "src/harbour/bookings/models.py": _module(
            "Berths, boats and bookings.", "from harbour.storage import db",
            "berth_of=db.row(value)", "boat_of=db.row(value)",
        ),
        "src/harbour/bookings/calendar.py": _module(
            "Free and taken days of a berth.", "from harbour.bookings import models",
            "free_days=models.berth_of(value)", "overlaps=models.boat_of(value)",
        ),
        "src/harbour/bookings/service.py": _module(
            "Book, move and cancel.",
            "from harbour.billing import invoices\nfrom harbour.bookings import calendar",
            "book=invoices.draft(calendar.free_days(value))", "cancel=invoices.credit(value)",
        ),
        "src/harbour/billing/__init__.py": '"""What a stay costs."""\n',
        "src/harbour/billing/tariffs.py": _module(
            "Prices by season and length.", "from harbour.storage import db",
            "tariff_of=db.row(value)", "season_of=db.row(value)",
        ),
        "src/harbour/billing/rounding.py": _module(
            "Cents to euros.", "import decimal", "round_half_up=decimal.Decimal(str(value))",
        ),
        "src/harbour/billing/invoices.py": _module(
            "Draft, send and credit invoices.",
            "from harbour.billing import rounding, tariffs",
            "draft=rounding.round_half_up(tariffs.tariff_of(value))", "credit=draft(value)",
        ),
        "src/harbour/tides/__init__.py": '"""High and low water."""\n',
        "src/harbour/tides/client.py": _module(
            "The tide service of the coast guard.", "import urllib.request",
            "fetch=urllib.request.Request(str(value))",
        ),
        "src/harbour/tides/cache.py": _module(
            "Tides of the next days, kept for an hour.",
            "from harbour.storage import db\nfrom harbour.tides import client",
            "tides_for=db.row(client.fetch(value))",
        ),
        "src/harbour/tides/forecast.py": _module(
            "Whether a boat can enter.", "from harbour.tides import cache",
            "can_enter=cache.tides_for(value)",
        ),
        "src/harbour/storage/__init__.py": '"""The database."""\n',
        "src/harbour/storage/db.py": _module(
            "Connections and rows.", "import sqlite3",
            "row=sqlite3.Row", "connect=sqlite3.connect(str(value))",
        ),
        "src/harbour/storage/migrations.py": _module(
            "Numbered migrations.", "from harbour.storage import db", "migrate=db.connect(value)",
        ),
        "src/harbour/web/__init__.py": '"""The web app."""\n',
        "src/harbour/web/session.py": _module("Who is logged in.", "from harbour.storage import db",
                                              "login=db.row(value)"),
        "src/harbour/web/routes.py": _module(
            "Pages and forms.",
            "from harbour.bookings import service\nfrom harbour.tides import forecast\n"
            "from harbour.web import session",
            "booking_page=service.book(session.login(value))",
            "tide_page=forecast.can_enter(value)",
        ),
        "src/harbour/web/app.py": _module("The application.", "from harbour.web import routes",
                                          "main=routes.booking_page(value)"),
        "tests/test_bookings.py": "from harbour.bookings import service\n\n\n"
        "def test_booking():\n    assert service.book\n",
        "tests/test_billing.py": "from harbour.billing import invoices\n\n\n"
        "def test_invoice():\n    assert invoices.draft\n",
        "tests/test_tides.py": "from harbour.tides import forecast\n\n\n"
        "def test_tides():\n    assert forecast.can_enter\n",
        "tests/test_web.py": "from harbour.web import routes\n\n\n"
        "def test_pages():\n    assert routes.booking_page\n",
        ".claude/skills/release/SKILL.md": "---\nname: release\n"
        "description: Cut a release with version, changelog and tag. Use when asked to release.\n"
        "---\n\n1. Set the version in pyproject.toml.\n2. Move the changelog entries under it.\n"
        "3. Tag and push.\n",
        ".gitignore": "__pycache__/\n.wellkept/\n",
    }
)  # fmt: skip


class DemoProject:
    """The repository, with commits of the past."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def create(self, *, at: datetime) -> None:
        """Write the files and make the first commits."""
        self.root.mkdir(parents=True)
        self._git("init", "-q", "-b", "main", at=at)
        for path, text in FILES.items():
            self.write(path, text)
        self.commit("start: bookings, billing, tides and a web app", at=at)

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def append(self, path: str, line: str) -> None:
        """Add a line to a file, as an edit does."""
        file = self.root / path
        file.write_text(file.read_text("utf-8") + line, encoding="utf-8")

    def commit(self, message: str, *, at: datetime) -> str:
        """Commit everything at a moment; returns the short id."""
        self._git("add", "-A", at=at)
        self._git("commit", "-q", "--allow-empty", "-m", message, at=at)
        return self._git("rev-parse", "--short", "HEAD", at=at)

    def branch(self, name: str, *, at: datetime) -> None:
        """Go to a branch, made where it is missing."""
        self._git("checkout", "-q", "-B", name, at=at)

    def _git(self, *arguments: str, at: datetime) -> str:
        import os

        name, mail = _AUTHOR
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.root.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": mail,
            "GIT_COMMITTER_NAME": name,
            "GIT_COMMITTER_EMAIL": mail,
            "GIT_AUTHOR_DATE": at.isoformat(),
            "GIT_COMMITTER_DATE": at.isoformat(),
        }
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env=environment, check=True, capture_output=True
        )
        return done.stdout.decode().strip()
