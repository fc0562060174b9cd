"""Has an engine judge a change: describe it, find similar reviews by that, investigate, and say what it thinks."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from braindex.domain.conversing import Conversing, ConversingEngines
from braindex.domain.engines import EngineFailed
from braindex.domain.opinions import checked
from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import Workspace
from braindex.domain.review_prompt import review_system, review_user, summary_messages
from braindex.domain.reviews import PastReview, Review
from braindex.domain.routing import RoutingRules, review_route
from braindex.registry.index import IndexStore
from braindex.services.ask import Asking
from braindex.services.brief import Briefs
from braindex.services.reviewing.agent import ANSWER_TOKENS, Agent, Limits
from braindex.services.reviewing.talk import Talk
from braindex.services.usage import UsageService
from braindex.services.workspaces import Workspaces

if TYPE_CHECKING:
    from braindex.services.reviewing.toolbox import ToolBox

log = logging.getLogger(__name__)

SUMMARY_TOKENS: Final = 300  # of a description of at most 80 words
_LONGEST_SUBJECT: Final = 1_200  # characters of it that similar reviews are found by
_WITHOUT: Final = "structure, similar reviews and callers only"

Recall = Callable[[str], tuple[PastReview, ...]]


@dataclass(frozen=True, slots=True)
class JudgeParts:
    """What an engine needs around it."""

    engines: ConversingEngines
    rules: Callable[[Path], RoutingRules]
    options: Callable[[Path], WorkspaceOptions]
    usage: UsageService
    limits: Limits


class EngineJudge:
    """Asks the engine that the settings choose. Whatever fails, what was known before comes back with the reason."""

    def __init__(self, workspaces: Workspaces, asking: Asking, briefs: Briefs, parts: JudgeParts) -> None:
        self._workspaces = workspaces
        self._asking = asking
        self._briefs = briefs
        self._parts = parts

    def judged(self, root: Path, looked: Review, recall: Recall) -> Review:
        """As the port says."""
        chosen = review_route(len(looked.files), self._parts.rules(root))
        log.info("route: %s (%s)", chosen.engine, chosen.reason)
        engine = self._parts.engines.get(chosen.engine)
        if engine is None:
            return replace(looked, reason=chosen.reason)
        toolbox = self._toolbox(looked.workspace, root)
        return _Judging(engine, toolbox, self._parts, self._briefs, looked).run(chosen.reason, recall)

    def _toolbox(self, workspace: Workspace, root: Path) -> "ToolBox":
        from braindex.services.reviewing.structure import Indexing  # noqa: PLC0415 - a server's start needs no parser
        from braindex.services.reviewing.toolbox import Surroundings, ToolBox  # noqa: PLC0415 - the same

        def look(store: IndexStore) -> Indexing:
            return Indexing(frozenset(store.files()), {one.path: one.reason for one in store.skipped()})

        indexed = self._workspaces.with_index(workspace, look)
        around = Surroundings(workspace, root, self._parts.options(root), indexed)
        return ToolBox(around, self._asking, self._workspaces)


class _Judging:
    """One review, which knows more and more."""

    def __init__(
        self, engine: Conversing, toolbox: "ToolBox", parts: JudgeParts, briefs: Briefs, looked: Review
    ) -> None:
        self._toolbox = toolbox
        self._limits = parts.limits
        self._briefs = briefs
        self._review = looked
        self._talk = Talk(engine, parts.usage, looked.workspace.id, parts.limits.cost)

    def run(self, reason: str, recall: Recall) -> Review:
        engine = self._talk.engine
        try:
            self._describe(recall)
            found = self._judge(reason)
        except EngineFailed as failure:
            log.info("%s gave no opinion: %s", engine, type(failure).__name__)
            found = replace(self._review, reason=f"{engine} gave no opinion: {failure}; {_WITHOUT}")
        return replace(found, spent=self._talk.spent)

    def _describe(self, recall: Recall) -> None:
        """The change in the engine's words, before its structure: reviews of similar changes are found by both."""
        messages = summary_messages(self._review.files)
        # One more call whose price nobody knows would be one too many.
        if not self._talk.knows_price or not self._talk.pays_for(messages, (), SUMMARY_TOKENS):
            return
        words = self._talk.say(messages, (), "none", max_tokens=SUMMARY_TOKENS).text.strip()[:_LONGEST_SUBJECT]
        subject = f"{words}\n{self._review.subject}"
        self._review = replace(self._review, subject=subject, similar=recall(subject))

    def _judge(self, reason: str) -> Review:
        system = review_system(self._briefs.text(self._review.workspace))
        change = review_user(self._review, self._talk.diff_tokens)
        if not self._talk.pays_for([system, change], self._toolbox.definitions, ANSWER_TOKENS):
            limit = f"REVIEW_MAX_COST of ${self._limits.cost:g} does not pay for a review of this change"
            return replace(self._review, reason=f"{limit}: raise it, or review less at once; {_WITHOUT}")
        judged = Agent(self._talk, self._toolbox, self._limits).judge(system, change)
        notes = self._review.notes
        if judged.cut:
            notes = (*notes, f"{judged.cut} ended the investigation: it answered with what it had")
        if judged.opinion is None:
            why = f"{self._talk.engine} gave no verdict that can be read; {_WITHOUT}"
            return replace(self._review, reason=why, notes=notes)
        files = [one.diff for one in self._review.files]
        touched = {one.path for one in files}
        opinion = checked(judged.opinion, files, lambda path: path in touched or self._toolbox.is_known(path))
        return replace(self._review, opinion=opinion, engine=self._talk.engine, reason=reason, notes=notes)
