"""Models of fastembed that were downloaded on request: embedding models and rerankers.

`wellkept models get` downloads one into a folder of its own and keeps a manifest with the SHA-256
of each file. Invariants: nothing else here uses the network; a model is used only with its
manifest and files of the kept size; importing this loads no fastembed.
"""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast

from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fastembed.common.model_description import BaseModelDescription
    from fastembed.common.model_management import ModelManagement

Kind = Literal["embedding", "reranker"]
KINDS: Final[tuple[Kind, ...]] = ("embedding", "reranker")
INSTALL_HINT: Final = "Run: pip install 'wellkept[models]'"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_BLOCK_BYTES = 1 << 20


@record
class KnownModel:
    """A model that can be downloaded."""

    name: str
    kind: Kind
    size_mb: int
    licence: str
    dimension: int | None = None
    description: str = ""


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
            raise ProviderError(problem, hint=f"Run: wellkept models get {self.name} --again")


def known_models() -> list[KnownModel]:
    """Every model that can be downloaded, by kind and size."""
    found = [_known(kind, description) for kind, description in _descriptions()]
    return sorted(found, key=lambda one: (one.kind, one.size_mb, one.name))


def download(name: str, folder: Path, *, again: bool = False) -> DownloadedModel:
    """Download a model into `folder` and keep its manifest; the hub shows its own progress."""
    kind, description = _description(name)
    existing = downloaded_model(description.model, folder)
    if existing is not None and not again and existing.problem() is None:
        return existing
    folder.mkdir(parents=True, exist_ok=True)
    place = _fetched(kind, description, folder, again=again)
    files = {path: (size, digest) for path, size, digest in _hashed(place, description)}
    model = DownloadedModel(
        name=description.model,
        kind=kind,
        folder=place,
        files=files,
        dimension=getattr(description, "dim", None),
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
            hint=f"Run: wellkept models get {name}",
        )
    if model.kind != kind:
        raise ProviderError(f"{name} is no {kind} model, but a model of the kind {model.kind}.")
    if find_spec("fastembed") is None:
        raise ProviderError("The package fastembed is not installed.", hint=INSTALL_HINT)
    if problem := model.problem():
        raise ProviderError(problem, hint=f"Run: wellkept models get {name} --again")
    return model


def remove(name: str, folder: Path) -> DownloadedModel:
    """Delete a model's files and manifest."""
    model = downloaded_model(name, folder)
    if model is None:
        raise UsageError(f"The model {name} is not on this machine.")
    import shutil

    _manifest_path(name, folder).unlink()
    shutil.rmtree(_own_folder(model.folder, folder), ignore_errors=True)
    return model


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's content."""
    import hashlib

    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


# -- fastembed ------------------------------------------------------------------------------------


def _managers() -> dict[Kind, type[ModelManagement[BaseModelDescription]]]:
    if find_spec("fastembed") is None:
        raise ProviderError("The package fastembed is not installed.", hint=INSTALL_HINT)
    from fastembed import TextEmbedding
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    managers = {"embedding": TextEmbedding, "reranker": TextCrossEncoder}
    return cast("dict[Kind, type[ModelManagement[BaseModelDescription]]]", managers)


def _descriptions() -> Iterator[tuple[Kind, BaseModelDescription]]:
    for kind, manager in _managers().items():
        for description in manager._list_supported_models():  # pyright: ignore[reportPrivateUsage]
            if description.sources.hf and not description.model.startswith("wellkept/"):
                yield kind, description


def _known(kind: Kind, description: BaseModelDescription) -> KnownModel:
    return KnownModel(
        name=description.model,
        kind=kind,
        size_mb=round(1000 * description.size_in_GB),
        licence=description.license,
        dimension=getattr(description, "dim", None),
        description=description.description,
    )


def _description(name: str) -> tuple[Kind, BaseModelDescription]:
    every = list(_descriptions())
    for kind, description in every:
        if description.model.lower() == name.lower():
            return kind, description
    endings = [d.model for _, d in every if name.lower() in d.model.lower()][:5]
    close = f" Did you mean {', '.join(endings)}?" if endings else ""
    raise UsageError(f"No model is called {name!r}.{close}", hint="Run: wellkept models")


def _fetched(kind: Kind, description: BaseModelDescription, folder: Path, *, again: bool) -> Path:
    from loguru import logger

    manager = _managers()[kind]
    logger.disable("fastembed")  # what went wrong is said once, below
    options = {"force_download": True} if again else {}
    try:
        return manager.download_model(description, str(folder), retries=1, **options)
    except Exception as error:  # every client library below has errors of its own
        raise ProviderError(
            f"{description.model} could not be downloaded: {_first_line(error)}",
            hint="It needs a connection to its hub once; afterwards it works offline.",
        ) from error
    finally:
        logger.enable("fastembed")


def _hashed(place: Path, description: BaseModelDescription) -> Iterator[tuple[str, int, str]]:
    """Size and hash of every file, checked against the hub's own hash where it gives one."""
    paths = [path for path in sorted(place.rglob("*")) if path.is_file()]
    if not (place / description.model_file).is_file():
        raise ProviderError(f"{description.model} was downloaded without {description.model_file}.")
    for path in paths:
        digest = sha256_of(path)
        # The hub keeps large files under their SHA-256.
        stated = path.resolve().name
        if _SHA256.fullmatch(stated) and stated != digest:
            raise ProviderError(
                f"{path.name} of {description.model} was damaged on the way: its SHA-256 differs.",
                hint=f"Run: wellkept models get {description.model} --again",
            )
        yield path.relative_to(place).as_posix(), path.stat().st_size, digest


def _first_line(error: BaseException) -> str:
    if "from any source" in str(error):  # fastembed has logged what went wrong
        return "its hub cannot be reached"
    return (str(error).strip().split("\n") or [""])[0][:200] or type(error).__name__


# -- Manifests ------------------------------------------------------------------------------------


def _manifest_path(name: str, folder: Path) -> Path:
    return folder / (re.sub(r"[^a-z0-9._-]+", "--", name.lower()) + ".json")


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


def _own_folder(place: Path, folder: Path) -> Path:
    """The top folder that holds one model: the hub puts snapshots two levels below it."""
    return folder / place.relative_to(folder).parts[0]
