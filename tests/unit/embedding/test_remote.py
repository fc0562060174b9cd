"""Both providers of vectors against their stand-ins: requests within bounds, checked vectors, and named failures."""

import json
import logging
import os
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from tests.fakes.asked import ROOT, Waits
from tests.fakes.ollama import FakeOllama, vector_of
from tests.fakes.openai import KEY, FakeOpenAI

from braindex.domain.engines import EngineCancelled, EngineFailed
from braindex.domain.ports import Passage
from braindex.domain.usage import EngineName, Usage
from braindex.embedding.ollama import OllamaEmbeddings
from braindex.embedding.openai_compatible import NoQuota, OpenAIEmbeddings
from braindex.embedding.remote import (
    INPUT_BYTES,
    Api,
    DimensionChanged,
    Limits,
    PassageTooLong,
    RemoteEmbedder,
    cut,
    passage_text,
    prefixes_of,
)
from braindex.transport.failures import (
    KeyRefused,
    KeyUnusable,
    NonsenseAnswer,
    RateLimited,
    RetryRule,
    ServerFailed,
    StaysLocal,
    UnknownModel,
    Unreachable,
)

DEAD = "http://127.0.0.1:9"
MODEL = "text-embedding-3-small"


@dataclass
class Metered:
    """What was entered, and a refusal where one is set."""

    entered: list[tuple[EngineName, str, Usage]] = field(default_factory=list)
    refusal: EngineFailed | None = None

    def begin(self, engine: EngineName, model: str, texts: Sequence[str]) -> str:
        if self.refusal is not None:
            raise self.refusal
        return f"{engine}/{model}/{len(texts)}"

    def enter(self, engine: EngineName, model: str, usage: Usage | None, held: str, texts: Sequence[str]) -> None:
        assert held == f"{engine}/{model}/{len(texts)}"
        if usage is not None:
            self.entered.append((engine, model, usage))


@pytest.fixture
def openai() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as stand_in:
        yield stand_in
        assert stand_in.violations == []


@pytest.fixture
def metered() -> Metered:
    return Metered()


def over(api: Api, metered: Metered, limits: Limits | None = None) -> RemoteEmbedder:
    return RemoteEmbedder(api, limits or Limits(api.texts, api.request_bytes), metered)


def of_openai(url: str, retry: RetryRule, metered: Metered, key: str = KEY, model: str = MODEL) -> RemoteEmbedder:
    return over(OpenAIEmbeddings(model, key, f"{url}/v1", retry=retry, question_retry=retry), metered)


def of_ollama(url: str, retry: RetryRule, metered: Metered, model: str = "nomic-embed-text") -> RemoteEmbedder:
    return over(OllamaEmbeddings(model, url, retry=retry, question_retry=retry), metered)


def passage(body: str, name: str = "one") -> Passage:
    return Passage(path="src/a/b/c.py", parent="Cart", name=name, signature="def one()", doc="", body=body)


def floats(vector: bytes | None) -> list[float]:
    assert vector is not None
    return list(struct.unpack(f"<{len(vector) // 4}f", vector))


def sent(stand_in: FakeOpenAI | FakeOllama) -> list[list[str]]:
    return [one.body["input"] for one in stand_in.requests]


def test_the_requests_are_exactly_these(openai, fake_ollama, retry, metered):
    of_openai(openai.url, retry, metered).question("where is it")
    of_ollama(fake_ollama.url, retry, metered).question("where is it")
    assert openai.requests[0].body == {"model": MODEL, "input": ["where is it"], "encoding_format": "base64"}
    assert fake_ollama.requests[0].body == {
        "model": "nomic-embed-text:latest",
        "input": ["search_query: where is it"],
        "truncate": True,
        "keep_alive": "15m",
    }
    assert fake_ollama.violations == []


