"""What one client's hooks look like, as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from braindex.domain.turns import Moment, Told, conversation_name, folder_name

# The names that clients give to the same thing, the first that is there counts.
_SESSION: Final = ("session_id", "sessionId", "conversation_id", "conversationId")
_ROOTS: Final = ("workspace_roots", "workspaceRoots", "workspacePaths")
_PROMPT: Final = ("prompt", "userPrompt", "user_prompt")
_ANSWER: Final = ("last_assistant_message", "lastAssistantMessage", "prompt_response", "text", "response")
_TRANSCRIPT: Final = ("transcript_path", "transcriptPath")
MOST_ROOTS: Final = 50


def _moment_as_named(moment: Moment, _: Mapping[str, Any]) -> Moment:
    return moment


@dataclass(frozen=True, slots=True)
class Client:
    """One client: the events of its hooks and the JSON that they are answered with.

    `events` says what each of its events is, by the name that it gives to it. `injecting` are the moments
    at which it takes context, which `injected(event, context)` puts into its shape. `moment` may tell by the input that
    an event is another moment than it is named after.
    """

    name: str
    events: Mapping[str, Moment]
    injecting: frozenset[Moment]
    injected: Callable[[str, str], dict[str, Any]]
    moment: Callable[[Moment, Mapping[str, Any]], Moment] = field(default=_moment_as_named)

    def named(self, event: str) -> Moment:
        """What an event is by its name, whatever the case, `_` and `-`."""
        wanted = _plain(event)
        return next((moment for name, moment in self.events.items() if _plain(name) == wanted), "other")

    def told(self, event: str, given: Mapping[str, Any]) -> Told:
        """What its hook says. Anything that is missing or of another type is taken as not said."""
        return Told(
            client=self.name,
            moment=self.moment(self.named(event), given),
            event=_text(given, ("hook_event_name", "hookEventName")) or event,
            session=conversation_name(_text(given, _SESSION)),
            cwd=folder_name(_text(given, ("cwd",))),
            roots=_folders(given, _ROOTS),
            prompt=_text(given, _PROMPT),
            answer=_text(given, _ANSWER),
            transcript=_text(given, _TRANSCRIPT),
        )


def _plain(event: str) -> str:
    return event.lower().replace("_", "").replace("-", "")


def _text(given: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := given.get(name), str) and value), "")


def _folders(given: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    found = next((value for name in names if isinstance(value := given.get(name), list)), [])
    return tuple(name for one in found[:MOST_ROOTS] if isinstance(one, str) and (name := folder_name(one)))


def hook_specific(event: str, context: str) -> dict[str, Any]:
    """The shape of Claude Code's, which others took over."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}
