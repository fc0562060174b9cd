"""A stand-in for OpenAI's embeddings, with its limits: /v1/embeddings and, as compatible servers have it, /embeddings.

`python -m tests.fakes.openai --port 0` runs it as a process and prints its URL.
"""

import argparse
import base64
import struct
from collections.abc import Callable, Sequence
from typing import Any

from tests.fakes.ollama import vector_of
from tests.fakes.prefix_cache import tokens_of
from tests.fakes.server import Received, Reply, StandIn, as_json, serve

KEY = "sk-openai-stand-in"
MODELS = ("text-embedding-3-small", "text-embedding-3-large")
MOST_TEXTS = 2_048
MOST_TOKENS = 300_000


class FakeOpenAI(StandIn):
    """`dimension` may change between requests. `numbers` is a server that ignores the encoding asked for, and without
    `knows_encoding` the parameter is refused. `most_texts` and `input_tokens` are the limits of other servers.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        key: str = KEY,
        models: Sequence[str] = MODELS,
        dimension: int = 24,
        numbers: bool = False,
        knows_encoding: bool = True,
        most_texts: int = MOST_TEXTS,
        input_tokens: int = 8_192,
    ) -> None:
        self.key, self.models, self.dimension = key, tuple(models), dimension
        self.numbers, self.knows_encoding = numbers, knows_encoding
        self.most_texts, self.input_tokens = most_texts, input_tokens
        self.tokens = 0  # billed so far
        super().__init__(port)

    def failures(self) -> dict[str, Callable[..., Reply]]:
        return {
            **super().failures(),
            "no quota": lambda _: as_json({"error": {"message": "quota", "code": "insufficient_quota"}}, 429),
            "too few vectors": lambda received: self._changed(received, lambda data: data[:-1]),
            "out of order": lambda received: self._changed(received, lambda data: data[::-1]),
            "no indexes": lambda received: self._changed(
                received, lambda data: [{"embedding": one["embedding"]} for one in data]
            ),
            "one index twice": lambda received: self._changed(received, lambda data: [*data[:-1], data[0]]),
            "ragged vectors": lambda received: self._changed(
                received, lambda data: [{**one, "embedding": [0.5] * (at + 1)} for at, one in enumerate(data)]
            ),
            "no numbers": lambda received: self._changed(
                received, lambda data: [{**one, "embedding": ["a", "b"]} for one in data]
            ),
            "not a number": lambda received: self._changed(
                received, lambda data: [{**one, "embedding": [float("nan"), 1.0]} for one in data]
            ),
            "broken base64": lambda received: self._changed(
                received, lambda data: [{**one, "embedding": "*"} for one in data]
            ),
            "zero vectors": lambda received: self._changed(
                received, lambda data: [{**one, "embedding": [0.0] * self.dimension} for one in data]
            ),
        }

    def answer(self, received: Received) -> Reply:
        if received.path not in {"/v1/embeddings", "/embeddings"} or received.method != "POST":
            self.violation(f"no such address: {received.method} {received.path}")
            return self.error(404, "Not Found")
        if received.headers.get("authorization") != f"Bearer {self.key}":
            self.violation("a missing or wrong bearer key")
            return self.error(401, "Incorrect API key provided")
        wrong = _violations(received)
        for one in wrong:
            self.violation(one)
        if wrong:
            return self.error(400, wrong[0])
        if received.body["model"] not in self.models:
            self.violation(f"unknown model {received.body['model']!r}")
            return self.error(404, f"The model `{received.body['model']}` does not exist")
        if "encoding_format" in received.body and not self.knows_encoding:
            return self.error(400, "unknown parameter: encoding_format")
        return self._refused_for_size(received.body["input"]) or as_json(self._embedded(received))

    def error(self, status: int, message: str) -> Reply:
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
        return as_json({"error": error}, status)

    def without_message(self) -> Any:
        return {"object": "list", "model": self.models[0], "usage": {"prompt_tokens": 5, "total_tokens": 5}}

    def with_text(self, received: Received, text: str) -> Reply:
        return as_json({**self._embedded(received), "data": text})

    def _refused_for_size(self, texts: Sequence[str]) -> Reply | None:
        sizes = [len(tokens_of("", text)) for text in texts]
        if len(texts) > self.most_texts:
            if self.most_texts == MOST_TEXTS:
                self.violation(f"{len(texts)} texts in one request")
            return self.error(413, f"batch size {len(texts)} > maximum allowed batch size {self.most_texts}")
        if sum(sizes) > MOST_TOKENS:
            self.violation(f"{sum(sizes)} tokens in one request")
            return self.error(400, "max 300000 tokens per request")
        if max(sizes) > self.input_tokens:
            return self.error(400, f"This model's maximum context length is {self.input_tokens} tokens")
        return None

    def _embedded(self, received: Received) -> dict[str, Any]:
        body = received.body
        plain = self.numbers or body.get("encoding_format") != "base64"
        vectors = [vector_of(text, self.dimension) for text in body["input"]]
        data = [
            {"object": "embedding", "index": at, "embedding": one if plain else _packed(one)}
            for at, one in enumerate(vectors)
        ]
        tokens = sum(len(tokens_of("", text)) - 1 for text in body["input"])
        with self._lock:
            self.tokens += tokens
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": body["model"], "usage": usage}

    def _changed(self, received: Received, change: Callable[[list[dict[str, Any]]], Any]) -> Reply:
        answer = self._embedded(received)
        return as_json({**answer, "data": change(answer["data"])})


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


FIELDS: dict[str, Callable[[Any], bool]] = {
    "model": lambda value: isinstance(value, str) and bool(value),
    "input": lambda value: isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value),
    "encoding_format": lambda value: value in ("float", "base64"),
    "dimensions": lambda value: isinstance(value, int) and value > 0,
}


def _violations(received: Received) -> list[str]:
    body = received.body
    if not isinstance(body, dict):
        return ["a body that is no JSON object"]
    found = [f"unknown field {name!r}" for name in body if name not in FIELDS]
    found += [f"missing field {name!r}" for name in ("model", "input") if name not in body]
    found += [f"wrong value of {name!r}" for name, good in FIELDS.items() if name in body and not good(body[name])]
    return found or ["an empty text" for text in body["input"] if not text]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimension", type=int, default=24)
    serve(lambda given: FakeOpenAI(given.port, dimension=given.dimension), parser)


if __name__ == "__main__":
    main()
