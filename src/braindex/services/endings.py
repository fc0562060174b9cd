"""The end of a turn: what was said is kept, and its episode left to be stored. Loads no store: a client waits."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from braindex.domain.display import shortened
from braindex.domain.memories import now
from braindex.domain.secrets import redacted
from braindex.domain.turns import MOST_PROMPT, Told, ended
from braindex.registry.conversations import Conversations
from braindex.services.revision import commit_of

_REDACTED: Final = 4 * MOST_PROMPT  # characters that are looked through for secrets before a text is cut
_LONGEST_SECRET: Final = 4_000  # characters at the cut, where half of a secret does not look like one


def kept(text: str) -> str:
    """A prompt or an answer as it is kept: secrets redacted, of a long one the middle left out."""
    found = redacted(text[:_REDACTED])
    return shortened(found if len(text) <= _REDACTED else found[:-_LONGEST_SECRET], MOST_PROMPT)


class Endings:
    """What happens when an agent has answered."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations

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
