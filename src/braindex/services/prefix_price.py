"""What another brief does to the providers' prompt caches, said before it is put in place."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from braindex.domain.engines import Engines
from braindex.domain.results import Workspace
from braindex.domain.routing import RoutingRules
from braindex.domain.tokens import count_tokens
from braindex.domain.usage import EngineName, Usage
from braindex.services.brief import Briefs
from braindex.services.usage import UsageService
from braindex.services.warmup import CACHING


@dataclass(frozen=True, slots=True)
class CachedPrefix:
    """What an engine's prompt cache holds of a workspace: the role text and the brief, `tokens` by our own count.

    `cached` is what they cost a question while the cache holds them, `anew` what they cost where it does not, in
    picodollars; None where no price is known.
    """

    engine: EngineName
    model: str
    tokens: int
    cached: int | None
    anew: int | None


class PrefixPrices:
    """The cached prefixes that a new brief would cost, of the engines that questions of a workspace may go to."""

    def __init__(
        self, briefs: Briefs, engines: Engines, usage: UsageService, rules: Callable[[Path], RoutingRules]
    ) -> None:
        self._briefs = briefs
        self._engines = engines
        self._usage = usage
        self._rules = rules

    def of(self, workspace: Workspace) -> list[CachedPrefix]:
        """One for each engine with a prompt cache that is configured and allowed; none: no cache is lost."""
        rules = self._rules(Path(workspace.path))
        if rules.mode == "local":
            return []
        tokens = count_tokens(self._briefs.prefix(workspace))
        names = [name for name in CACHING if name != "deepseek-pro" or rules.pro]
        found = []
        for engine in filter(None, map(self._engines.get, names)):
            hit, miss = (
                self._usage.cost(engine.name, engine.model, self._usage.now(), one)
                for one in (Usage(tokens, cache_hit_tokens=tokens), Usage(tokens, cache_miss_tokens=tokens))
            )
            found.append(CachedPrefix(engine.name, engine.model, tokens, hit, miss))
        return found
