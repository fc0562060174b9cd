"""The composition root: with `light`, for hooks, the only file that names concrete adapters."""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from braindex.config import SETTINGS, Settings
from braindex.config.env_files import read_strangers_env
from braindex.domain.changes import Changes, Repository, Wanted
from braindex.domain.conversing import ConversingEngine
from braindex.domain.hosts import is_loopback, runs_in_cloud, shown_host, stays_here
from braindex.domain.ports import DenseIndex, Embedder, Passage, Vector, VectorSource, WordModel
from braindex.domain.results import Workspace
from braindex.domain.statuses import StatusBoard
from braindex.domain.usage import EngineName
from braindex.llm.deepseek import DeepSeek, deepseek_provider
from braindex.llm.ollama import Ollama
from braindex.llm.prices import load_prices
from braindex.registry.workspaces import WORKSPACE_FILE, WORKSPACES_FOLDER
from braindex.services.ask import Asking, FoundBy
from braindex.services.brief import BriefParts, Briefs
from braindex.services.brief_history import BriefHistory
from braindex.services.brief_writing import BriefWriter
from braindex.services.curation import Curation
from braindex.services.footprint import Footprints
from braindex.services.freshness import Freshness
from braindex.services.memories import Memories
from braindex.services.metering import DailyLimit, EmbeddingMeter, LimitedEngine
from braindex.services.notes import Notes
from braindex.services.prefix_price import PrefixPrices
from braindex.services.related import Relations
from braindex.services.retrieve import Arms
from braindex.services.reviewing.afterwards import Afterwards
from braindex.services.reviewing.agent import Limits
from braindex.services.reviewing.judging import EngineJudge, JudgeParts
from braindex.services.reviewing.review import ReviewParts, Reviews
from braindex.services.scan import ScanParts, Scans
from braindex.services.status import Status
from braindex.services.usage import UsageService
from braindex.services.warmup import WarmUps
from braindex.services.workspaces import Workspaces
from braindex.services.writing import Writer
from braindex.transport.loopback import confine_to_loopback

if TYPE_CHECKING:
    from braindex.services.crew import Crews
    from braindex.services.doctor.examination import Doctor
    from braindex.services.doctor.parts import LeftCollections, Probe, VectorServer
    from braindex.services.recalling import Recalling
    from braindex.services.recording import Recorder

# Without the working directory in its search path, where a stranger's checkout may have modules of any name.
WORKER: Final = (sys.executable, "-P", "-m", "braindex.worker")
CLOSE_SECONDS: Final = 0.1  # of a process that ends with its client
SERVER_SECONDS: Final = 3.0  # that a Chroma server has to say that it is there: as long as a scan waits to connect


@dataclass(frozen=True, slots=True)
class App:
    """The use cases, ready. Building one opens no database and imports nothing heavy."""

    settings: Settings
    workspaces: Workspaces
    scans: Scans
    asking: Asking
    relations: Relations
    memories: Memories
    notes: Notes
    curation: Curation
    briefs: Briefs
    prefix_prices: PrefixPrices
    brief_history: BriefHistory
    footprint: Footprints
    usage: UsageService
    warm_ups: WarmUps
    status: Status
    recalling: Callable[[], "Recalling"]
    recorder: Callable[[], "Recorder"]
    changes: Callable[[Path, Wanted], Changes]
    """Of the repository around a folder, through git."""
    reviews: Reviews
    afterwards: Afterwards
    doctor: Callable[[], "Doctor"]
    """Made when it is asked for: a server needs none."""

    def finish(self, seconds: float) -> None:
        """Waits, within bounds, for what a command began in the background and its end would cut off."""
        self.briefs.wait(seconds)
        self.warm_ups.wait(seconds)
        self.usage.flush(seconds)

    def close(self) -> None:
        """Stops background scans and enters the last questions in the ledger; safe to call twice."""
        self.scans.stop()
        self.usage.flush(CLOSE_SECONDS)
        self.workspaces.close()