def test_vectors_come_in_the_order_of_their_passages_whatever_order_they_are_sent_in(openai, retry, metered):
    texts = [passage(f"body number {number}") for number in range(40)]
    openai.fail("out of order", 2)
    found = of_openai(openai.url, retry, metered).passages(texts)
    for one, vector in zip(texts, found, strict=True):
        assert floats(vector) == pytest.approx(vector_of(passage_text(one), 24), abs=1e-6)
    openai.fail("no indexes")
    assert of_openai(openai.url, retry, metered).passages(texts[:3]) == found[:3]


def test_vectors_are_unit_vectors_of_float32(openai, fake_ollama, retry, metered):
    openai.numbers = True
    for embedder, dimension in (
        (of_openai(openai.url, retry, metered), 24),
        (of_ollama(fake_ollama.url, retry, metered), 16),
    ):
        assert embedder.dimension == 0
        (vector,) = embedder.passages([passage("def total(cart): return sum(cart)")])
        assert sum(one * one for one in floats(vector)) == pytest.approx(1.0, abs=1e-6)
        assert (len(vector or b""), embedder.dimension) == (dimension * 4, dimension)


def test_a_vector_without_a_direction_is_none(openai, retry, metered):
    openai.fail("zero vectors")
    assert of_openai(openai.url, retry, metered).passages([passage("x"), passage("y")]) == [None, None]


def test_a_question_without_a_text_asks_nobody(openai, retry, metered):
    assert of_openai(openai.url, retry, metered).question(" \n") is None
    assert of_openai(openai.url, retry, metered).passages([]) == []
    assert openai.requests == []


def test_requests_are_bounded_by_count_and_by_tokens(openai, fake_ollama, retry, metered):
    many = [passage(f"body {number}") for number in range(300)]
    large = [passage("x" * 7_000 + str(number)) for number in range(100)]
    embedder = of_openai(openai.url, retry, metered)
    assert len(embedder.passages(many)) == 300
    assert [len(one) for one in sent(openai)] == [16, 128, 128, 28]  # the first before the dimension is known
    openai.requests.clear()
    assert len(embedder.passages(large)) == 100
    assert max(sum(len(text) for text in one) for one in sent(openai)) <= OpenAIEmbeddings.request_bytes
    of_ollama(fake_ollama.url, retry, metered).passages(large)
    assert max(sum(len(text) for text in one) for one in sent(fake_ollama)) <= OllamaEmbeddings.request_bytes


def test_a_request_holds_no_more_texts_than_an_answer_may_hold_vectors(retry, metered):
    with FakeOpenAI(dimension=3072) as stand_in:
        of_openai(stand_in.url, retry, metered).passages([passage(f"{number}") for number in range(100)])
        assert [len(one) for one in sent(stand_in)] == [16, 40, 40, 4]


def test_a_text_is_cut_to_the_models_input_between_two_characters(openai, retry, metered):
    (vector,) = of_openai(openai.url, retry, metered).passages([passage("購" * 8_000)])
    assert vector is not None
    assert INPUT_BYTES - 3 < len(sent(openai)[0][0].encode()) <= INPUT_BYTES
    assert [cut("aé", 2), cut("aé", 3), cut("a", 9)] == ["a", "aé", "a"]


@pytest.mark.parametrize(("most_texts", "input_tokens"), [(10, 8_192), (2_048, 400), (3, 200)])
def test_a_server_that_takes_less_gets_less_and_no_request_is_lost(most_texts, input_tokens, retry, metered):
    with FakeOpenAI(most_texts=most_texts, input_tokens=input_tokens) as stand_in:
        embedder = of_openai(stand_in.url, retry, metered)
        texts = [passage("some words " * (600 if number == 9 else 1) + str(number)) for number in range(60)]
        found = embedder.passages(texts)
        assert None not in found
        assert floats(found[3]) == pytest.approx(vector_of(passage_text(texts[3]), 24), abs=1e-6)
        asked = len(stand_in.requests)
        stand_in.requests.clear()
        embedder.passages(texts)
        assert len(stand_in.requests) < asked  # what was learned is kept


