"""A stand-in for DeepSeek's API: its wire format, its prompt cache, and its bill.

`python -m tests.fakes.deepseek --port 0` runs it as a process and prints its URL.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.fakes.conversations import Calls, are_tools, message_violations, tool_calls
from tests.fakes.prefix_cache import PrefixCache, tokens_of, tokens_of_all
from tests.fakes.server import Received, Reply, StandIn, as_json, serve

from braindex.domain.usage import Usage

KEY = "sk-stand-in"
MODELS = ("deepseek-flash", "deepseek-pro")
PATHS = {"/chat/completions", "/v1/chat/completions"}
USAGE_FORMS = ("deepseek", "openai", "plain", "none")

Cost = Callable[[str, datetime, Usage], int | None]


@dataclass(frozen=True)
class Billed:
    model: str
    when: datetime
    usage: Usage
    cost: int | None


def _utc_now() -> datetime:
    return datetime.now(UTC)


class FakeDeepSeek(StandIn):
    """`cost` prices a call by (model, when, usage) in whatever unit it likes; what is answered whole is billed.

    `answer_text` is what it answers, or what makes an answer, or calls of tools, of a request's body. `thinking` and
    `tools` are whether it knows these parameters. `usage_form` is which fields report the cache: DeepSeek's own, OpenAI's, none, or no usage at all.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        key: str = KEY,
        models: Sequence[str] = MODELS,
        interval: int | None = None,
        cost: Cost = lambda _model, _when, _usage: 0,
        now: Callable[[], datetime] = _utc_now,
        answer_text: str | Callable[[dict[str, Any]], str | Calls] = "The answer.",
        thinking: bool = True,
        tools: bool = True,
        usage_form: str = "deepseek",
    ) -> None:
        self.key, self.models, self.cost, self.now = key, tuple(models), cost, now
        self.answer_text, self.thinking, self.usage_form = answer_text, thinking, usage_form
        self.tools = tools
        self.cache = PrefixCache(interval)
        self.bill: list[Billed] = []
        super().__init__(port)

    @property
    def total(self) -> int:
        return sum(one.cost or 0 for one in self.bill)

    def system_messages(self) -> list[str]:
        """Of each request that had one, in order."""
        return [
            one.body["messages"][0]["content"] for one in self.requests if one.body["messages"][0]["role"] == "system"
        ]

    def failures(self) -> dict[str, Callable[..., Reply]]:
        return {
            **super().failures(),
            "no choices": lambda _: as_json({"id": "x", "object": "chat.completion", "choices": []}),
            "out of resources": lambda received: self._complete(received, "Half an", "insufficient_system_resource"),
            # Under load the real one sends empty lines before the answer (its guide, "Rate Limit").
            "another usage": lambda received, usage: as_json(
                {**json.loads(self.answer(received).body), "usage": usage}
            ),
            "blank lines": lambda received: _after_blank_lines(self.answer(received)),
        }

    def answer(self, received: Received) -> Reply:
        if received.path not in PATHS or received.method != "POST":
            self.violation(f"no such address: {received.method} {received.path}")
            return self.error(404, "Not Found")
        if received.headers.get("authorization") != f"Bearer {self.key}":
            self.violation("a missing or wrong bearer key")
            return self.error(401, "Authentication Fails, Your api key is invalid")
        wrong = _violations(received)
        for one in wrong:
            self.violation(one)
        if wrong:
            return self.error(400, f"Failed to deserialize the JSON body: {wrong[0]}")
        if received.body["model"] not in self.models:
            self.violation(f"unknown model {received.body['model']!r}")
            return self.error(400, "Model Not Exist")
        for name, known in (("thinking", self.thinking), ("tools", self.tools)):
            if name in received.body and not known:
                return self.error(400, f"Unrecognized request argument supplied: {name}")
        text = self.answer_text if isinstance(self.answer_text, str) else self.answer_text(received.body)
        return self.with_text(received, text) if isinstance(text, str) else self.with_calls(received, text)

    def error(self, status: int, message: str) -> Reply:
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": "invalid_request_error"}
        return as_json({"error": error}, status)

    def without_message(self) -> Any:
        return {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop"}]}

    def with_text(self, received: Received, text: str) -> Reply:
        return self._complete(received, text, "stop")

    def with_calls(self, received: Received, calls: Calls) -> Reply:
        if received.body.get("tool_choice") == "none":
            self.violation("calls where none may be made")
        made = tool_calls(calls.calls, "openai", start=len(self.bill) * 100)
        return self._complete(received, calls.text, "tool_calls", made)

    def _complete(self, received: Received, text: str, reason: str, calls: Sequence[dict[str, Any]] = ()) -> Reply:
        body = received.body
        model, asked = body["model"], tokens_of_all(body["messages"])
        said = tokens_of("assistant", text)[1:]
        if len(said) > body["max_tokens"]:
            said, reason = said[: body["max_tokens"]], "length"
            text = b"".join(said).decode("utf-8", "ignore")
        hits = self.cache.hits(model, asked)
        usage = Usage(len(asked), len(said), hits, len(asked) - hits)
        when = self.now()
        with self._lock:
            self.bill.append(Billed(model, when, usage, self.cost(model, when, usage)))
        self.cache.persist(model, asked, said)
        message: dict[str, Any] = {"role": "assistant", "content": text or None if calls else text}
        message |= {"tool_calls": list(calls)} if calls else {}
        answer = {
            "id": f"stand-in-{len(self.bill)}",
            "object": "chat.completion",
            "created": int(when.timestamp()),
            "model": model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
            "usage": _reported(usage, self.usage_form),
            "system_fingerprint": "fp_stand_in",
        }
        return as_json({name: value for name, value in answer.items() if value is not None})


def _after_blank_lines(reply: Reply) -> Reply:
    return Reply(b"\n\n\n" + reply.body, reply.status)


def _reported(usage: Usage, form: str) -> dict[str, Any] | None:
    assert form in USAGE_FORMS
    if form == "none":
        return None
    found: dict[str, Any] = {
        "prompt_tokens": usage.tokens_in,
        "completion_tokens": usage.tokens_out,
        "total_tokens": usage.tokens_in + usage.tokens_out,
    }
    if form in {"deepseek", "openai"}:
        found["prompt_tokens_details"] = {"cached_tokens": usage.cache_hit_tokens}
    if form == "deepseek":
        found["prompt_cache_hit_tokens"] = usage.cache_hit_tokens
        found["prompt_cache_miss_tokens"] = usage.cache_miss_tokens
    return found


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_temperature(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 2


FIELDS: dict[str, Callable[[Any], bool]] = {
    "model": lambda value: isinstance(value, str) and bool(value),
    "messages": lambda value: isinstance(value, list) and bool(value),
    "max_tokens": _is_count,
    "temperature": _is_temperature,
    "thinking": lambda value: value in ({"type": "disabled"}, {"type": "enabled"}),
    "stream": lambda value: value is False,
    "tools": are_tools,
    "tool_choice": lambda value: value in {"auto", "none"},
}
REQUIRED = ("model", "messages", "max_tokens")


def _violations(received: Received) -> list[str]:
    if not received.headers.get("content-type", "").startswith("application/json"):
        return ["a content type that is not application/json"]
    body = received.body
    if not isinstance(body, dict):
        return ["a body that is no JSON object"]
    found = [f"unknown field {name!r}" for name in body if name not in FIELDS]
    found += [f"missing field {name!r}" for name in REQUIRED if name not in body]
    found += [f"wrong value of {name!r}" for name, good in FIELDS.items() if name in body and not good(body[name])]
    return found or message_violations(body["messages"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--key", default=KEY)
    parser.add_argument("--model", action="append", help=f"a model it knows (default: {', '.join(MODELS)})")
    parser.add_argument("--answer", default="The answer.")
    serve(
        lambda given: FakeDeepSeek(given.port, key=given.key, models=given.model or MODELS, answer_text=given.answer),
        parser,
    )


if __name__ == "__main__":
    main()
