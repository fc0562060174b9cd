"""DeepSeek's prompt cache as its guide describes it, over a toy tokenizer that is consistent for prefixes.

Source: api-docs.deepseek.com/guides/kv_cache. A request hits only where it begins with the whole of a persisted
prefix unit. Units end at the end of a request's input, at the end of its output, where two requests were found to part,
and at fixed intervals. Each model has a cache of its own.
"""

import json
import math
import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

Tokens = tuple[bytes, ...]
BYTES_A_TOKEN = 4


def tokens_of(role: str, content: str) -> Tokens:
    """A marker of the role, and the content in runs of four bytes, which never reach across messages."""
    data = content.encode("utf-8", "surrogatepass")
    runs = (data[at : at + BYTES_A_TOKEN] for at in range(0, len(data), BYTES_A_TOKEN))
    return (f"<{role}>".encode(), *runs)


def tokens_of_all(messages: Sequence[dict[str, Any]]) -> Tokens:
    return tuple(token for one in messages for token in tokens_of(one["role"], _said(one)))


def _said(message: dict[str, Any]) -> str:
    """What a message says, the calls of tools in it included."""
    calls = message.get("tool_calls")
    return (message.get("content") or "") + (json.dumps(calls) if calls else "")


class PrefixCache:
    """`interval` is in tokens. What a request persists counts from the moment it was answered."""

    def __init__(self, interval: int | None = None) -> None:
        self._interval = interval
        self._units: defaultdict[str, set[Tokens]] = defaultdict(set)
        self._seen: defaultdict[str, list[Tokens]] = defaultdict(list)
        self._lock = threading.Lock()

    def hits(self, model: str, tokens: Tokens) -> int:
        """How many of a request's first tokens come out of the cache."""
        with self._lock:
            return max((len(unit) for unit in self._units[model] if tokens[: len(unit)] == unit), default=0)

    def persist(self, model: str, tokens: Tokens, output: Tokens) -> None:
        with self._lock:
            units, whole = self._units[model], tokens + output
            units |= {tokens, whole}
            units |= {tokens[:parted] for one in self._seen[model] if (parted := _common(one, tokens)) > 1}
            if self._interval:
                units |= {
                    whole[: self._interval * step] for step in range(1, math.floor(len(whole) / self._interval) + 1)
                }
            self._seen[model].append(tokens)

    def forget(self) -> None:
        """What hours do to the real one."""
        with self._lock:
            self._units.clear()
            self._seen.clear()


def _common(left: Tokens, right: Tokens) -> int:
    return next(
        (at for at, (one, other) in enumerate(zip(left, right, strict=False)) if one != other),
        min(len(left), len(right)),
    )
