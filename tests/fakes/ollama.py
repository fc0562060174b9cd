"""A stand-in for an Ollama server: /api/chat, /api/embed, /api/tags and /api/version, not streamed.

The wire format is that of Ollama's OpenAPI description and its pages on errors and on usage.
`python -m tests.fakes.ollama --port 0` runs it as a process and prints its URL.
"""

import argparse
import hashlib
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from tests.fakes.conversations import Calls, are_tools, message_violations, tool_calls
from tests.fakes.prefix_cache import tokens_of, tokens_of_all
from tests.fakes.server import Received, Reply, StandIn, as_json, serve

MODELS = ("llama3.2:latest", "nomic-embed-text:latest")
CREATED_AT = "2026-11-30T09:00:00.123456789Z"

OPTIONS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("num_ctx", "num_predict", "seed", "top_k", "num_keep", "num_batch", "num_gpu", "num_thread"), (int,)
    ),
    **dict.fromkeys(("temperature", "top_p", "min_p", "repeat_penalty"), (int, float)),
    "stop": (str, list),
}


class FakeOllama(StandIn):
    """`answer_text` is what it answers, or what makes an answer, or calls of tools, of a request's body. Without
    `thinks` the parameter `think` is refused, without `tools` that, as by a model that knows no such thing. A prompt beyond `num_ctx` is a violation, since the
    real one cuts it without a word.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        models: Sequence[str] = MODELS,
        answer_text: str | Callable[[dict[str, Any]], str | Calls] = "The answer.",
        thinks: bool = True,
        tools: bool = True,
        dimension: int = 16,
    ) -> None:
        self.models, self.answer_text, self.thinks, self.dimension = tuple(models), answer_text, thinks, dimension
        self.tools = tools
        super().__init__(port)

    def answer(self, received: Received) -> Reply:
        routes: dict[tuple[str, str], Callable[[Received], Reply]] = {
            ("POST", "/api/chat"): self._chat,
            ("POST", "/api/embed"): self._embed,
            ("GET", "/api/tags"): self._tags,
            ("GET", "/api/version"): lambda _: as_json({"version": "0.31.2"}),
            ("GET", "/"): lambda _: Reply(b"Ollama is running", content_type="text/plain; charset=utf-8"),
        }
        route = routes.get((received.method, received.path))
        if route is None:
            self.violation(f"no such address: {received.method} {received.path}")
            return Reply(b"404 page not found", 404, "text/plain")
        return route(received)

    def error(self, status: int, message: str) -> Reply:
        return as_json({"error": message}, status)

    def without_message(self) -> Any:
        return {"model": self.models[0], "created_at": CREATED_AT, "done": True}

    def with_text(self, received: Received, text: str) -> Reply:
        body = received.body
        said, reason = tokens_of("assistant", text)[1:], "stop"
        most = body.get("options", {}).get("num_predict", -1)
        if 0 <= most < len(said):
            said, reason = said[:most], "length"
            text = b"".join(said).decode("utf-8", "ignore")
        return as_json(
            {
                "model": body["model"],
                "created_at": CREATED_AT,
                "message": {"role": "assistant", "content": text},
                "done": True,
                "done_reason": reason,
                "total_duration": 4_883_583_458,
                "load_duration": 1_334_875,
                "prompt_eval_count": len(tokens_of_all(body["messages"])),
                "prompt_eval_duration": 342_546_000,
                "eval_count": len(said),
                "eval_duration": 4_535_599_000,
            }
        )

    def _chat(self, received: Received) -> Reply:
        wrong = _violations(received.body, CHAT_FIELDS, ("model", "messages"))
        if not wrong:
            wrong = message_violations(received.body["messages"], "ollama") + _cut(received.body)
        if not wrong and received.body.get("stream", True) is not False:
            wrong = ["a request for a stream"]
        refusal = self._refused(received, wrong)
        if refusal:
            return refusal
        if received.body.get("think") is not None and not self.thinks:
            return self.error(400, f"{received.body['model']!r} does not support thinking")
        if received.body.get("tools") and not self.tools:
            return self.error(400, f"{received.body['model']!r} does not support tools")
        text = self.answer_text if isinstance(self.answer_text, str) else self.answer_text(received.body)
        if isinstance(text, str):
            return self.with_text(received, text)
        answer = json.loads(self.with_text(received, text.text).body)
        answer["message"]["tool_calls"] = tool_calls(text.calls, "ollama", start=0)
        return as_json(answer)

    def _embed(self, received: Received) -> Reply:
        refusal = self._refused(received, _violations(received.body, EMBED_FIELDS, ("model", "input")))
        if refusal:
            return refusal
        given = received.body["input"]
        texts = [given] if isinstance(given, str) else given
        return as_json(
            {
                "model": received.body["model"],
                "embeddings": [vector_of(text, received.body.get("dimensions") or self.dimension) for text in texts],
                "total_duration": 14_143_917,
                "load_duration": 1_019_500,
                "prompt_eval_count": sum(len(tokens_of("", text)) - 1 for text in texts),
            }
        )

    def _tags(self, _: Received) -> Reply:
        details = {"parent_model": "", "format": "gguf", "family": "llama", "families": ["llama"]}
        details |= {"parameter_size": "3.2B", "quantization_level": "Q4_K_M"}
        models = [
            {
                "name": name,
                "model": name,
                "modified_at": CREATED_AT,
                "size": 2_019_393_189,
                "digest": hashlib.sha256(name.encode()).hexdigest(),
                "details": details,
            }
            for name in self.models
        ]
        return as_json({"models": models})

    def _refused(self, received: Received, wrong: list[str]) -> Reply | None:
        for one in wrong:
            self.violation(one)
        if wrong:
            return self.error(400, wrong[0])
        model = received.body["model"]
        if model in self.models or f"{model}:latest" in self.models:
            return None
        self.violation(f"unknown model {model!r}")
        return self.error(404, f"model '{model}' not found")


def vector_of(text: str, dimension: int) -> list[float]:
    """A unit vector that depends on the words of a text: texts that share words are near to each other."""
    vector = [0.0] * dimension
    for word in text.lower().split():
        digest = hashlib.sha256(word.encode("utf-8", "replace")).digest()
        vector[digest[0] % dimension] += 1.0 if digest[1] % 2 else -1.0
    length = math.sqrt(sum(one * one for one in vector))
    return [one / length for one in vector] if length else [1.0] + [0.0] * (dimension - 1)


def _is_input(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _are_options(value: Any) -> bool:
    return isinstance(value, dict) and all(
        name in OPTIONS and isinstance(one, OPTIONS[name]) and not isinstance(one, bool) for name, one in value.items()
    )


Fields = dict[str, Callable[[Any], bool]]
SHARED_FIELDS: Fields = {
    "model": lambda value: isinstance(value, str) and bool(value),
    "options": _are_options,
    "keep_alive": lambda value: isinstance(value, str | int | float),
}
CHAT_FIELDS: Fields = {
    **SHARED_FIELDS,
    "messages": lambda value: isinstance(value, list) and bool(value),
    "stream": lambda value: isinstance(value, bool),
    "think": lambda value: isinstance(value, bool) or value in ("low", "medium", "high"),
    "format": lambda value: value == "json" or isinstance(value, dict),
    "tools": are_tools,
}
EMBED_FIELDS: Fields = {
    **SHARED_FIELDS,
    "input": _is_input,
    "truncate": lambda value: isinstance(value, bool),
    "dimensions": lambda value: isinstance(value, int) and value > 0,
}


def _violations(body: Any, fields: Fields, required: Sequence[str]) -> list[str]:
    if not isinstance(body, dict):
        return ["a body that is no JSON object"]
    found = [f"unknown field {name!r}" for name in body if name not in fields]
    found += [f"missing field {name!r}" for name in required if name not in body]
    return found + [
        f"wrong value of {name!r}" for name, good in fields.items() if name in body and not good(body[name])
    ]


def _cut(body: dict[str, Any]) -> list[str]:
    context, prompt = body.get("options", {}).get("num_ctx", 4096), len(tokens_of_all(body["messages"]))
    return [f"a prompt of {prompt} tokens is cut to a context of {context}"] if prompt > context else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", action="append", help=f"a model it has (default: {', '.join(MODELS)})")
    parser.add_argument("--answer", default="The answer.")
    serve(lambda given: FakeOllama(given.port, models=given.model or MODELS, answer_text=given.answer), parser)


if __name__ == "__main__":
    main()
