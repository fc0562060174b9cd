"""A turn of a conversation as hooks see it: what a client tells at each moment, and what is kept in between."""

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from braindex.domain.memories import MOST_NAME, MOST_PATH, Episode, derived_id, episode_of

Moment = Literal["start", "prompt", "answer", "end", "other"]
"""Of a conversation its start; of a turn its prompt, each answer in words, its end; anything else."""

MOST_PROMPT: Final = 20_000  # characters of a prompt or an answer that are kept
MOST_TOLD: Final = 20_000  # ids of what a conversation has been told: up to eleven a prompt
SAME_PROMPT_SECONDS: Final = 30.0  # within which the same prompt comes from another hook, not from the user again
TURN: Final = "turn"  # the kind of the episodes


def conversation_name(text: str) -> str:
    """What a client calls a conversation, as it is kept and compared: of any other than a short plain line a digest."""
    if len(text) <= MOST_NAME and text.isprintable() and text == " ".join(text.split()):
        return text
    return derived_id(text)


def folder_name(text: str) -> str:
    """A folder as a client names it; "" for what can be none on any system."""
    try:
        is_path = 0 < len(text.encode("utf-8", "surrogateescape")) < MOST_PATH and "\0" not in text
    except UnicodeEncodeError:  # half of a pair, which comes of no file's name
        return ""
    return text if is_path else ""


@dataclass(frozen=True, slots=True)
class Told:
    """What a client's hook says. `session` is a `conversation_name`, "" where it names none; `cwd` and `roots`, the
    folders that it has open, are each a `folder_name`.

    `transcript` is the path of the conversation's own file, "" for none; `outcome` is how the turn ended, in a word.
    """

    client: str
    moment: Moment
    event: str
    session: str = ""
    cwd: str = ""
    roots: tuple[str, ...] = ()
    prompt: str = ""
    answer: str = ""
    transcript: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What is kept of a conversation between its hooks.

    `turn` counts its prompts; `prompt`, `answer`, `began` (seconds since the epoch) and `commit` are of the last one.
    `briefed`: it has the brief; `told` are ids of the memories and entities that it has seen.
    """

    turn: int = 0
    prompt: str = ""
    answer: str = ""
    began: float = 0.0
    commit: str = ""
    briefed: bool = False
    told: tuple[str, ...] = ()

    def asked(self, prompt: str, when: float, commit: str) -> "Conversation":
        """With its next turn begun."""
        return replace(self, turn=self.turn + 1, prompt=prompt, answer="", began=when, commit=commit)

    def has_just_asked(self, prompt: str, when: float) -> bool:
        """Whether another hook has said this prompt already: some clients run the hooks of others as well."""
        return bool(self.turn) and self.prompt == prompt and 0 <= when - self.began < SAME_PROMPT_SECONDS

    def seen(self, ids: tuple[str, ...]) -> "Conversation":
        return replace(self, told=tuple(dict.fromkeys((*self.told, *ids)))[-MOST_TOLD:])

    def as_json(self) -> dict[str, Any]:
        return {
            "turn": self.turn, "prompt": self.prompt, "answer": self.answer, "began": self.began,
            "commit": self.commit, "briefed": self.briefed, "told": list(self.told),
        }  # fmt: skip


def conversation_of(found: Any) -> Conversation:
    """What `as_json` wrote; anything else is a conversation of which nothing is known."""
    try:
        return Conversation(
            int(found["turn"]), str(found["prompt"]), str(found["answer"]), float(found["began"]),
            str(found["commit"]), bool(found["briefed"]), tuple(map(str, found["told"])),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, OverflowError):
        return Conversation()


@dataclass(frozen=True, slots=True)
class Waiting:
    """An episode that a hook has left to be stored, and where it happened."""

    episode: Episode
    cwd: str = ""
    roots: tuple[str, ...] = ()
    began: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "episode": self.episode.as_json(), "cwd": self.cwd, "roots": list(self.roots), "began": self.began,
        }  # fmt: skip


def waiting_of(found: Any) -> Waiting:
    """What `as_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    episode = episode_of(dict(found["episode"]))
    roots = tuple(name for one in found["roots"] if (name := folder_name(str(one))))
    return Waiting(episode, folder_name(str(found["cwd"])), roots, float(found["began"]))


def ended(told: Told, known: Conversation, created: str, commit: str) -> Waiting | None:
    """The episode of a turn that is over; None where neither its prompt nor its answer is known.

    Its id is the same for every hook that tells of the same end of the same turn.
    """
    prompt, answer = told.prompt or known.prompt, told.answer or known.answer
    if not (prompt.strip() or answer.strip()):
        return None
    where = (told.session, str(known.turn)) if told.session else (told.client, told.cwd)
    parts = (*where, prompt if not told.session else "", answer)
    episode = Episode(
        derived_id(*parts), TURN, told.client, told.session, created, prompt, answer, told.outcome,
        commit=commit or known.commit,
    )  # fmt: skip
    return Waiting(episode, told.cwd, told.roots, known.began)