class _Model:
    """The bundled model, imported (numpy) and loaded at first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: WordModel | None = None

    @property
    def _embedder(self) -> WordModel:
        with self._lock:
            if self._loaded is None:
                from braindex.embedding.bundled import BundledEmbedder  # noqa: PLC0415 - see above

                self._loaded = BundledEmbedder()
            return self._loaded

    @property
    def model(self) -> str:
        return self._embedder.model

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def passages(self, passages: Sequence[Passage]) -> list[Vector | None]:
        return self._embedder.passages(passages)

    def question(self, text: str) -> Vector | None:
        return self._embedder.question(text)

    def name_similarities(self, question: Vector, names: Sequence[tuple[str, str]]) -> list[float]:
        return self._embedder.name_similarities(question, names)

    def word_similarities(self, question_words: Sequence[str], texts: Sequence[str]) -> list[list[float]]:
        return self._embedder.word_similarities(question_words, texts)


def bundled_model() -> WordModel:
    """The model inside the package, loaded at first use."""
    return _Model()


class _Embedders:
    """The bundled model, and the one that the settings choose for a workspace; imported at first use."""

    def __init__(self, settings: Settings, usage: UsageService, limit: DailyLimit) -> None:
        self.local: WordModel = _Model()
        self._settings = settings
        self._usage = usage
        self._limit = limit
        self._lock = threading.Lock()
        self._remote: Any = None

    def of(self, workspace: Workspace, stopped: Callable[[], bool] = lambda: False) -> Embedder:
        if self._settings.embedding_of(Path(workspace.path)) == "bundled":
            return self.local
        from braindex.embedding.remote import Limits, RemoteEmbedder  # noqa: PLC0415 - numpy, as above

        with self._lock:
            if self._remote is None:
                api = self._api()
                self._remote = api, Limits(api.texts, api.request_bytes)  # what is learned of the model is kept
            api, limits = self._remote
        meter = EmbeddingMeter(self._usage, workspace.id, self._limit)
        return RemoteEmbedder(api, limits, meter, stopped)

    def _api(self) -> Any:
        from braindex.embedding.ollama import OllamaEmbeddings  # noqa: PLC0415 - numpy, as above
        from braindex.embedding.openai_compatible import OpenAIEmbeddings  # noqa: PLC0415 - the same

        here, local = self._settings, self._settings.memory_mode == "local"
        if here.embedding == "ollama":
            return OllamaEmbeddings(here.ollama_embed_model, here.ollama_host, local_only=local)
        return OpenAIEmbeddings(here.openai_embed_model, here.openai_api_key, here.openai_base_url, local_only=local)


def _crews(model: WordModel) -> "Crews":
    from braindex.services.crew import MOST, Crews, cores  # noqa: PLC0415 - a server's start needs no parser

    return Crews(WORKER, min(cores(), MOST), model)


class _Dense:
    """The dense indexes, imported (numpy) at first use; ChromaDB only where a workspace needs it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._indexes: Any = None

    def __call__(self, folder: Path, source: VectorSource) -> DenseIndex:
        index: DenseIndex = self._all().of(folder, source, stays_here=self._stays_here(folder))
        return index

    def drop(self, folder: Path) -> None:
        """Lets go of what is held of a workspace that is about to be deleted, on a Chroma server too."""
        self._all().drop(folder)

    def _all(self) -> Any:
        with self._lock:
            if self._indexes is None:
                from braindex.vectors.index import DenseIndexes  # noqa: PLC0415 - see above
                from braindex.vectors.server import ChromaServer  # noqa: PLC0415 - the same

                here = self._settings
                server = ChromaServer(here.chroma_url, here.chroma_headers) if here.chroma_url else None
                self._indexes = DenseIndexes(here.exact_search_limit, server=server)
            return self._indexes

    def _stays_here(self, folder: Path) -> bool:
        """Whether the workspace's own `.env` keeps its vectors from a Chroma server elsewhere."""
        if not self._settings.chroma_url:
            return False
        try:
            root = json.loads((folder / WORKSPACE_FILE).read_text(encoding="utf-8"))["path"]
        except (OSError, ValueError, TypeError, KeyError):  # a workspace that is not known yet, or not readable
            return self._settings.vectors_stay_here(None)
        return self._settings.vectors_stay_here(Path(root))


class _Engines:
    """The engines that the settings configure, one object each: what they learn of their provider is kept."""

    def __init__(self, settings: Settings, limit: DailyLimit) -> None:
        local = settings.memory_mode == "local"
        self._made: dict[EngineName, ConversingEngine] = {}
        if settings.deepseek_api_key:
            models: tuple[tuple[EngineName, str], ...] = (
                ("deepseek-flash", settings.deepseek_flash_model),
                ("deepseek-pro", settings.deepseek_pro_model),
            )
            for name, model in models:
                engine = DeepSeek(name, model, settings.deepseek_api_key, settings.deepseek_base_url, local_only=local)
                self._made[name] = LimitedEngine(engine, limit)
        if settings.ollama_model:
            self._made["ollama"] = Ollama(settings.ollama_model, settings.ollama_host, local_only=local)

    def get(self, name: EngineName) -> ConversingEngine | None:
        return self._made.get(name)


