"""The composition root: the only file that names concrete adapters."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from braindex.config import Settings
from braindex.domain.engines import Engine
from braindex.domain.ports import DenseIndex, Embedder, Passage, Vector, VectorSource, WordModel
from braindex.domain.results import Workspace
from braindex.domain.usage import EngineName
from braindex.llm.deepseek import DeepSeek
from braindex.llm.ollama import Ollama
from braindex.llm.prices import load_prices
from braindex.services.ask import Asking
from braindex.services.brief import BriefParts, Briefs
from braindex.services.brief_writing import BriefWriter
from braindex.services.freshness import Freshness
from braindex.services.metering import DailyLimit, EmbeddingMeter, LimitedEngine
from braindex.services.retrieve import Arms
from braindex.services.scan import ScanParts, Scans
from braindex.services.status import Status
from braindex.services.usage import UsageService
from braindex.services.warmup import WarmUps
from braindex.services.workspaces import Workspaces
from braindex.services.writing import Writer
from braindex.transport.loopback import confine_to_loopback

CLOSE_SECONDS: Final = 0.1  # of a process that ends with its client


@dataclass(frozen=True, slots=True)
class App:
    """The use cases, ready. Building one opens no database and imports nothing heavy."""

    settings: Settings
    workspaces: Workspaces
    scans: Scans
    asking: Asking
    briefs: Briefs
    usage: UsageService
    warm_ups: WarmUps
    status: Status

    def finish(self, seconds: float) -> None:
        """Waits, within bounds, for what a command began in the background and its end would cut off."""
        self.briefs.wait(seconds)
        self.warm_ups.wait(seconds)
        self.usage.flush(seconds)

    def close(self) -> None:
        """Stops background scans and enters the last questions in the ledger; safe to call twice."""
        self.scans.stop()
        self.usage.flush(CLOSE_SECONDS)


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


class _Dense:
    """The dense indexes, imported (numpy) at first use; ChromaDB only where a workspace needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._indexes: Any = None

    def __call__(self, folder: Path, source: VectorSource) -> DenseIndex:
        with self._lock:
            if self._indexes is None:
                from braindex.vectors.index import DenseIndexes  # noqa: PLC0415 - see above

                self._indexes = DenseIndexes()
            index: DenseIndex = self._indexes.of(folder, source)
        return index

    def forget(self, folder: Path) -> None:
        """Lets go of what is held of a workspace."""
        with self._lock:
            if self._indexes is not None:
                self._indexes.forget(folder)


class _Engines:
    """The engines that the settings configure, one object each: what they learn of their provider is kept."""

    def __init__(self, settings: Settings, limit: DailyLimit) -> None:
        local = settings.memory_mode == "local"
        self._made: dict[EngineName, Engine] = {}
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

    def get(self, name: EngineName) -> Engine | None:
        return self._made.get(name)


def build_app(settings: Settings) -> App:
    """The use cases over the data folder that the settings name.

    With MEMORY_MODE=local the process is confined to this machine for good. Raises what a prices file is refused for.
    """
    if settings.memory_mode == "local":
        confine_to_loopback()
    dense = _Dense()
    workspaces = Workspaces(settings.brain_dir, dense.forget)
    prices = load_prices(Path(settings.prices_file).expanduser() if settings.prices_file else None)
    usage = UsageService(settings.brain_dir, prices, tracking=settings.token_tracking)
    limit = DailyLimit(usage, settings.max_daily_cost)
    embedders, engines = _Embedders(settings, usage, limit), _Engines(settings, limit)
    arms = Arms(embedders, dense)
    warm_ups = WarmUps(usage, enabled=settings.brief_warmup)
    parts = BriefParts(engines, BriefWriter(arms, usage), warm_ups, settings.rules, settings.options)
    briefs = Briefs(workspaces, parts)
    scans = Scans(workspaces, ScanParts(embedders, dense, settings.options, briefs.after_scan))
    freshness = Freshness(workspaces, scans, settings.options)
    writer = Writer(engines, briefs, usage, warm_ups, settings.rules)
    return App(
        settings=settings,
        workspaces=workspaces,
        scans=scans,
        asking=Asking(workspaces, freshness, arms, writer, settings.options),
        briefs=briefs,
        usage=usage,
        warm_ups=warm_ups,
        status=Status(scans, briefs),
    )
