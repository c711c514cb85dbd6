"""`wellkept install`, and functions shared with `uninstall` and `status`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from wellkept.api.cli import options, output
from wellkept.clients.hook_spec import ClientFolders, InstallScope, Programs, Shell
from wellkept.clients.install.client_files import CLIENTS
from wellkept.clients.install.files import InstallRecords
from wellkept.clients.install.installer import Installer, InstallPlan, InstallState, PlannedFile
from wellkept.core.errors import UsageError
from wellkept.core.settings import paths
from wellkept.core.settings.model import rule_of
from wellkept.project.resolver import resolve_project

if TYPE_CHECKING:
    from wellkept.core.settings.model import Settings

Command: TypeAlias = Callable[..., Any]
MODEL_NAMES = tuple(rule_of("text_model.provider").choices)

client_argument = click.argument("client", type=click.Choice(list(CLIENTS)))


def scope_options(command: Command) -> Command:
    """Add `--user` and `--project`, passed as `scope`."""
    for flag, value, text in (
        ("--project", InstallScope.PROJECT, "Only for the project of this folder."),
        ("--user", InstallScope.USER, "For all projects (default)."),
    ):
        option = click.option(flag, "scope", flag_value=value.value, help=text)
        command = option(command)
    return command


def install_scope(scope: str | None) -> InstallScope:
    """The scope selected by the options."""
    return InstallScope(scope or InstallScope.USER)


@click.command()
@client_argument
@scope_options
@click.option(
    "--plugin",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write a plugin folder instead (claude-code only).",
)
@click.option("--no-mcp", is_flag=True, help="Do not install the MCP server.")
@click.option("--no-commands", is_flag=True, help="Do not install the slash commands.")
@click.option(
    "--model",
    "model_name",
    type=click.Choice(MODEL_NAMES),
    help="The model that reads sessions; asked for on a terminal when none was chosen yet.",
)
@options.dry_run_option
@options.json_option
def install(
    *,
    client: str,
    scope: str | None,
    plugin: Path | None,
    no_mcp: bool,
    no_commands: bool,
    model_name: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Install Wellkept in a coding client.

    Adds hooks, the MCP server and slash commands to the client's settings; other settings stay
    unchanged. Running it again updates the installation.
    """
    programs = client_programs(server=not no_mcp, commands=not no_commands, build=not dry_run)
    if plugin is not None:
        if client != "claude-code" or scope is not None or dry_run:
            raise UsageError(
                "--plugin works with claude-code only, without a scope or --dry-run.",
                hint="Remove the other options.",
            )
        _write_plugin(plugin.absolute(), programs, as_json=as_json)
        _choose_model(model_name, may_ask=not as_json)
        return
    change = make_installer(programs).install(client, scope=install_scope(scope), dry_run=dry_run)
    if not dry_run:
        record_drain_command(os.environ)
    status = "already installed" if change.is_unchanged else "installed"
    print_change(change, client=client, dry_run=dry_run, as_json=as_json, status=status)
    if not dry_run:
        _choose_model(model_name, may_ask=not as_json)


def _choose_model(name: str | None, *, may_ask: bool) -> None:
    """Write the text model to the settings; ask for it on a terminal when none was chosen yet."""
    from wellkept.api.wiring.text_model_choice import cost_note, model_choices, save_choice

    settings = _settings()
    is_chosen = settings.text_model_provider or settings.text_model_base_url
    if name is None and may_ask and not is_chosen and output.is_interactive():
        choices = model_choices(os.environ)
        click.echo(_MODEL_QUESTION, err=True)
        for one in choices:
            mark = "  " if one.available else "- "
            click.echo(f"  {mark}{one.name}: {one.reason}", err=True)
        click.echo(f"    none: free; rules alone read sessions\n{cost_note(settings)}", err=True)
        usable = ["none", *(one.name for one in choices if one.available)]
        question = "Which model shall read your sessions?"
        name = click.prompt(question, type=click.Choice(usable), default="none", err=True)
    if name is not None:
        path = save_choice(name, os.environ)
        output.note(f"text_model.provider is {name} in {path}; see `wellkept config set --model`.")


def _write_plugin(folder: Path, programs: Programs, *, as_json: bool) -> None:
    from wellkept import __version__
    from wellkept.clients.install.claude_plugin import write_plugin
    from wellkept.clients.install.hook_entries import command_line

    record_drain_command(os.environ)
    written = write_plugin(folder, programs=programs, version=__version__)
    if as_json:
        output.print_json({"client": "claude-code", "path": folder, "files": written})
        return
    click.echo(f"Plugin written to: {output.one_line(str(folder))}")
    output.note(f"Start it with `claude --plugin-dir {command_line([str(folder)], Shell.SH)}`.")
    if (
        make_installer().status("claude-code", scope=InstallScope.USER).state
        is not InstallState.ABSENT
    ):
        output.note(
            "Hooks are also installed in your settings, so events would be captured twice. Run"
            " `wellkept uninstall claude-code`."
        )


