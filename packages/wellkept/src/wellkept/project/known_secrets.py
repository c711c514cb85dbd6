"""Reads .env files and credential stores, and keeps salted hashes of the secrets in them.

Nothing of a file is kept but the hashes of its values and its time and size, so that it is read
again only when it changed. Bounded: few files, small ones, and only those of this user. The hook
process never comes here.
"""

from __future__ import annotations

import base64
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from wellkept.text.secrets.formats import use_rules
from wellkept.text.secrets.known_values import (
    SALT_BYTES,
    KnownValues,
    read_known,
    use_known,
    write_known,
)

if TYPE_CHECKING:
    from wellkept.core.settings.model import Settings

FILE_SUFFIX = ".known"
RULES_NAME = "secret_rules.toml"
MAX_VALUES = 5_000
_MAX_FILE_BYTES = 256 << 10
_MAX_FILES, _MAX_FOLDERS = 100, 100
_LEAST, _MOST = 6, 512
_LEAST_LETTERS = 16
# In the project's folder and the folders in it.
_PROJECT_FILES = re.compile(
    r"\.env(?:\.[\w.-]+)?|[\w-]+\.env|\.envrc|\.flaskenv|\.dev\.vars|\.npmrc|\.pypirc|\.netrc"
    r"|[\w-]*\.(?:auto\.)?tfvars|(?:secret|credential)s?\.(?:ya?ml|json|toml|ini)"
)
_TEMPLATES = re.compile(r"(?:^|[._-])(?:example|sample|template|dist|defaults?|schema)(?:$|[._-])")
_HOME_FILES = (
    ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".docker/config.json",
    ".aws/credentials", ".kube/config", ".git-credentials", ".pgpass", ".my.cnf",
    ".config/gh/hosts.yml", ".config/hub", ".cargo/credentials", ".cargo/credentials.toml",
    ".gem/credentials", ".config/gcloud/application_default_credentials.json",
    ".terraform.d/credentials.tfrc.json", ".vault-token", ".config/pip/pip.conf", ".pip/pip.conf",
    ".boto", ".s3cfg", ".m2/settings.xml", ".gradle/gradle.properties",
    ".config/rclone/rclone.conf",
)  # fmt: skip
_DOTENV = re.compile(r"^\s*(?:export\s+)?[A-Za-z_]\w*\s*=\s*[\"']?([^\s\"'#]+)", re.MULTILINE)
_PGPASS = re.compile(r"^[^#\n:]*(?:\\:[^\n:]*)*:\d*\*?:[^\n:]*:[^\n:]*:([^\n]+)$", re.MULTILINE)
_ORDINARY = re.compile(
    r"[a-z]+://.*|[\w.+-]+@[\w.-]+\.[a-z]{2,}|(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?|[\d.:/ -]+"
    r"|/.*|\./.*|~/.*|\$.*|<.*|\{.*|v?\d+(?:\.\d+)+\w*|[\d-]+t[\d:.]+z?",
    re.IGNORECASE,
)


def know_secrets(
    database: Path,
    settings: Settings,
    *,
    folder: Path | None,
    environment: Mapping[str, str],
) -> None:
    """Recognise the secrets that a project's files and this user's credential stores hold, and
    those of the formats in `secret_rules.toml` beside the database."""
    use_rules(database.with_name(RULES_NAME))
    if settings.secrets_known_values == "off":
        return
    path = str(database.with_suffix(FILE_SUFFIX))
    known = read_known(path)
    if database.parent.is_dir():
        with suppress(OSError):
            known = _refreshed(path, known, folder, environment)
    if known is not None:
        use_known(known)


def _refreshed(
    path: str, known: KnownValues | None, folder: Path | None, environment: Mapping[str, str]
) -> KnownValues | None:
    """The known values with those of files that are new or changed."""
    seen = _read_seen(f"{path}-files")
    found = {str(file): _stamp(file) for file in _files(folder, environment)}
    changed = [name for name, stamp in found.items() if stamp and seen.get(name) != stamp]
    if not changed:
        return known
    now = known or KnownValues(os.urandom(SALT_BYTES))
    hashes = {now.hashed(form) for name in changed for form in _forms(Path(name))}
    merged = KnownValues.of(now.salt, list(hashes | now.hashes)[:MAX_VALUES])
    write_known(path, merged)
    _write_seen(f"{path}-files", {**seen, **{name: found[name] for name in changed}})
    return merged