def _near_pairs(matrix: bytes | bytearray, count: int, least: float, most: int) -> list[tuple[int, int, float]]:
    from braindex.vectors.pairs import near_pairs  # noqa: PLC0415 - numpy, for whoever looks for duplicates

    return near_pairs(matrix, count, least, most)


def _doctor(settings: Settings, workspaces: Workspaces, embedders: _Embedders, dense: _Dense) -> "Doctor":
    from braindex.services.doctor.examination import Doctor  # noqa: PLC0415 - see App.doctor
    from braindex.services.doctor.parts import DoctorParts, SettingsFound  # noqa: PLC0415 - the same

    found = SettingsFound(
        tuple(sorted(settings.explicit)),
        settings.notes,
        _set_in_vain,
        local_mode=settings.memory_mode == "local",
        without_effect=settings.without_effect,
    )
    parts = DoctorParts(
        workspaces,
        embedders,
        dense,
        found,
        tuple(_engine_probes(settings)),
        _embedding_probe(settings),
        _vector_server(settings),
        lambda: _left_collections(settings.brain_dir / WORKSPACES_FOLDER),
    )
    return Doctor(settings.brain_dir, parts)


def _vector_server(settings: Settings) -> "VectorServer | None":
    """How the Chroma server is asked whether it is there. Its own client: doctor waits less long than a scan."""
    from braindex.services.doctor.parts import VectorServer  # noqa: PLC0415 - see App.doctor
    from braindex.vectors.server import ChromaServer  # noqa: PLC0415 - for those alone who have one

    if not settings.chroma_url:
        return None
    server = ChromaServer(settings.chroma_url, settings.chroma_headers)
    return VectorServer(server.shown, lambda: server.version(SERVER_SECONDS))


def _left_collections(workspaces: Path) -> "list[LeftCollections]":
    from braindex.services.doctor.parts import LeftCollections  # noqa: PLC0415 - see App.doctor
    from braindex.vectors.placement import known_left_over  # noqa: PLC0415 - the same

    return [LeftCollections(where, count) for where, count in sorted(known_left_over(workspaces).items())]


def _set_in_vain(root: Path) -> list[str]:
    """The variables of braindex's that a workspace's `.env` sets and that do not count there."""
    variables = read_strangers_env(root)
    texts = ((row, variables.get(row.name, "").strip()) for row in SETTINGS)
    return [row.name for row, text in texts if text and not row.counts_in_workspace(text)]


def _engine_probes(settings: Settings) -> Iterator["Probe"]:
    """How each configured engine is asked whether it is there."""
    from braindex.services.doctor.parts import Probe  # noqa: PLC0415 - see App.doctor
    from braindex.transport.listing import openai_models  # noqa: PLC0415 - the same

    if settings.deepseek_api_key:
        models = [("DEEPSEEK_FLASH_MODEL", settings.deepseek_flash_model)]
        models += [("DEEPSEEK_PRO_MODEL", settings.deepseek_pro_model)] if settings.deepseek_pro else []
        key, url = settings.deepseek_api_key, settings.deepseek_base_url
        yield Probe(
            "DeepSeek",
            shown_host(url),
            tuple(models),
            lambda: openai_models(deepseek_provider("deepseek-flash"), key, url),
            stays_here=is_loopback(url),
        )
    if settings.ollama_model:
        yield _ollama_probe("Ollama", settings.ollama_host, "OLLAMA_MODEL", settings.ollama_model)


def _ollama_probe(name: str, host: str, setting: str, model: str) -> "Probe":
    from braindex.services.doctor.parts import Probe  # noqa: PLC0415 - see App.doctor
    from braindex.transport.listing import ollama_models  # noqa: PLC0415 - the same

    return Probe(
        name,
        shown_host(host),
        ((setting, model),),
        lambda: ollama_models(host, setting),
        stays_here=stays_here(host, model),
        complete=not runs_in_cloud(model),
        on_missing="run `ollama pull {model}`, or name another with " + setting,
    )


