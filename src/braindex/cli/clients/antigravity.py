"""Antigravity: a hook before every model call, of which the first of a turn takes context. Its input names no prompt:
the conversation's transcript does.
"""

from collections.abc import Mapping
from typing import Any, Final

from braindex.cli.clients.spec import Client
from braindex.domain.turns import Moment


def _first_call(moment: Moment, given: Mapping[str, Any]) -> Moment:
    return "other" if moment == "prompt" and given.get("invocationNum", 0) != 0 else moment


def _step(_: str, context: str) -> dict[str, Any]:
    return {"injectSteps": [{"ephemeralMessage": context}]}


ANTIGRAVITY: Final = Client(
    name="antigravity",
    events={"PreInvocation": "prompt", "Stop": "end"},
    injecting=frozenset({"prompt"}),
    injected=_step,
    moment=_first_call,
)
