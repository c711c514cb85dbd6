"""`wellkept admin models`: list, get, remove."""

from __future__ import annotations

import os

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.groups import Group
from wellkept.api.wiring.local_models import (
    downloaded_models,
    get_model,
    known_models,
    remove_model,
)

_USE = {
    "embedding": (
        "Use it: wellkept config set embedding.provider fastembed && "
        "wellkept config set embedding.model {name} && wellkept admin reindex"
    ),
    "reranker": "Use it: wellkept config set reranker.name {name}",
}


@click.group(cls=Group, invoke_without_command=True)
@options.json_option
@click.pass_context
def models(ctx: click.Context, *, as_json: bool) -> None:
    """List, download and remove embedding models and rerankers."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_models, as_json=as_json)


@models.command("list")
@options.json_option
def list_models(*, as_json: bool = False) -> None:
    """List the models that can be downloaded, and those on this machine."""
    downloaded = downloaded_models(os.environ)
    known = known_models()
    if as_json:
        output.print_json({"models": known, "downloaded": downloaded})
        return
    here = {model.name: "damaged" if model.problem() else "yes" for model in downloaded}
    rows = [
        (
            one.name,
            one.kind,
            f"{one.size_mb:,} MB",
            str(one.dimension or ""),
            one.licence,
            here.get(one.name, ""),
        )
        for one in known
    ]
    output.print_table(("model", "kind", "size", "dimension", "licence", "downloaded"), rows)
    output.note("Download one: wellkept admin models get NAME")


@models.command()
@click.argument("name")
@click.option("--again", is_flag=True, help="Download even if the model is already here.")
@options.json_option
def get(*, name: str, again: bool, as_json: bool) -> None:
    """Download a model once; afterwards it works offline.

    Its files are checked by SHA-256. It is used only when the settings name it.
    """
    size = next((one.size_mb for one in known_models() if one.name.lower() == name.lower()), None)
    if size is not None:
        output.note(f"{name}: {size:,} MB")
    with output.progress_bar(name) as progress:
        model = get_model(name, os.environ, again=again, progress=progress)
    if as_json:
        output.print_json(model)
        return
    click.echo(f"{model.name}: {len(model.files)} files, {model.size_mb:,} MB, SHA-256 checked.")
    click.echo(f"Folder: {model.folder}")
    output.note(_USE[model.kind].format(name=model.name))


@models.command()
@click.argument("name")
@options.json_option
def remove(*, name: str, as_json: bool) -> None:
    """Delete a downloaded model, or what an interrupted download has left."""
    model = remove_model(name, os.environ)
    if as_json:
        nothing: dict[str, object] = {"kind": None, "folder": None, "files": {}, "dimension": None}
        output.print_json(model or {"name": name, **nothing})
    elif model is None:
        click.echo(f"Removed what there was of {name}.")
    else:
        click.echo(f"Removed {model.name}: {model.size_mb:,} MB.")