def test_a_model_that_takes_hardly_anything_is_refused_by_name(retry, metered):
    with FakeOpenAI(input_tokens=10) as stand_in, pytest.raises(PassageTooLong, match="made to embed documents"):
        of_openai(stand_in.url, retry, metered).passages([passage("some words " * 200)])


def test_a_server_that_knows_no_encoding_is_asked_without_it_from_then_on(retry, metered):
    with FakeOpenAI(knows_encoding=False) as stand_in:
        embedder = of_openai(stand_in.url, retry, metered)
        embedder.question("one")
        embedder.question("two")
        assert ["encoding_format" in one.body for one in stand_in.requests] == [True, False, False]


def test_a_provider_that_is_busy_is_asked_again(openai, fake_ollama, retry, waits: Waits, metered):
    openai.fail("429", retry_after=3)
    fake_ollama.fail("503")
    assert of_openai(openai.url, retry, metered).question("one") is not None
    assert of_ollama(fake_ollama.url, retry, metered).question("one") is not None
    assert waits.seconds == [3.0, 0.5]
    openai.fail("429", 3)
    with pytest.raises(RateLimited):
        of_openai(openai.url, retry, metered).question("one")


def test_an_account_without_quota_is_not_asked_again(openai, retry, waits: Waits, metered):
    openai.fail("no quota")
    with pytest.raises(NoQuota, match="OPENAI_API_KEY"):
        of_openai(openai.url, retry, metered).question("one")
    assert waits.seconds == []


NONSENSE = (
    "too few vectors", "one index twice", "ragged vectors", "no numbers", "not a number", "broken base64", "no message",
    "empty body", "non-JSON", "JSON of another kind", "wrong content type", "empty text", "huge body", "deep body",
)  # fmt: skip


@pytest.mark.parametrize("name", NONSENSE)
def test_an_answer_that_is_none_is_a_named_failure(name, openai, retry, metered):
    openai.fail(name)
    with pytest.raises(NonsenseAnswer):
        of_openai(openai.url, retry, metered).passages([passage("x"), passage("y")])


@pytest.mark.parametrize("name", ["no message", "empty body", "non-JSON", "JSON of another kind", "huge body"])
def test_an_answer_of_ollama_that_is_none_is_a_named_failure(name, fake_ollama, retry, metered):
    fake_ollama.fail(name)
    with pytest.raises(NonsenseAnswer):
        of_ollama(fake_ollama.url, retry, metered).passages([passage("x")])


def test_failures_say_what_to_do_and_never_hold_the_key_or_the_text(openai, fake_ollama, retry, metered, caplog):
    caplog.set_level(logging.DEBUG)
    said = []
    for name, kind in (("401", KeyRefused), ("404", UnknownModel), ("500", ServerFailed)):
        openai.fail(name, 3)
        with pytest.raises(kind) as caught:
            of_openai(openai.url, retry, metered).question("a secret question")
        openai._next.clear()
        said.append(str(caught.value))
    with pytest.raises(KeyUnusable) as caught:
        of_openai(openai.url, retry, metered, key="sk two\n").question("a secret question")
    said.append(str(caught.value))
    with pytest.raises(UnknownModel, match="ollama pull other"):
        of_ollama(fake_ollama.url, retry, metered, "other").question("x")
    with pytest.raises(Unreachable, match="ollama serve"):
        of_ollama(DEAD, retry, metered).question("x")
    with pytest.raises(Unreachable, match="OPENAI_BASE_URL"):
        of_openai(DEAD, retry, metered).question("x")
    everything = "\n".join(said) + caplog.text
    assert "OPENAI_API_KEY" in said[0]
    assert "OPENAI_EMBED_MODEL" in said[1]
    assert KEY not in everything
    assert "secret" not in everything


def test_a_dimension_that_changes_is_noticed_and_learned_anew(openai, retry, metered):
    embedder = of_openai(openai.url, retry, metered)
    embedder.question("one")
    openai.dimension = 48
    with pytest.raises(DimensionChanged, match="scan the workspace again"):
        embedder.question("one")
    assert len(floats(embedder.question("one"))) == embedder.dimension == 48


