"""`Services`: store, project, models and settings of one open memory.

The only place that connects storage engines and model vendors. Everything is opened on first use:
a search by words loads no model, and files are created with the first operation on memory.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from wellkept.core.clock import Clock, to_ms
from wellkept.core.errors import (
    ProviderError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    UsageError,
)
from wellkept.core.ids import IdSource
from wellkept.core.records import replace
from wellkept.core.settings import paths
from wellkept.memory.engine import Engine, Thresholds

if TYPE_CHECKING:
    from wellkept.api.views.client_setup import ClientSetup
    from wellkept.core.ports.models import ChatModel, Embedder, Reranker, TextModel
    from wellkept.core.ports.plugins import TeamStoreDoors
    from wellkept.core.ports.store import Store
    from wellkept.core.ports.team import TeamView
    from wellkept.core.settings.model import Settings
    from wellkept.core.team.records import TeamPolicy
    from wellkept.core.types import MemoryType
    from wellkept.memory.request_builder import RequestBuilder
    from wellkept.models.chat.text import ChatChoice
    from wellkept.models.embedders.settings import EmbeddingChoice
    from wellkept.project.resolver import ProjectIdentity

DATABASE_NAME = "memory.db"
BUSY_TIMEOUT_MS = 20_000
_QUERY_LIMIT_S = 5.0
RERANKER_LIMIT_S = 10.0
_CALIBRATIONS = "calibration"
_EMBEDDER_NAMES = ("model_id", "dimension", "embed_documents", "embed_query")
# A read must not fail because a side effect cannot be written.
_NOT_NOW = (StoreReadOnlyError, StoreBusyError, StoreFullError)


def store_path(settings: Settings, environment: Mapping[str, str]) -> Path:
    """The database file according to the settings."""
    return settings.store_path or paths.data_folder(environment) / DATABASE_NAME


def store_location(settings: Settings, environment: Mapping[str, str]) -> Path | str:
    """The database according to the settings: a file, or the address of a server."""
    return settings.store_url or store_path(settings, environment)


def require_embedder(embedder: object) -> None:
    """Refuse an object that cannot be an embedder, before anything is opened."""
    if embedder is None or isinstance(embedder, str):
        return
    # `dir` and not `hasattr`: reading `model_id` may load the model.
    known = dir(embedder)
    missing = [n for n in _EMBEDDER_NAMES if n not in known and not hasattr(embedder, n)]
    if missing or isinstance(embedder, type):
        what = embedder.__name__ if isinstance(embedder, type) else type(embedder).__name__
        problem = f"has no {', '.join(missing)}" if missing else "is a class, not an object"
        raise UsageError(
            f"{what} is not an embedder: it {problem}.",
            hint="Pass a provider's name, or an object with the properties model_id and dimension"
            " and the methods embed_documents(texts) and embed_query(text).",
        )


class Services:
    """Opens each part on first use, and closes what was opened."""

    def __init__(
        self,
        settings: Settings,
        *,
        path: Path,
        project: str | None,
        folder: Path,
        embedder: Embedder | str | None,
        clock: Clock,
        environment: Mapping[str, str],
        url: str | None = None,
        read_only: bool = False,
        by_files_only: bool = False,
        busy_timeout_ms: int | None = None,
        team: TeamView | None = None,
    ) -> None:
        """With the `url` of a server the store is there; `path` then only says where what stays on
        this machine is kept. `by_files_only` never runs git: a folder whose project takes a
        decision has none yet (`is_undecided`). A write waits `busy_timeout_ms` for another
        process. With a `team` the store is what one person of it may see, and none of its files
        are here."""
        self.settings = settings
        self.path = path
        self.url = url
        self.folder = folder
        self.clock = clock
        self.environment = environment
        self.embedding_problem: str | None = None
        self.text_model_problem: str | None = None
        self.client_setup: ClientSetup | None = None
        """Looks after coding clients; set by whoever knows them."""
        self._project = project
        self._given_embedder = embedder
        self.read_only = read_only
        self.is_undecided = False
        self._by_files_only = by_files_only
        self._busy_timeout_ms = BUSY_TIMEOUT_MS if busy_timeout_ms is None else busy_timeout_ms
        self._closed = False
        self._team = team
        self._settings_stamp = paths.config_stamp(environment)

    # -- Storage and the project ----------------------------------------------------------------

    @property
    def location(self) -> Path | str:
        """Where the store is: a file, or the address of a server, which may hold a password."""
        return self.url or self.path

    @property
    def is_there(self) -> bool:
        """Whether there is a store yet. A server is not asked."""
        try:
            known = self.url or self._team or self._closed or "store" in self.__dict__
            return bool(known or self.path.stat())
        except FileNotFoundError:
            return False
        except OSError:
            return True  # opening it says what is wrong with the name

    @contextmanager
    def emptied(self) -> Generator[Services]:
        """The same over an empty store, which is gone afterwards."""
        from tempfile import TemporaryDirectory

        with TemporaryDirectory(prefix="wellkept-") as nowhere:
            empty = Services(
                self.settings,
                path=Path(nowhere, "memory.db"),
                project=self._project,
                folder=self.folder,
                embedder=self._given_embedder,
                clock=self.clock,
                environment=self.environment,
            )
            empty.client_setup = self.client_setup
            yield empty

    @property
    def is_usual(self) -> bool:
        """Whether this is the store of the settings, which hooks capture for."""
        return self.location == store_location(self.settings, self.environment)

    @cached_property
    def store(self) -> Store:
        """The store, opened on first use."""
        from wellkept.store import open_store

        if self._closed:
            raise StoreError("This Wellkept is closed.", hint="Open it again.")
        if self._team is not None:
            return self._team.store
        is_new = self.url is None and not self.read_only and paths.make_private_file(self.path)
        store = open_store(
            self.location,
            busy_timeout_ms=self._busy_timeout_ms,
            read_only=self.read_only,
            clock=self.clock,
        )
        if self.url is not None and not self.read_only:
            paths.make_private_folder(self.path.parent)
            is_new = not store.projects()
        if is_new:
            from wellkept.api.maintenance.reindex import set_index_version

            set_index_version(store)
        return store

    @property
    def has_files(self) -> bool:
        """Whether the files that memories name can be looked at here."""
        return self._team is None

    @property
    def policy(self) -> TeamPolicy | None:
        """The team's policy for the project: as of now on its server, elsewhere as of the last
        sync; None where there is no team."""
        from wellkept.core.doors import find_plugin

        team = self._team
        if team is not None:
            return team.policy(self.project)
        plugin: TeamStoreDoors | None = find_plugin("team")
        return None if plugin is None else plugin.policy(self.store, self.project)

    @property
    def injected_types(self) -> frozenset[MemoryType] | None:
        """Types of memories that a team's policy lets agents be given unasked; None for all."""
        policy = self.policy
        types = None if policy is None else policy.injected_types
        return None if types is None else frozenset(types)

    @cached_property
    def engine(self) -> Engine:
        """Dependencies shared by all memory operations."""
        store = self.store
        if not self.read_only:
            from wellkept.text.secrets.known_values import know_later

            know_later(self.know_secrets)
        return Engine(
            store=store,
            embedder=lambda: self.question_embedder,
            thresholds=lambda: self.thresholds,
            text_model=lambda: self.text_model,
            query_model=lambda: self.query_model,
            reranker=lambda: self.reranker,
            on_embedding_failure=self._note_failure,
            clock=self.clock,
            new_id=IdSource(lambda: to_ms(self.clock())),
        )

    def know_secrets(self) -> None:
        """Recognise the secrets that this project's own files hold."""
        from wellkept.project.known_secrets import know_secrets

        know_secrets(
            self.path,
            self.settings,
            folder=self.folder,
            environment=self.environment,
        )

    @cached_property
    def identity(self) -> ProjectIdentity:
        """The project of the folder, or the one the caller named."""
        from wellkept.project.resolver import (
            ProjectIdentity,
            identity_kind,
            parse_identity,
            resolve_project,
        )

        given = self._project
        if given is None:
            return self._identity_by_folder()
        kind = identity_kind(given)
        if kind is None:
            return resolve_project(self.folder, explicit_name=given)
        name = given.removeprefix(f"{kind}:")
        return ProjectIdentity(parse_identity(given), name, self.folder, kind)

    def _identity_by_folder(self) -> ProjectIdentity:
        """A remote is only a claim, so the store is asked whose memory it is."""
        from wellkept.project.folder_project import (
            known_project_at,
            project_at,
            undecided_project_at,
        )

        if not self._by_files_only:
            return project_at(self.store, self.folder)
        known = known_project_at(self.store, self.folder)
        self.is_undecided = known is None
        return known or undecided_project_at(self.folder)

    @cached_property
    def root(self) -> Path:
        """The folder that file paths start at. Reads files only."""
        if self._project is None and "identity" in self.__dict__:
            return self.identity.root
        from wellkept.project.folder_lookup import locate
        from wellkept.project.resolver import identity_kind

        if self._project is not None and identity_kind(self._project) is not None:
            return self.folder
        return locate(self.folder).root

    @cached_property
    def project(self) -> str:
        """The identity that memories are stored under, with aliases resolved."""
        return self.store.canonical_project(self.identity.identity)

    def is_current(self) -> bool:
        """Whether the folder still belongs to the project found at first: another repository may be
        there by now, or the user joined it to another project; and whether the person's settings
        are still those that it was opened with. Cheap."""
        if paths.config_stamp(self.environment) != self._settings_stamp:
            return False
        if self._project is not None or "project" not in self.__dict__:
            return True
        from wellkept.project.folder_project import known_project_at

        known = known_project_at(self.store, self.folder)
        return known is not None and (known.identity, known.root) == (self.project, self.root)

    @property
    def project_from_folder(self) -> bool:
        """Whether the project was derived from the folder, so that its files are here."""
        return self._project is None

    @property
    def requests(self) -> RequestBuilder:
        """Parses the arguments of a caller, as of now."""
        from wellkept.memory.request_builder import RequestBuilder

        return RequestBuilder(
            self.project,
            self.root,
            self.folder,
            self.clock(),
            _own_type,
            require_person=self.require_person,
        )

    def require_person(self, what: str) -> None:
        """Refuse an agent who asks for what only a person may do."""
        from wellkept.core.team.people import asking

        asking().require_person(what)

    # -- Models ---------------------------------------------------------------------------------

    @cached_property
    def embedding_choice(self) -> EmbeddingChoice:
        """The embedder requested by the caller or the settings."""
        from wellkept.models.embedders.settings import EmbeddingChoice

        known = self.settings
        asked = self._given_embedder
        return EmbeddingChoice(
            name=asked if isinstance(asked, str) else known.embedding_provider,
            base_url=known.embedding_base_url,
            api_key=known.embedding_api_key,
            model=known.embedding_model,
            dimension=known.embedding_dimension,
            models_folder=paths.models_folder(self.environment),
        )

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedder in use, or None. One that the caller requested must open."""
        asked = self._given_embedder
        if asked is not None and not isinstance(asked, str):
            return asked
        if (asked or self.settings.embedding_provider) == "none":
            return None  # before anything of models is imported
        from wellkept.models.registry import open_embedder

        try:
            return open_embedder(
                self.embedding_choice, self.environment, stored_model_id=self.stored_model_id
            )
        except ProviderError as error:
            if asked is not None:
                raise
            self.embedding_problem = str(error)
            return None

    @cached_property
    def question_embedder(self) -> Embedder | None:
        """The embedder in use; a slow one looks questions up on disk first."""
        return self._with_kept_vectors(documents=False)

    def code_embedder(self) -> Embedder | None:
        """The bundled model, which is fast enough to embed code during a search. None if it is
        missing or embeddings are off."""
        from wellkept.models.embedders.bundled_models import STATIC

        if self.embedding_choice.name == "none" or STATIC.problem():
            return None
        from wellkept.models.embedders.static import StaticEmbedder

        return StaticEmbedder()

    @cached_property
    def skill_embedder(self) -> Embedder | None:
        """The embedder in use; a slow one looks skill texts up on disk, too."""
        return self._with_kept_vectors(documents=True)

    def _with_kept_vectors(self, *, documents: bool) -> Embedder | None:
        embedder = self.embedder
        if embedder is None or self._given_embedder is not None or self.read_only:
            return embedder
        from wellkept.models.embedders.bundled_models import STATIC

        if embedder.model_id == STATIC.model_id:
            return embedder
        from wellkept.api.wiring.local_models import with_kept_vectors

        return with_kept_vectors(embedder, self.path, documents=documents)

    @cached_property
    def stored_model_id(self) -> str | None:
        """The model that most of the store's vectors come from."""
        shares = self.store.vector_models()
        return shares[0].model_id if shares else None

    def embedding_note(self) -> str | None:
        """A warning about the vectors in use, or None.

        A store without vectors needs none and loads no embedder.
        """
        stored = self.stored_model_id
        if stored is None:
            return None
        embedder = self.embedder
        if embedder is None:
            problem = self.embedding_problem
            return f"Without vectors: {problem}" if problem else None
        if stored == embedder.model_id:
            return None
        return (
            f"Most memories have vectors of {stored}, but {embedder.model_id} is in use: they are"
            " found by words only until `wellkept admin reindex`."
        )

    @cached_property
    def thresholds(self) -> Thresholds:
        """Similarity thresholds of the model in use; an unknown model is calibrated once."""
        from wellkept.models.embedders.calibration import (
            Calibration,
            calibrate,
            shipped_calibration,
        )

        embedder = self.embedder
        if embedder is None:
            return Thresholds()
        model_id = embedder.model_id
        known = shipped_calibration(model_id) or Calibration.from_json(
            self.store.get_value(_CALIBRATIONS, model_id)
        )
        if known is None:
            try:
                known = calibrate(embedder)
            except ProviderError:
                return Thresholds()
            with suppress(*_NOT_NOW):
                self.store.put_value(_CALIBRATIONS, model_id, dict(known.as_json()))
        nominal = Thresholds()
        return Thresholds(
            related=known.cutoff(nominal.related),
            duplicate=known.cutoff(nominal.duplicate),
            known=known.cutoff(nominal.known),
            same=known.cutoff(nominal.same),
        )

    @cached_property
    def text_model(self) -> TextModel | None:
        """The model that extracts memories from sessions, if one is configured."""
        model = self.chat_model(self.chat_choice)
        if model is None:
            return None
        from wellkept.api.wiring.guarded_model import GuardedModel

        return GuardedModel(
            model,
            store=self.store,
            folder=self.chat_choice.folder,
            clock=self.clock,
            daily_calls=self.settings.text_model_daily_calls,
            count_tokens=self.engine.count_tokens,
            environment=self.environment,
        )

    @cached_property
    def query_model(self) -> TextModel | None:
        """The model for hypothetical answers; a client is too slow to wait for."""
        if self._text_provider == "none":
            return None
        choice = self.chat_choice
        limit_s = min(choice.timeout_s, _QUERY_LIMIT_S)
        model = None if choice.is_client else self.chat_model(replace(choice, timeout_s=limit_s))
        if model is None:
            return None
        from wellkept.api.wiring.guarded_model import QueryModel

        return QueryModel(model, store=self.store, clock=self.clock)

    @property
    def _text_provider(self) -> str:
        known = self.settings
        is_named = bool(known.text_model_base_url and known.text_model_name)
        return known.text_model_provider or ("openai" if is_named else "none")

    @cached_property
    def chat_choice(self) -> ChatChoice:
        """The chat model in the settings."""
        from wellkept.models.chat.text import ChatChoice

        known = self.settings
        return ChatChoice(
            provider=self._text_provider,
            folder=paths.chat_folder(self.environment),
            base_url=known.text_model_base_url,
            model=known.text_model_name,
            api_key=known.text_model_api_key,
            command=known.text_model_command,
            timeout_s=known.text_model_timeout_s,
        )

    def chat_model(self, choice: ChatChoice) -> ChatModel | None:
        """The model of a choice, not contacted yet; None when there is none or it lacks a setting,
        which is noted."""
        if choice.provider == "none":
            return None
        from wellkept.models.chat.text import open_chat_model

        try:
            return open_chat_model(choice, self.environment)
        except (ProviderError, UsageError) as error:
            self.text_model_problem = str(error)
            return None

    @cached_property
    def reranker(self) -> Reranker | None:
        """The reranker, if one is configured."""
        known = self.settings
        if not known.reranker_name:
            return None
        if not known.reranker_base_url:
            from wellkept.api.wiring.local_models import local_reranker

            return local_reranker(
                known.reranker_name, self.environment, self.path, limit_s=RERANKER_LIMIT_S
            )
        from wellkept.models.http import NO_RETRIES, Endpoint
        from wellkept.models.rerankers import HttpReranker

        endpoint = Endpoint(
            known.reranker_base_url,
            api_key=known.reranker_api_key,
            timeout_s=RERANKER_LIMIT_S,
            retries=NO_RETRIES,
        )
        return HttpReranker(endpoint, model=known.reranker_name)

    def _note_failure(self, error: ProviderError) -> None:
        """Memories are stored without vectors; a reindex adds them."""
        self.embedding_problem = str(error)

    def reset_model_state(self) -> None:
        """Forget the stored model id and the last error, after a reindex or restore."""
        self.embedding_problem = None
        self.__dict__.pop("stored_model_id", None)

    def reset_project(self) -> None:
        """Look the project up again, after the folder was joined to another one."""
        for name in ("identity", "project"):
            self.__dict__.pop(name, None)

    # -- The end --------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the store if it was opened."""
        self._closed = True
        opened = cast("Store | None", self.__dict__.get("store"))
        if opened is not None:
            opened.close()


def _own_type(name: str) -> tuple[MemoryType, str] | None:
    """A type that an installed methodology adds: the type it is stored as, and its tag."""
    from wellkept.observe.methodology.plugins import installed_plugins

    custom = installed_plugins().custom_type(name)
    return None if custom is None else (custom[0].kept_as, custom[1])