def make_installer(programs: Programs | None = None, *, folder: Path | None = None) -> Installer:
    """The installer for this machine and this installation of Wellkept. `folder` is that of the
    project, by default the current one."""
    return Installer(
        folders=ClientFolders(
            home=Path.home(),
            project=resolve_project(folder or paths.current_folder()).root,
            environment=os.environ,
        ),
        programs=programs or client_programs(),
        records=InstallRecords(paths.data_folder(os.environ) / "installed"),
    )


def client_programs(*, server: bool = True, commands: bool = True, build: bool = False) -> Programs:
    """The programs that clients start, as absolute paths: a client may have another `PATH`. With
    `build` the native hook is built first, where there is a compiler."""
    python_module = (sys.executable, "-P", "-m", "wellkept.cli")
    script = Path(sys.executable).with_name("wellkept")
    wellkept = (str(script),) if script.is_file() else python_module
    return Programs(
        hook=hook_command(build=build),
        server=(*python_module, "mcp") if server else (),
        wellkept=wellkept if commands else (),
        windows=sys.platform == "win32",
        before_tools=_before_tools(),
    )


def _before_tools() -> bool:
    """Whether the settings enable the hook before tool calls."""
    return _settings().capture_before_tools == "on"


def _settings() -> Settings:
    from wellkept.core.settings.sources import SettingSources, load_settings

    return load_settings(SettingSources.of(os.environ, cwd=paths.current_folder()))


def record_drain_command(environment: Mapping[str, str]) -> None:
    """Record the drain command for the hook process, which runs outside this environment."""
    from wellkept.clients.detached_drain import record_command
    from wellkept.observe.observer.spool_folder import SpoolFolder

    state = SpoolFolder.of(environment).folder.parent
    paths.make_private_folder(state)
    record_command(str(state), (sys.executable, "-P", "-m", "wellkept.cli", "admin", "drain"))


def hook_command(*, build: bool = False) -> tuple[str, ...]:
    """The hook command: the base interpreter, isolated and without `site`; before it the native
    program where it is built, which starts that only when it has to.

    The interpreter of a virtual environment or a shim starts more slowly. The hook finds Wellkept
    from its own path.
    """
    import wellkept.clients
    from wellkept.clients.install.native_hook import native_hook

    base = getattr(sys, "_base_executable", "") or sys.executable
    hook = Path(wellkept.clients.__path__[0], "hook.py").resolve()
    native = native_hook(os.environ, build=build)
    return (*([str(native)] if native else []), os.path.realpath(base), "-I", "-S", str(hook))


def print_change(
    change: InstallPlan, *, client: str, dry_run: bool, as_json: bool, status: str
) -> None:
    """Print the changes to a client's files."""
    if as_json:
        shown = {"client": client, "path": change.path, "changed": not change.is_unchanged}
        files = [
            {"path": f.path, "changed": not f.is_unchanged, "diff": file_diff(f)}
            for f in change.files
        ]
        more = {"dry_run": dry_run, "diff": diff(change), "files": files, "notes": change.notes}
        output.print_json(shown | more)
        return
    touched = [file.path for file in change.files if not file.is_unchanged]
    if dry_run and touched:
        click.echo(output.safe(diff(change)), nl=False)
    for path in () if dry_run and touched else touched or [change.path]:
        click.echo(f"Wellkept {status}: {output.one_line(str(path))}")
    for note in change.notes if not change.is_unchanged else ():
        output.note(note)


def diff(change: InstallPlan) -> str:
    """The changes as a unified diff."""
    return "".join(map(file_diff, change.files))


def file_diff(change: PlannedFile) -> str:
    """The change of one file as a unified diff."""
    path = str(change.path)
    lines = unified_diff(
        _lines(change.before),
        _lines(change.after),
        fromfile="/dev/null" if change.before is None else path,
        tofile="/dev/null" if change.after is None else path,
    )
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)


_MODEL_QUESTION = (
    "A model can read what was said in finished sessions, without secrets, and keep what was"
    " decided, corrected\nand found out. Choices on this machine (a dash: not usable now):"
)
_NO_NEWLINE = "\\ No newline at end of file\n"


def _lines(raw: bytes | None) -> list[str]:
    return (raw or b"").decode("utf-8", "replace").splitlines(keepends=True)
