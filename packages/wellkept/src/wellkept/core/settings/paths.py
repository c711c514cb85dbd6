"""The folders of settings and data on this machine.

`WELLKEPT_HOME` overrides everything with one folder. Otherwise the conventions of the system apply.
Nothing is created here: folders appear with the first write.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from wellkept.core.errors import UsageError

HOME_VARIABLE = "WELLKEPT_HOME"
PROJECT_FILE = ".wellkept.toml"
_APP = "wellkept"
_Finder: TypeAlias = "Callable[[Mapping[str, str]], Path]"


def config_file(environment: Mapping[str, str]) -> Path:
    """The user's settings file, whether it exists or not."""
    return _own_home(environment, default=_config_folder) / "config.toml"


def config_stamp(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """Changes when the user's settings file does; None without one."""
    try:
        seen = config_file(environment).stat()
    except (OSError, UsageError):
        return None
    return seen.st_mtime_ns, seen.st_size


def data_folder(environment: Mapping[str, str]) -> Path:
    """The folder of the user's memories, whether it exists or not."""
    return _own_home(environment, default=_data_folder)


def models_folder(environment: Mapping[str, str]) -> Path:
    """The folder of downloaded models, whether it exists or not."""
    return data_folder(environment) / "models"


def chat_folder(environment: Mapping[str, str]) -> Path:
    """The folder in which a client that serves as a model works, whether it exists or not."""
    return data_folder(environment) / "model"


def managed_skills_folder(environment: Mapping[str, str]) -> Path:
    """The folder in which an administrator of this machine puts skills for everybody."""
    if sys.platform == "win32":
        return _folder(environment, "PROGRAMDATA", "C:/ProgramData") / _APP / "skills"
    return Path("/etc") / _APP / "skills"


def project_file(start: Path) -> Path | None:
    """The settings file of the project that a folder belongs to, if there is one.

    Searched from the folder up to the root of its git checkout. Outside a checkout only the folder
    itself counts, so that a file in a shared parent has no effect.
    """
    start = start.absolute()
    folders = [start, *start.parents]
    root = next((i for i, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    candidates = (folder / PROJECT_FILE for folder in folders[: root + 1])
    return next((path for path in candidates if path.is_file()), None)


def current_folder() -> Path:
    """The working folder; UsageError when it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "The current folder does not exist any more.", hint="Change to another one."
        ) from None


def expanded(path: str | Path) -> Path:
    """The path with a leading `~` expanded; UsageError for an unknown user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise UsageError(
            f"The home folder in {str(path)!r} is not known.", hint="Write the whole path."
        ) from None


def make_private_folder(folder: Path) -> None:
    """Create a folder that only its owner may enter; an existing one is not changed."""
    for missing in reversed([p for p in (folder, *folder.parents) if not p.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)


def make_private_file(path: Path) -> bool:
    """Create an empty file that only the owner can read; False when it exists."""
    try:
        if path.exists():
            # Refuse a folder, a pipe or a device before anything is written to it.
            if not path.is_file():
                raise UsageError(f"{path} is not a database file.", hint="Name another path.")
            return False
        make_private_folder(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError as error:
        raise UsageError(
            f"The database {path} cannot be made: {error.strerror}.",
            hint="Choose another place with the setting store.path or with WELLKEPT_HOME.",
        ) from None
    return True


def _own_home(environment: Mapping[str, str], *, default: _Finder) -> Path:
    own = environment.get(HOME_VARIABLE)
    return expanded(own) if own else default(environment)


def _config_folder(environment: Mapping[str, str]) -> Path:
    if sys.platform == "win32":
        return _folder(environment, "APPDATA", "AppData/Roaming")
    if sys.platform == "darwin":
        return _home() / "Library/Application Support" / _APP
    return _folder(environment, "XDG_CONFIG_HOME", ".config")


def _data_folder(environment: Mapping[str, str]) -> Path:
    if sys.platform == "win32":
        return _folder(environment, "LOCALAPPDATA", "AppData/Local")
    if sys.platform == "darwin":
        return _home() / "Library/Application Support" / _APP
    return _folder(environment, "XDG_DATA_HOME", ".local/share")


def _folder(environment: Mapping[str, str], variable: str, fallback: str) -> Path:
    # The XDG rules say that a relative path is to be ignored.
    given = Path(environment.get(variable, ""))
    return (given if given.is_absolute() else _home() / fallback) / _APP


def _home() -> Path:
    """The user's home; UsageError when there is none or it is relative."""
    try:
        home = Path.home()
    except RuntimeError:
        home = Path()
    if not home.is_absolute():
        raise UsageError("This user has no home folder.", hint=f"Name a folder in {HOME_VARIABLE}.")
    return home