def _embedding_probe(settings: Settings) -> "Probe | None":
    """How whoever embeds instead of the bundled model is asked whether it is there."""
    from braindex.services.doctor.parts import Probe  # noqa: PLC0415 - see App.doctor

    if settings.embedding == "bundled":
        return None
    if settings.embedding == "ollama":
        return _ollama_probe("embedding", settings.ollama_host, "OLLAMA_EMBED_MODEL", settings.ollama_embed_model)
    from braindex.embedding.openai_compatible import OpenAIEmbeddings  # noqa: PLC0415 - numpy
    from braindex.transport.listing import openai_models  # noqa: PLC0415 - see App.doctor

    key, url, model = settings.openai_api_key, settings.openai_base_url, settings.openai_embed_model
    provider = OpenAIEmbeddings(model, key, url).provider
    named = (("OPENAI_EMBED_MODEL", model),)
    return Probe("embedding", shown_host(url), named, lambda: openai_models(provider, key, url), is_loopback(url))


def _repository(root: Path) -> Repository:
    from braindex.forge.git import Git  # noqa: PLC0415 - for reviews alone

    return Git(root)


def _recalling(settings: Settings, workspaces: Workspaces, memories: Memories) -> "Recalling":
    from braindex.services.recalling import Recalling  # noqa: PLC0415 - a server needs none

    return Recalling(workspaces, memories, settings.options)


def _recorder(settings: Settings, workspaces: Workspaces, memories: Memories) -> "Recorder":
    from braindex.registry.conversations import Conversations  # noqa: PLC0415 - a server needs none
    from braindex.services.recording import Recorder  # noqa: PLC0415 - the same

    return Recorder(
        workspaces,
        memories,
        Conversations(settings.brain_dir),
        settings.options,
        keep_days=settings.episode_days,
        named=settings.brain_workspace,
    )


def _status_board(settings: Settings) -> StatusBoard | None:
    """Where statuses are posted; None where the user set nothing of the kind up."""
    if not settings.posts_statuses:
        return None
    from braindex.forge.github import GitHub  # noqa: PLC0415 - for those alone who have one

    return GitHub(settings.github_api_url, settings.github_repository, settings.github_token)


def build_app(settings: Settings) -> App:
    """The use cases over the data folder that the settings name.

    With MEMORY_MODE=local the process is confined to this machine for good. Raises what a prices file is refused for.
    """
    if settings.memory_mode == "local":
        confine_to_loopback()
    dense = _Dense(settings)
    workspaces = Workspaces(settings.brain_dir, dense.drop)
    prices = load_prices(Path(settings.prices_file).expanduser() if settings.prices_file else None)
    usage = UsageService(settings.brain_dir, prices, tracking=settings.token_tracking)
    limit = DailyLimit(usage, settings.max_daily_cost)
    embedders, engines = _Embedders(settings, usage, limit), _Engines(settings, limit)
    arms = Arms(embedders, dense)
    warm_ups = WarmUps(usage, enabled=settings.brief_warmup)
    parts = BriefParts(engines, BriefWriter(arms, usage), warm_ups, settings.rules, settings.options)
    briefs = Briefs(workspaces, parts)
    scans = Scans(
        workspaces,
        ScanParts(embedders, dense, settings.options, briefs.after_scan, lambda: _crews(embedders.local)),
    )
    freshness = Freshness(workspaces, scans, settings.options)
    writer = Writer(engines, briefs, usage, warm_ups, settings.rules)
    memories = Memories(workspaces, embedders.local, embedders.local)
    asking = Asking(workspaces, freshness, FoundBy(arms, memories), writer, settings.options)
    limits = Limits(settings.review_max_turns, settings.review_max_cost)
    judge = EngineJudge(
        workspaces, asking, briefs, JudgeParts(engines, settings.rules, settings.options, usage, limits)
    )
    return App(
        settings=settings,
        workspaces=workspaces,
        scans=scans,
        asking=asking,
        relations=Relations(workspaces, freshness),
        memories=memories,
        notes=Notes(workspaces, freshness, memories, settings.options),
        curation=Curation(workspaces, freshness, memories, settings.options, _near_pairs),
        briefs=briefs,
        prefix_prices=PrefixPrices(briefs, engines, usage, settings.rules),
        brief_history=BriefHistory(workspaces, briefs),
        footprint=Footprints(workspaces),
        usage=usage,
        warm_ups=warm_ups,
        status=Status(scans, briefs, freshness.looks, memories),
        recalling=lambda: _recalling(settings, workspaces, memories),
        recorder=lambda: _recorder(settings, workspaces, memories),
        changes=lambda root, wanted: _repository(root).changes(wanted),
        reviews=Reviews(workspaces, freshness, ReviewParts(memories, _repository, settings.options, judge)),
        afterwards=Afterwards(memories, _status_board(settings), settings.stays_here, settings.episode_days),
        doctor=lambda: _doctor(settings, workspaces, embedders, dense),
    )
