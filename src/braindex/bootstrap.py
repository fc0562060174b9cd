"""The composition root: the only file that names concrete adapters."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from braindex.config import Settings
from braindex.domain.ports import DenseIndex, Embedder, Passage, Vector, VectorSource
from braindex.services.ask import Asking
from braindex.services.scan import ScanParts, Scans
from braindex.services.workspaces import Workspaces


@dataclass(frozen=True, slots=True)
class App:
    """The use cases, ready. Building one opens no database and imports nothing heavy."""

    settings: Settings
    workspaces: Workspaces
    scans: Scans
    asking: Asking

    def close(self) -> None:
        """Stops background scans; safe to call twice."""
        self.scans.stop()


class _Model:
    """The bundled model, imported (numpy) and loaded at first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: Embedder | None = None

    @property
    def _embedder(self) -> Embedder:
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


def build_app(settings: Settings) -> App:
    """The use cases over the data folder that the settings name."""
    embedder = _Model()
    dense = _Dense()
    workspaces = Workspaces(settings.brain_dir, dense.forget)
    scans = Scans(workspaces, ScanParts(embedder, dense, settings.options))
    return App(
        settings=settings,
        workspaces=workspaces,
        scans=scans,
        asking=Asking(workspaces, scans, embedder, dense, settings.options),
    )
