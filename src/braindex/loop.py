"""Memory around any agent: `from braindex.loop import around`.

    answer = around(agent)("Why does the cache miss?")

What is remembered of similar work goes before the prompt; what came of it is recorded in the background, also when the
agent fails. Neither makes a call fail that would not have failed by itself.
"""

import functools
import inspect
import logging
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from braindex import light
from braindex.config import load_settings
from braindex.domain.errors import BraindexError
from braindex.domain.turns import Moment, Told, conversation_name
from braindex.services.detached import detached

log: Final = logging.getLogger(__name__)


def around(
    agent: Callable[..., Any],
    *,
    workspace: str | os.PathLike[str] = ".",
    client: str = "library",
    session: str = "",
    said: Callable[[Any], str] = str,
) -> Callable[..., Any]:
    """The agent with memory: a function of the prompt and any other arguments that returns what the agent returns.

    The agent gets the context block (at most 1,500 tokens), an empty line and the prompt, or the prompt alone where
    nothing that is remembered has to do with it. Of an `async` function it makes an `async` function. `workspace` is a
    folder of the project; `session` names a conversation, in which nothing is told twice (by default each call is one
    of its own); `said(result)` is the text that is recorded of a result. When the agent raises, that is recorded, and
    the error goes on. Settings are those of the command line in that folder, read at each call.
    """
    folder = Path(os.path.abspath(workspace))

    if inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(type(agent).__call__):

        @functools.wraps(agent)
        async def awaited(prompt: str, *arguments: Any, **named: Any) -> Any:
            with _turn(folder, client, session, prompt) as turn:
                result = await agent(turn.given, *arguments, **named)
                turn.says(said, result)
                return result

        return awaited

    @functools.wraps(agent)
    def called(prompt: str, *arguments: Any, **named: Any) -> Any:
        with _turn(folder, client, session, prompt) as turn:
            result = agent(turn.given, *arguments, **named)
            turn.says(said, result)
            return result

    return called


class _Turn:
    """One call: `given` is what the agent gets, `answer` what it said."""

    def __init__(self, folder: Path, client: str, session: str, prompt: Any) -> None:
        self._folder = folder
        self._client = client
        self._session = conversation_name(session) or uuid.uuid4().hex
        self._prompt = prompt if isinstance(prompt, str) else ""  # messages in another form are the agent's own
        self.answer = ""
        context = self._recalled() if self._prompt else ""
        self.given = f"{context}\n\n{prompt}" if context else prompt

    def says(self, said: Callable[[Any], str], result: Any) -> None:
        try:
            self.answer = str(said(result) or "")
        except Exception:  # the caller's own function, after the agent has done its work
            log.exception("what an agent said could not be told")

    def record(self, outcome: str) -> None:
        try:
            settings = load_settings(os.environ, self._folder)
            endings = light.endings(settings)
            if endings.after(self._told("end", outcome)):
                endings.stored_by(lambda: detached(("record", "--waiting"), {}, str(self._folder)))
        except (BraindexError, OSError, ValueError) as error:
            log.warning("a turn could not be recorded: %s", error)

    def _recalled(self) -> str:
        try:
            settings = load_settings(os.environ, self._folder)
            return light.loop(settings).before(self._told("prompt"), at_prompts=True)
        except (BraindexError, OSError, ValueError) as error:
            log.warning("nothing could be recalled: %s", error)
            return ""

    def _told(self, moment: Moment, outcome: str = "") -> Told:
        return Told(
            self._client, moment, moment, self._session, str(self._folder), (), self._prompt, self.answer,
            outcome=outcome,
        )  # fmt: skip


def _as_told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


@contextmanager
def _turn(folder: Path, client: str, session: str, prompt: Any) -> Iterator[_Turn]:
    turn = _Turn(folder, client, session, prompt)
    try:
        yield turn
    except BaseException as error:
        if not turn.answer:
            turn.says(_as_told, error)
        turn.record("failed")
        raise
    turn.record("done")
