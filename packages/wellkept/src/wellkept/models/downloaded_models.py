"""Models of fastembed that were downloaded on request: embedding models and rerankers.

`wellkept admin models get` downloads one into its own folder and keeps a manifest with the SHA-256
of each file. Invariants: a model is used only with its manifest and files of the kept size;
importing this loads no fastembed.
"""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.records import record
from wellkept.core.types import Progress
from wellkept.models.model_hub import INSTALL_HINT, KINDS, Kind, fetch, known_model, sha256_of

if TYPE_CHECKING:
    from collections.abc import Mapping


@record
class DownloadedModel:
    """A model on this machine. `files` are sizes and SHA-256 by path under `folder`."""

    name: str
    kind: Kind
    folder: Path
    files: Mapping[str, tuple[int, str]]
    dimension: int | None = None

    @property
    def size_mb(self) -> int:
        """Its size on disk."""
        return round(sum(size for size, _ in self.files.values()) / 1_000_000)

    def problem(self) -> str | None:
        """Why the model cannot be used, or None; checks file sizes, not hashes."""
        for path, (size, _) in self.files.items():
            try:
                found = (self.folder / path).stat().st_size
            except OSError:
                return f"{path} of {self.name} is missing."
            if found != size:
                return f"{path} of {self.name} has {found} bytes, {size} were expected."
        return None

    def verify(self) -> None:
        """Hash every file; raises `ProviderError` on the first that differs."""
        problem = self.problem()
        if problem is None:
            damaged = (
                p for p, (_, kept) in self.files.items() if sha256_of(self.folder / p) != kept
            )
            path = next(damaged, None)
            problem = f"{path} of {self.name} does not match its SHA-256." if path else None
        if problem:
            raise ProviderError(problem, hint=f"Run: wellkept admin models get {self.name} --again")


def download(
    name: str, folder: Path, *, again: bool = False, progress: Progress | None = None
) -> DownloadedModel:
    """Download a model into a folder of its own and keep its manifest.

    Only one process may do so at a time.
    """
    known = known_model(name)
    existing = downloaded_model(known.name, folder)
    if existing is not None and not again and existing.problem() is None:
        return existing
    place = _own_folder(known.name, folder)
    files = fetch(known, place, again=again, progress=progress)
    model = DownloadedModel(
        name=known.name,
        kind=known.kind,
        folder=place,
        files={path: ((place / path).stat().st_size, sha256_of(place / path)) for path in files},
        dimension=known.dimension,
    )
    _write_manifest(model, folder)
    return model


def downloaded_models(folder: Path) -> list[DownloadedModel]:
    """The models in `folder`, by name; a damaged manifest is no model."""
    found = (_read_manifest(path) for path in sorted(folder.glob("*.json")))
    return [model for model in found if model is not None]


def downloaded_model(name: str, folder: Path) -> DownloadedModel | None:
    """A model by name, if it is here."""
    return _read_manifest(_manifest_path(name, folder))


def usable_model(name: str, kind: Kind, folder: Path) -> DownloadedModel:
    """The model, ready for use; `ProviderError` says how to get it."""
    model = downloaded_model(name, folder)
    if model is None:
        raise ProviderError(
            f"The {kind} model {name} is not on this machine.",
            hint=f"Run: wellkept admin models get {name}",
        )
    if model.kind != kind:
        raise ProviderError(f"{name} is no {kind} model, but a model of the kind {model.kind}.")
    if find_spec("fastembed") is None:
        raise ProviderError("The package fastembed is not installed.", hint=INSTALL_HINT)
    if problem := model.problem():
        raise ProviderError(problem, hint=f"Run: wellkept admin models get {name} --again")
    return model


def remove(name: str, folder: Path) -> DownloadedModel | None:
    """Delete a model's files and manifest, or what an interrupted download has left (None)."""
    model = downloaded_model(name, folder)
    own = _own_folder(name, folder) if model is None else _top_folder(model.folder, folder)
    if model is None and ("/" not in name or not own.exists()):
        raise UsageError(f"The model {name} is not on this machine.")
    import shutil

    _manifest_path(name, folder).unlink(missing_ok=True)
    shutil.rmtree(own, ignore_errors=True)
    return model


# -- Manifests ------------------------------------------------------------------------------------


def _own_folder(name: str, folder: Path) -> Path:
    return folder / re.sub(r"[^a-z0-9._-]+", "--", name.lower())


def _manifest_path(name: str, folder: Path) -> Path:
    own = _own_folder(name, folder)
    return own.with_name(own.name + ".json")


def _write_manifest(model: DownloadedModel, folder: Path) -> None:
    kept = {
        "name": model.name,
        "kind": model.kind,
        "dimension": model.dimension,
        "folder": model.folder.relative_to(folder).as_posix(),
        "files": {path: list(facts) for path, facts in model.files.items()},
    }
    path = _manifest_path(model.name, folder)
    partly = path.with_suffix(".part")
    partly.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    partly.replace(path)


def _read_manifest(path: Path) -> DownloadedModel | None:
    try:
        kept = cast("dict[str, object]", json.loads(path.read_text(encoding="utf-8")))
        files = cast("dict[str, list[object]]", kept["files"])
        kind = str(kept["kind"])
        if kind not in KINDS:
            return None
        return DownloadedModel(
            name=str(kept["name"]),
            kind=kind,
            folder=path.parent / str(kept["folder"]),
            files={name: (int(str(size)), str(digest)) for name, (size, digest) in files.items()},
            dimension=cast("int | None", kept.get("dimension")),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _top_folder(place: Path, folder: Path) -> Path:
    """The folder that holds one model and nothing else."""
    return folder / place.relative_to(folder).parts[0]
