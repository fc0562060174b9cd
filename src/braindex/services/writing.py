"""Has an engine write the answer: route, ask, check every citation. Whatever fails, the sources are not lost."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from braindex.domain.cited import check_citations
from braindex.domain.engines import Completion, Engine, EngineFailed, Engines, answer_seconds
from braindex.domain.prompt import Quoted, system_message, user_message
from braindex.domain.results import Estimate, Source, Workspace
from braindex.domain.routing import Route, RoutingRules, check_request, route
from braindex.domain.tokens import count_tokens
from braindex.domain.usage import NO_USAGE, EngineName, Usage
from braindex.services.brief import Briefs
from braindex.services.usage import UsageService
from braindex.services.warmup import WarmUps

log = logging.getLogger(__name__)

LONGEST_ANSWER: Final = 16_000  # characters; a provider that sends more did not keep to the limit of tokens
ANSWER_TOKENS: Final = 700  # of an answer that was asked to stay under 250 words


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what was found for it. `quote` gives the sources as an engine sees them, in the same order."""

    workspace: Workspace
    root: Path
    text: str
    use_cloud: bool | None
    sources: Sequence[Source]
    quote: Callable[[], Sequence[Quoted]]
    cancelled: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Written:
    """Who answered and why; `text` is None where the sources stand alone. `removed` counts false citations.

    `called` is the engine that was asked, also where it gave no answer; `usage` is what it billed.
    """

    engine: EngineName
    reason: str
    text: str | None = None
    removed: int = 0
    usage: Usage = NO_USAGE
    called: Engine | None = None


class Writer:
    """Answers in prose, where an engine is configured and the routing table says so."""

    def __init__(
        self,
        engines: Engines,
        briefs: Briefs,
        usage: UsageService,
        warm_ups: WarmUps,
        rules: Callable[[Path], RoutingRules],
    ) -> None:
        self._engines = engines
        self._briefs = briefs
        self._usage = usage
        self._warm_ups = warm_ups
        self._rules = rules

    def check(self, root: Path, use_cloud: bool | None) -> None:
        """Raises CloudRefused where the settings forbid what a call asks for, before anything is done for it."""
        check_request(use_cloud, self._rules(root))

    def write(self, asked: Asked) -> Written:
        """The answer, or the reason why there are only sources. Never raises for an engine's failure."""
        chosen = self._route(asked)
        log.info("route: %s (%s)", chosen.engine, chosen.reason.split("“")[0].strip())
        engine = self._engines.get(chosen.engine)
        if engine is None:
            return Written("none", chosen.reason)
        return self._ask(engine, chosen, asked)

    def estimate(self, asked: Asked) -> Estimate:
        """What `write` would cost; no engine is asked. Raises CloudRefused."""
        chosen = self._route(asked)
        engine = self._engines.get(chosen.engine)
        if engine is None:
            return Estimate("none", "", chosen.reason)
        prefix = count_tokens(self._briefs.prefix(asked.workspace))
        said = count_tokens(user_message(asked.text, asked.quote()).content)
        cached, uncached = (
            self._usage.cost(engine.name, engine.model, self._usage.now(), used)
            for used in (
                Usage(prefix + said, ANSWER_TOKENS, cache_hit_tokens=prefix, cache_miss_tokens=said),
                Usage(prefix + said, ANSWER_TOKENS, cache_miss_tokens=prefix + said),
            )
        )
        return Estimate(engine.name, engine.model, chosen.reason, prefix, said, ANSWER_TOKENS, cached, uncached)

    def _route(self, asked: Asked) -> Route:
        files = len({one.path for one in asked.sources if not one.is_memory})
        return route(asked.text, asked.use_cloud, files, self._rules(asked.root))

    def _ask(self, engine: Engine, chosen: Route, asked: Asked) -> Written:
        prefix = system_message(self._briefs.text(asked.workspace))
        messages = [prefix, user_message(asked.text, asked.quote())]
        try:
            completion = engine.complete(
                messages, max_tokens=ANSWER_TOKENS, cancelled=asked.cancelled, seconds=answer_seconds(engine.name)
            )
        except EngineFailed as failure:
            log.info("%s gave no answer: %s", engine.name, type(failure).__name__)
            reason = f"{engine.name} gave no answer: {failure}; sources only"
            return Written("none", reason, usage=failure.usage, called=engine)
        self._warm_ups.after_answer(asked.workspace, engine, prefix, completion.usage)
        code = [one for one in asked.sources if not one.is_memory]
        return _checked(chosen.reason, engine, completion, code)

    def record(self, workspace: Workspace, written: Written, tokens_saved: int) -> None:
        """The question's row in the ledger, also for one that was answered by its sources."""
        self._usage.record_now(workspace.id, written.called, "ask", written.usage, tokens_saved)


def _checked(reason: str, engine: Engine, completion: Completion, sources: Sequence[Source]) -> Written:
    checked = check_citations(completion.text[:LONGEST_ANSWER], sources)
    if checked.removed:
        reason += (
            f"; {_citations(checked.removed)} that no source holds {'was' if checked.removed == 1 else 'were'} removed"
        )
    if completion.cut:
        reason += "; the answer was cut at its token limit"
    if not checked.text.strip():
        reason += "; nothing was left of the answer: sources only"
    return Written(
        engine=engine.name,
        reason=reason,
        text=checked.text.strip() or None,
        removed=checked.removed,
        usage=completion.usage,
        called=engine,
    )


def _citations(count: int) -> str:
    return "a citation" if count == 1 else f"{count} citations"
