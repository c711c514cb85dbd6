"""`wellkept install`, and what it shares with `uninstall` and `status`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from difflib import unified_diff
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import click

from wellkept.app.projects.resolver import resolve_project
from wellkept.app.settings import paths
from wellkept.cli import options, output
from wellkept.clients.hook_spec import ClientFolders, InstallScope, Programs, Shell
from wellkept.clients.install.client_files import CLIENTS
from wellkept.clients.install.files import InstallRecords
from wellkept.clients.install.installer import Installer, InstallPlan, InstallState, PlannedFile
from wellkept.core.errors import UsageError

Command: TypeAlias = Callable[..., Any]

client_argument = click.argument("client", type=click.Choice(list(CLIENTS)))


def scope_options(command: Command) -> Command:
    """`--user` or `--project`, as `scope`."""
    for flag, value, text in (
        ("--project", InstallScope.PROJECT, "Only for the project that this folder belongs to."),
        ("--user", InstallScope.USER, "For everything you do (the default)."),
    ):
        option = click.option(flag, "scope", flag_value=value.value, help=text)
        command = option(command)
    return command


def chosen(scope: str | None) -> InstallScope:
    """The scope that the options name."""
    return InstallScope(scope or InstallScope.USER)


@click.command()
@client_argument
@scope_options
@click.option(
    "--plugin",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="For claude-code: write a plugin folder with all of it instead.",
)
@click.option("--no-mcp", is_flag=True, help="Leave the MCP server out.")
@click.option("--no-commands", is_flag=True, help="Leave the slash commands out.")
@options.dry_run_option
@options.json_option
def install(
    *,
    client: str,
    scope: str | None,
    plugin: Path | None,
    no_mcp: bool,
    no_commands: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Put Wellkept into a coding client.

    Hooks, the MCP server and slash commands are added to the client's own settings; everything
    else in them stays as it is. Doing it again changes nothing, or brings them up to date.
    """
    programs = our_programs(server=not no_mcp, commands=not no_commands)
    if plugin is not None:
        if client != "claude-code" or scope is not None or dry_run:
            raise UsageError(
                "--plugin is for claude-code and takes neither a scope nor a dry run.",
                hint="Leave the other options out.",
            )
        _write_plugin(plugin.absolute(), programs, as_json=as_json)
        return
    change = make_installer(programs).install(client, scope=chosen(scope), dry_run=dry_run)
    if not dry_run:
        note_drainer(os.environ)
    done = "is in already" if change.is_unchanged else "is now in"
    tell(change, client=client, dry_run=dry_run, as_json=as_json, done=done)
    if not no_mcp and not programs.server:
        output.note(_NO_SDK)


def _write_plugin(folder: Path, programs: Programs, *, as_json: bool) -> None:
    from wellkept.clients.install.claude_plugin import write_plugin
    from wellkept.clients.install.command_lines import command_line

    note_drainer(os.environ)
    written = write_plugin(folder, programs=programs)
    if as_json:
        output.print_json({"client": "claude-code", "path": folder, "files": written})
        return
    click.echo(f"The plugin is in: {output.one_line(str(folder))}")
    output.note(f"Start it with `claude --plugin-dir {command_line([str(folder)], Shell.SH)}`.")
    if (
        make_installer().status("claude-code", scope=InstallScope.USER).state
        is not InstallState.ABSENT
    ):
        output.note(
            "Your settings have Wellkept's hooks too, so every event would be caught twice:"
            " run `wellkept uninstall claude-code`."
        )


def make_installer(programs: Programs | None = None) -> Installer:
    """The installer for this machine and this installation of Wellkept."""
    return Installer(
        folders=ClientFolders(
            home=Path.home(),
            project=resolve_project(paths.current_folder()).root,
            environment=os.environ,
        ),
        programs=programs or our_programs(),
        records=InstallRecords(paths.data_folder(os.environ) / "installed"),
    )


def our_programs(*, server: bool = True, commands: bool = True) -> Programs:
    """What clients are told to start; by whole paths, since theirs may be another `PATH`."""
    itself = (sys.executable, "-P", "-m", "wellkept.cli")
    beside = Path(sys.executable).with_name("wellkept")
    wellkept = (str(beside),) if beside.is_file() else itself
    return Programs(
        hook=hook_command(),
        server=(*itself, "mcp") if server and find_spec("mcp") else (),
        wellkept=wellkept if commands else (),
        windows=sys.platform == "win32",
        before_tools=_before_tools(),
    )


def _before_tools() -> bool:
    """Whether the person wants the hook to be started before tools too."""
    from wellkept.app.settings.sources import SettingSources, load_settings

    settings = load_settings(SettingSources.of(os.environ, cwd=paths.current_folder()))
    return settings.capture_before_tools == "on"


def note_drainer(environment: Mapping[str, str]) -> None:
    """Tell the hook process, which runs outside this environment, what takes its events in."""
    from wellkept.app.observer.spool_folder import SpoolFolder
    from wellkept.clients.detached_drain import record_command

    state = SpoolFolder.of(environment).folder.parent
    paths.make_private_folder(state)
    record_command(str(state), (sys.executable, "-P", "-m", "wellkept.cli", "spool", "drain"))


def hook_command() -> tuple[str, ...]:
    """The program that clients start: the real interpreter, isolated and without `site`.

    Not a virtual environment's own, nor a shim: both start more slowly, and the hook finds
    Wellkept from its own place.
    """
    import wellkept.clients

    base = getattr(sys, "_base_executable", "") or sys.executable
    hook = Path(wellkept.clients.__path__[0], "hook.py").resolve()
    return (os.path.realpath(base), "-I", "-S", str(hook))


def tell(change: InstallPlan, *, client: str, dry_run: bool, as_json: bool, done: str) -> None:
    """What was done to a client's files, or would be."""
    if as_json:
        shown = {"client": client, "path": change.path, "changed": not change.is_unchanged}
        files = [
            {"path": f.path, "changed": not f.is_unchanged, "diff": _diff(f)} for f in change.files
        ]
        more = {"dry_run": dry_run, "diff": diff(change), "files": files, "notes": change.notes}
        output.print_json(shown | more)
        return
    if dry_run and not change.is_unchanged:
        click.echo(output.safe(diff(change)), nl=False)
        return
    touched = [file.path for file in change.files if not file.is_unchanged]
    for path in touched or [change.path]:
        click.echo(f"Wellkept {done}: {output.one_line(str(path))}")
    for note in change.notes if not change.is_unchanged else ():
        output.note(note)


def diff(change: InstallPlan) -> str:
    """A change as a diff that `patch` reads; empty when there is none."""
    return "".join(map(_diff, change.files))


def _diff(change: PlannedFile) -> str:
    path = str(change.path)
    lines = unified_diff(
        _lines(change.before),
        _lines(change.after),
        fromfile="/dev/null" if change.before is None else path,
        tofile="/dev/null" if change.after is None else path,
    )
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)


_NO_SDK = (
    "The MCP server is left out, because it needs the MCP SDK: pip install 'wellkept[mcp]', then"
    " install again."
)
_NO_NEWLINE = "\\ No newline at end of file\n"


def _lines(raw: bytes | None) -> list[str]:
    return (raw or b"").decode("utf-8", "replace").splitlines(keepends=True)
