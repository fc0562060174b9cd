"""Keeps the provider's prompt cache warm: a request whose input ends where every question's prefix ends."""

import hashlib
import logging
import threading
import time
from collections.abc import Iterable
from typing import Final

from braindex.domain.engines import Engine, EngineFailed, Message
from braindex.domain.results import Workspace
from braindex.domain.tokens import count_tokens
from braindex.domain.usage import NO_USAGE, EngineName, Usage
from braindex.services.usage import UsageService

log = logging.getLogger(__name__)

# Providers cache whole blocks of tokens (DeepSeek: 64), and count tokens otherwise than braindex does.
SHORT_PERCENT: Final = 90  # in whole numbers, which do not overflow
# A provider that reports no hits at all must not be sent one warm-up after each question.
EVERY_SECONDS: Final = 600.0
CACHING: Final[tuple[EngineName, ...]] = ("deepseek-flash", "deepseek-pro")  # engines with a prompt cache


class WarmUps:
    """The warm-up requests of this process, each in a daemon thread. `enabled` is BRIEF_WARMUP."""

    def __init__(self, usage: UsageService, *, enabled: bool) -> None:
        self._usage = usage
        self._enabled = enabled
        self._lock = threading.Lock()
        self._tokens: dict[tuple[str, bytes], int] = {}
        self._last: dict[tuple[str, bytes], float] = {}
        self._threads: list[threading.Thread] = []

    def after_answer(self, workspace: Workspace, engine: Engine, prefix: Message, usage: Usage) -> None:
        """Warms the cache again where the answer's hits fell short of the prefix: it was forgotten, or never there."""
        if usage.unknown:
            return  # nothing is known of its hits either
        expected = self._tokens.get(_key(engine, prefix), count_tokens(prefix.content))
        if 100 * usage.cache_hit_tokens < SHORT_PERCENT * expected:
            self.start(workspace, [engine], prefix)

    def start(self, workspace: Workspace, engines: Iterable[Engine], prefix: Message) -> None:
        """One request for each engine that has a prompt cache, in the background; failures are logged and no more."""
        if not self._enabled:
            return
        now = time.monotonic()
        for engine in engines:
            key = _key(engine, prefix)
            with self._lock:
                if engine.name not in CACHING or now - self._last.get(key, float("-inf")) < EVERY_SECONDS:
                    continue
                self._last[key] = now
                thread = threading.Thread(
                    target=self._run, args=(workspace, engine, prefix), name="warm-up", daemon=True
                )
                try:
                    thread.start()
                except RuntimeError as error:  # no thread to be had: the answer that is waiting shall not be lost
                    log.warning("no warm-up of %s: %s", engine.name, error)
                    continue
                self._threads = [one for one in self._threads if one.is_alive()] + [thread]

    def wait(self, timeout: float) -> None:
        """Waits for the requests under way: a command that ends at once would cut them off."""
        deadline = time.monotonic() + timeout
        for thread in list(self._threads):
            thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self, workspace: Workspace, engine: Engine, prefix: Message) -> None:
        usage: Usage
        try:
            usage = engine.complete([prefix], max_tokens=1).usage
            if not usage.unknown:
                self._tokens[_key(engine, prefix)] = usage.tokens_in
        except EngineFailed as failure:
            log.info("a warm-up of %s failed: %s", engine.name, type(failure).__name__)
            usage = failure.usage
        if usage != NO_USAGE:
            self._usage.record_now(workspace.id, engine, "warmup", usage)


def _key(engine: Engine, prefix: Message) -> tuple[str, bytes]:
    return engine.model, hashlib.sha256(prefix.content.encode("utf-8", "replace")).digest()