# -- Which files ----------------------------------------------------------------------------------


def _files(folder: Path | None, environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("HOME") or environment.get("USERPROFILE")
    if home and Path(home).is_absolute():
        yield from (Path(home) / name for name in _HOME_FILES)
    if folder is not None:
        root = _root_of(folder)
        # A home folder is no project: its credential stores are listed above.
        if home is None or root != Path(home):
            yield from _project_files(root)


def _root_of(folder: Path) -> Path:
    """The checkout that a folder is in, or the folder."""
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists():
            return parent
    return folder


def _project_files(root: Path) -> Iterator[Path]:
    count = folders = 0
    for at in (root, *_subfolders(root)):
        folders += 1
        if folders > _MAX_FOLDERS:
            return
        with suppress(OSError), os.scandir(at) as items:
            for item in items:
                if not _PROJECT_FILES.fullmatch(item.name) or _TEMPLATES.search(item.name):
                    continue
                count += 1
                if count > _MAX_FILES:
                    return
                yield Path(item.path)


def _subfolders(root: Path) -> list[Path]:
    try:
        with os.scandir(root) as items:
            names = [i.name for i in items if i.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [root / name for name in sorted(names) if name not in (".git", "node_modules", ".venv")]


def _stamp(file: Path) -> list[int] | None:
    """Time and size of a small plain file of this user; None for anything else."""
    try:
        status = file.stat()
    except OSError:
        return None
    own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    fits = stat.S_ISREG(status.st_mode) and 0 < status.st_size <= _MAX_FILE_BYTES
    return [status.st_mtime_ns, status.st_size] if own and fits else None


# -- What is in them ------------------------------------------------------------------------------


def _forms(file: Path) -> Iterator[str]:
    """The secrets in a file, also as they look in a URL or in base64."""
    for value in dict.fromkeys(_values(file)):
        yield value
        if (in_url := quote(value, safe="")) != value:
            yield in_url
        encoded = base64.b64encode(value.encode()).decode()
        yield from {encoded, encoded.rstrip("=")}


def _values(file: Path) -> Iterator[str]:
    from wellkept.text.secrets.detect import find_secrets
    from wellkept.text.secrets.shape import WorkCount, is_random

    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if file.name == ".vault-token":
        yield from filter(_is_telling, [text.strip()])
    for span in find_secrets(text, WorkCount()):
        found = text[span.start : span.end].strip("\"'`,;")
        yield from filter(_is_telling, [found])
    if file.name == ".pgpass":
        yield from filter(_is_telling, _PGPASS.findall(text))
    for value in _DOTENV.findall(text):
        if is_random(value) and _is_telling(value):
            yield value


def _is_telling(value: str) -> bool:
    """Whether a value can be told from ordinary text: neither short, nor a word, nor an address."""
    if not (_LEAST <= len(value) <= _MOST and value.isascii() and value.isprintable()):
        return False
    if " " in value or _ORDINARY.fullmatch(value) or len(set(value)) < _LEAST - 2:
        return False
    if any(c.isdigit() for c in value) and any(c.isalpha() for c in value):
        return True
    if not value.isalpha():
        return len(value) >= 8 and any(not c.isalnum() and c not in "_-." for c in value)
    return len(value) >= _LEAST_LETTERS


# -- What was seen --------------------------------------------------------------------------------


def _read_seen(path: str) -> dict[str, list[int]]:
    try:
        read: object = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, list[int]]", read) if isinstance(read, dict) else {}


def _write_seen(path: str, seen: dict[str, list[int] | None]) -> None:
    latest = dict(list(seen.items())[-1_000:])
    partial = f"{path}.{os.getpid()}"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(latest, file)
    Path(partial).replace(path)