def test_each_request_is_metered_with_its_tokens(openai, fake_ollama, retry, metered):
    of_openai(openai.url, retry, metered).passages([passage(f"{number}") for number in range(20)])
    assert [(engine, model) for engine, model, _ in metered.entered] == [("openai", MODEL)] * 2
    assert sum(usage.tokens_in for _, _, usage in metered.entered) == openai.tokens > 0
    openai.fail("no message")
    with pytest.raises(NonsenseAnswer):
        of_openai(openai.url, retry, metered).question("x")
    assert metered.entered[-1][2] == Usage(tokens_in=5)
    of_ollama(fake_ollama.url, retry, metered).question("x")
    assert metered.entered[-1][0] == "ollama"


def test_nothing_is_asked_where_no_more_may_be_spent(openai, retry):
    with pytest.raises(EngineFailed, match="enough"):
        of_openai(openai.url, retry, Metered(refusal=EngineFailed("enough"))).question("x")
    assert openai.requests == []


def test_a_stop_ends_a_request_that_waits(openai, retry, metered):
    api = OpenAIEmbeddings(MODEL, KEY, f"{openai.url}/v1", retry=retry)
    openai.fail("slow", seconds=30)
    embedder = RemoteEmbedder(api, Limits(1, 1), metered, stopped=openai.waiting.is_set)
    with pytest.raises(EngineCancelled):
        embedder.passages([passage("x"), passage("y")])
    assert openai.hung_up.wait(10)
    with pytest.raises(EngineCancelled):
        embedder.passages([passage("x")])
    assert len(openai.requests) == 1


def test_nothing_leaves_where_only_this_machine_may_be_asked(openai, retry, metered):
    far = (
        OpenAIEmbeddings(MODEL, KEY, f"{openai.url}/v1", local_only=True),
        OllamaEmbeddings("m", "10.0.0.5", local_only=True),
        OllamaEmbeddings("m:cloud", openai.url, local_only=True),
    )
    for api in far:
        with pytest.raises(StaysLocal, match="MEMORY_MODE"):
            over(api, metered).question("x")
    assert openai.requests == []


def test_proxies_are_ignored_for_loopback(openai, fake_ollama, retry, metered, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, DEAD)
    assert of_openai(openai.url, retry, metered).question("x") is not None
    assert of_ollama(fake_ollama.url, retry, metered).question("x") is not None


def test_a_model_is_told_apart_by_its_provider_and_its_name(retry, metered):
    assert of_openai(DEAD, retry, metered).model == "openai/text-embedding-3-small@1"
    tagged = {of_ollama(DEAD, retry, metered, name).model for name in ("nomic-embed-text", "nomic-embed-text:latest")}
    assert tagged == {"ollama/nomic-embed-text:latest@1"}
    assert of_ollama(DEAD, retry, metered, "host:80/a/m").model == "ollama/host:80/a/m:latest@1"


def test_a_model_reads_what_it_was_trained_to_read():
    assert prefixes_of("nomic-ai/nomic-embed-text-v1.5").document == "search_document: "
    assert prefixes_of("mxbai-embed-large:latest").question.startswith("Represent this sentence")
    assert prefixes_of("text-embedding-3-small").question == ""


def test_a_passage_says_where_it_is_what_it_is_called_and_what_it_does():
    assert passage_text(passage("def one():\n    return 1")) == "a/b/c.py Cart.one\ndef one():\n    return 1"
    assert passage_text(passage("a body alone")).splitlines() == ["a/b/c.py Cart.one", "def one()", "a body alone"]


def test_nothing_heavy_is_imported_before_the_first_request():
    script = """
import json, sys
from braindex.embedding.ollama import OllamaEmbeddings
from braindex.embedding.openai_compatible import OpenAIEmbeddings
OllamaEmbeddings("m"), OpenAIEmbeddings("m", "k", "http://127.0.0.1:9")
print(json.dumps([name for name in ("openai", "ollama", "httpx", "httpx2", "asyncio", "ssl") if name in sys.modules]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == []
