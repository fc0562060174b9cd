"""What models behind an API share: a passage's text, requests within bounds, and vectors that were checked."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from braindex.domain.engines import EngineCancelled, EngineFailed
from braindex.domain.ports import Passage, Vector
from braindex.domain.usage import NO_USAGE, EngineName, Usage
from braindex.embedding.bundled import tail
from braindex.transport.failures import LARGEST_ANSWER, NonsenseAnswer, PromptTooLong, Provider, RetryRule
from braindex.transport.wire import clean

# How a passage becomes a text: raised whenever it comes out differently, since it is part of the model's name.
RECIPE: Final = 1
# A byte-level tokenizer never makes more tokens than a text has bytes, so a bound in bytes holds in tokens.
INPUT_BYTES: Final = 8_000
_SMALLEST_INPUT: Final = 400  # bytes; a model that refuses less is none for source code
_FIRST_TEXTS: Final = 16  # in a request, before the size of an answer is known
_NUMBER_BYTES: Final = 24  # of one number as JSON, at most
QUESTION_SECONDS: Final = 8.0
_TINY: Final = 1e-12


class DimensionChanged(EngineFailed):
    def __init__(self, provider: Provider, model: str, before: int, now: int) -> None:
        super().__init__(
            f"{provider.name} gave vectors of {now} numbers for {model!r} after some of {before}, so it is another "
            "model by now: scan the workspace again to embed it anew"
        )


class PassageTooLong(EngineFailed):
    def __init__(self, provider: Provider, model: str) -> None:
        super().__init__(
            f"{provider.name} refuses even {_SMALLEST_INPUT} bytes as too long for {model!r}: "
            "name a model that was made to embed documents"
        )


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What a model was trained to read before a document and before a question."""

    document: str = ""
    question: str = ""


# By the first part of a model's name, from the model cards. Without them such a model finds markedly less.
_PREFIXES: Final = {
    "nomic-embed-text": Prefixes("search_document: ", "search_query: "),
    "mxbai-embed-large": Prefixes("", "Represent this sentence for searching relevant passages: "),
    "embeddinggemma": Prefixes("title: none | text: ", "task: search result | query: "),
    "multilingual-e5": Prefixes("passage: ", "query: "),
}


def prefixes_of(model: str) -> Prefixes:
    """By a model's name, with or without its publisher and its tag."""
    name = model.lower().rpartition("/")[2]
    return next((found for known, found in _PREFIXES.items() if name.startswith(known)), Prefixes())


def passage_text(passage: Passage) -> str:
    """Where it is, what it is called, and its source; a signature that the source begins with is not said twice."""
    name = f"{passage.parent}.{passage.name}" if passage.parent else passage.name
    signature = "" if passage.signature in passage.body else passage.signature
    return "\n".join(part for part in (f"{tail(passage.path)} {name}", signature, passage.body) if part)


def cut(text: str, most: int) -> str:
    """At most so many bytes of UTF-8, and whole characters."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= most else data[:most].decode("utf-8", "ignore")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request and all its attempts may take. A question has less time: clients give up after ten seconds."""

    seconds: float
    retry: RetryRule
    question_retry: RetryRule | None = None

    def of(self, *, question: bool) -> tuple[float, RetryRule]:
        """The time limit in seconds and the rule of its attempts."""
        if question:
            return min(QUESTION_SECONDS, self.seconds), self.question_retry or RetryRule(attempts=2)
        return self.seconds, self.retry


@dataclass(frozen=True, slots=True)
class Embedded:
    """An answer, in the order of the texts: rows of numbers, or of float32 as bytes."""

    rows: Sequence[Any]
    usage: Usage


class Api(Protocol):
    """A provider's way of embedding. `request_bytes` and `texts` bound a request."""

    @property
    def engine(self) -> EngineName: ...

    @property
    def model(self) -> str: ...

    @property
    def provider(self) -> Provider: ...

    @property
    def request_bytes(self) -> int: ...

    @property
    def texts(self) -> int: ...

    def check(self) -> None:
        """Raises what keeps it from being asked at all, before anything is imported."""
        ...

    def embed(self, texts: Sequence[str], *, question: bool, cancelled: Callable[[], bool]) -> Embedded:
        """One request. A question is wanted soon or not at all. Raises EngineFailed."""
        ...


class Meter(Protocol):
    """What a request may cost, and what it did."""

    def begin(self, engine: EngineName, model: str, texts: Sequence[str]) -> str:
        """A token for `enter`, which has to follow. Raises EngineFailed where no more may be spent."""
        ...

    def enter(self, engine: EngineName, model: str, usage: Usage | None, held: str, texts: Sequence[str]) -> None:
        """The end of a request, None where it failed and used nothing. Never raises."""
        ...


class Limits:
    """How much one request may hold. Tightens when a provider refuses, and is shared by all that ask one model."""

    def __init__(self, texts: int, request_bytes: int) -> None:
        self._most = self._texts = texts
        self._request_bytes = request_bytes
        self.input_bytes = INPUT_BYTES
        self.dimension = 0
        self._lock = threading.Lock()

    def batch(self, texts: Sequence[str], start: int) -> list[str]:
        """The texts of the next request, cut to the model's input: at least one."""
        found: list[str] = []
        size = 0
        for at in range(start, min(len(texts), start + self._count())):
            text = cut(texts[at], self.input_bytes)
            size += len(text.encode())
            if found and size > self._request_bytes:
                break
            found.append(text)
        return found

    def _count(self) -> int:
        if not self.dimension:
            return min(self._texts, _FIRST_TEXTS)
        by_answer = LARGEST_ANSWER * 3 // 4 // (self.dimension * _NUMBER_BYTES)
        return max(1, min(self._texts, by_answer))

    def tighten(self, refused: Sequence[str]) -> bool:
        """After a refusal for size: fewer texts, then shorter ones. False where nothing smaller is worth asking."""
        with self._lock:
            if len(refused) > 1:
                self._texts = min(self._texts, len(refused) // 2)
                return True
            size = len(refused[0].encode())
            if size <= _SMALLEST_INPUT:
                return False
            self.input_bytes = min(self.input_bytes, max(_SMALLEST_INPUT, size // 2))
            self._texts = self._most  # it was the length of one: others may go together again
            return True

    def check_dimension(self, api: Api, given: int) -> None:
        """Learns the dimension of the first answer. Raises DimensionChanged, and begins anew, for another later."""
        with self._lock:
            before, self.dimension = self.dimension, given
            if before and given != before:
                self.dimension = 0
                raise DimensionChanged(api.provider, api.model, before, given)


class RemoteEmbedder:
    """Fulfils `domain.ports.Embedder` with a provider. Light: made for each use, over an `Api` and `Limits` kept."""

    def __init__(self, api: Api, limits: Limits, meter: Meter, stopped: Callable[[], bool] = lambda: False) -> None:
        self._api = api
        self._limits = limits
        self._meter = meter
        self._stopped = stopped
        self._prefixes = prefixes_of(api.model)

    @property
    def model(self) -> str:
        """Who runs the model, its name, and how texts are made for it."""
        return f"{self._api.engine}/{self._api.model}@{RECIPE}"

    @property
    def dimension(self) -> int:
        return self._limits.dimension

    def passages(self, passages: Sequence[Passage]) -> list[Vector | None]:
        """One vector a passage, in order. Raises EngineFailed (EngineCancelled when asked to stop)."""
        texts = [clean(self._prefixes.document + passage_text(one)) for one in passages]
        return [vector for some in self._requests(texts, question=False) for vector in some]

    def question(self, text: str) -> Vector | None:
        """By one request, unless the model turns out to take less. None for no text at all. Raises EngineFailed."""
        if not text.strip():
            return None
        [[vector]] = self._requests([clean(self._prefixes.question + text)], question=True)
        return vector

    def _requests(self, texts: Sequence[str], *, question: bool) -> Iterator[list[Vector | None]]:
        done = 0
        while done < len(texts):
            if self._stopped():
                raise EngineCancelled
            batch = self._limits.batch(texts, done)
            try:
                found = self._request(batch, question=question)
            except PromptTooLong:
                if not self._limits.tighten(batch):
                    raise PassageTooLong(self._api.provider, self._api.model) from None
                continue
            done += len(batch)
            yield found

    def _request(self, texts: Sequence[str], *, question: bool) -> list[Vector | None]:
        api = self._api
        api.check()
        held = self._meter.begin(api.engine, api.model, texts)
        used: Usage | None = None
        try:
            answer = api.embed(texts, question=question, cancelled=self._stopped)
            used = answer.usage
        except EngineFailed as failure:
            used = None if failure.usage == NO_USAGE else failure.usage
            raise
        finally:
            self._meter.enter(api.engine, api.model, used, held, texts)
        return self._vectors(answer.rows, len(texts))

    def _vectors(self, rows: Sequence[Any], wanted: int) -> list[Vector | None]:
        """L2-normalised float32, little-endian; None for a vector without a direction."""
        provider = self._api.provider
        if len(rows) != wanted:
            raise NonsenseAnswer(provider, f"{len(rows)} vectors for {wanted} texts")
        values = _matrix(provider, rows)
        self._limits.check_dimension(self._api, values.shape[1])
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(values, axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise NonsenseAnswer(provider, "vectors with numbers that are none")
        units = (values / np.maximum(lengths, _TINY)).astype("<f4")
        return [unit.tobytes() if length > _TINY else None for unit, [length] in zip(units, lengths, strict=True)]


def _matrix(provider: Provider, rows: Sequence[Any]) -> Any:
    try:
        numbers = [np.frombuffer(row, "<f4") if isinstance(row, bytes) else row for row in rows]
        found = np.asarray(numbers, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):  # of several lengths, or no numbers
        raise NonsenseAnswer(provider, "something that is no list of vectors") from None
    if found.ndim != 2 or not found.shape[1]:
        raise NonsenseAnswer(provider, "something that is no list of vectors")
    return found
