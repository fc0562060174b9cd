"""Both ends of a turn: what was said is kept, and its episode left to be stored. Loads no store: a client waits."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from braindex.domain.display import shortened
from braindex.domain.memories import now
from braindex.domain.secrets import redacted
from braindex.domain.turns import MOST_PROMPT, Conversation, Told, ended
from braindex.registry.conversations import Conversations
from braindex.services.revision import commit_of

_REDACTED: Final = 4 * MOST_PROMPT  # characters that are looked through for secrets before a text is cut
_LONGEST_SECRET: Final = 4_000  # characters at the cut, where half of a secret does not look like one


def kept(text: str) -> str:
    """A prompt or an answer as it is kept: secrets redacted, of a long one the middle left out."""
    found = redacted(text[:_REDACTED])
    return shortened(found if len(text) <= _REDACTED else found[:-_LONGEST_SECRET], MOST_PROMPT)


@contextlib.contextmanager
def begun(conversations: Conversations, told: Told) -> Iterator[Conversation | None]:
    """The conversation, held to the end of the block, its prompt kept before anything is looked for: a search may be
    given up half-way. None where another hook tells of the same moment.
    """
    with conversations.held(told.session) as mine:
        known, when = conversations.of(told.session), time.time()
        prompt = kept(told.prompt) if told.moment == "prompt" else ""
        if not mine or (told.moment == "prompt" and known.has_just_asked(prompt, when)):
            yield None
            return
        if told.moment == "prompt":
            known = known.asked(prompt, when, commit_of(told.cwd) if told.cwd else "")
            conversations.put(told.session, known)
        yield known


class Endings:
    """What is kept at the beginning of a turn, and when an agent has answered."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations

    def begun(self, told: Told) -> contextlib.AbstractContextManager[Conversation | None]:
        """As the function says."""
        return begun(self._conversations, told)

    def answered(self, told: Told) -> None:
        """Keeps what the agent said last, for a client whose end of a turn says nothing."""
        known = self._conversations.of(told.session)
        self._conversations.put(told.session, replace(known, answer=kept(told.answer)))

    def after(self, told: Told) -> bool:
        """Leaves the turn's episode to be stored in the background. Whether a process has to be started for that: not
        where there is no episode, or one is about to start.
        """
        known = self._conversations.of(told.session)
        told = replace(told, prompt=kept(told.prompt), answer=kept(told.answer))
        episode = ended(told, known, now(), commit_of(told.cwd) if told.cwd else "")
        if episode is None:
            return False
        self._conversations.leave(episode)
        return self._conversations.wants_recorder()

    def stored_by(self, start: Callable[[], object]) -> None:
        """Starts a process that stores what waits; where that fails, the end of the next turn tries. Raises OSError."""
        try:
            start()
        except OSError:
            self._conversations.recorder_started()
            raise
