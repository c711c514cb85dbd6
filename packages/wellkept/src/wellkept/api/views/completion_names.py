"""Ids and names for shell completion, found without opening Wellkept.

Reads the settings only where they may move the store. Every way to fail gives an empty list: a
person is typing. Imports as little as it can, since it runs at every Tab.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DATABASE = "memory.db"
_SKILL_FOLDERS = (".skills", ".claude/skills", ".agents/skills", ".opencode/skills")
_HOME_FOLDERS = (".claude/skills", ".agents/skills", ".config/opencode/skills")


def names(kind: str, prefix: str, environment: "Mapping[str, str]") -> list[tuple[str, str]]:
    """What begins with a prefix, with a few words about each."""
    from wellkept.store import short_list

    mark = {"memory": "m:", "skill": "/"}.get(kind, "")
    mark = mark if mark and prefix.startswith(mark) else ""
    prefix = prefix.removeprefix(mark)
    path, project = database_path(environment), environment.get("WELLKEPT_PROJECT", "")
    if project and ":" not in project:
        project = f"name:{project}"
    found: list[tuple[str, str]] = []
    # Skills that were used come first.
    for one in ("used skill", "skill") if kind == "skill" else (kind,):
        found += short_list(path, one, prefix, project=project, folders=_folders(os.getcwd()))
    if kind == "skill":
        found += [(one, "") for one in sorted(_skills(environment)) if one.startswith(prefix)]
    return [(mark + name, text) for name, text in dict(found).items()]


def database_path(environment: "Mapping[str, str]") -> str:
    """The file of the store. The whole settings are read only when a file mentions one."""
    given = environment.get("WELLKEPT_STORE_PATH")
    if given:
        return os.path.expanduser(given)
    try:
        with open(os.path.join(_folder(environment, "config"), "config.toml"), "rb") as file:
            may_move = b"store" in file.read()
    except OSError:
        may_move = False
    if may_move:
        from pathlib import Path

        from wellkept.api.wiring.services import store_path
        from wellkept.core.settings.sources import SettingSources, load_settings

        settings = load_settings(SettingSources.of(environment, cwd=Path.cwd()))
        return str(store_path(settings, environment))
    return os.path.join(_folder(environment, "data"), _DATABASE)


def _folder(environment: "Mapping[str, str]", kind: str) -> str:
    """As in `settings.paths`, which takes longer to import than all the rest takes to run."""
    own = environment.get("WELLKEPT_HOME")
    if own:
        return os.path.expanduser(own)
    if sys.platform in ("win32", "darwin"):
        from wellkept.core.settings import paths

        data = paths.data_folder(environment)
        return str(data if kind == "data" else paths.config_file(environment).parent)
    name, usual = {
        "data": ("XDG_DATA_HOME", "~/.local/share"),
        "config": ("XDG_CONFIG_HOME", "~/.config"),
    }[kind]
    given = environment.get(name, "")
    return os.path.join(given if os.path.isabs(given) else os.path.expanduser(usual), "wellkept")


def _folders(start: str) -> list[str]:
    """A folder and those above it."""
    found = [start]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found


def _skills(environment: "Mapping[str, str]") -> "Iterator[str]":
    """Names of the folders and files in which skills lie."""
    home = os.path.expanduser("~")
    here = [os.path.join(above, one) for above in _folders(os.getcwd()) for one in _SKILL_FOLDERS]
    users = [os.path.join(home, one) for one in _HOME_FOLDERS]
    own = os.path.join(_folder(environment, "config"), "skills")
    package = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    for folder in (*here, *users, own, os.path.join(package, "skills/sources/builtin")):
        try:
            with os.scandir(folder) as entries:
                yield from (
                    entry.name.removesuffix(".md")
                    for entry in entries
                    if not entry.name.startswith((".", "_"))
                )
        except OSError:
            continue
