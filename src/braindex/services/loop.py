"""Before a turn of an agent's loop: what is told of earlier work, without anyone deciding to."""

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from braindex.domain.display import argument, echoed
from braindex.domain.errors import BraindexError
from braindex.domain.results import Workspace
from braindex.domain.turns import Conversation, Told, Waiting
from braindex.registry.conversations import Conversations
from braindex.services.endings import begun
from braindex.services.recalling import Context, Recalling
from braindex.services.resolution import Surroundings, default_workspace, home_directory
from braindex.services.workspaces import Workspaces

log = logging.getLogger(__name__)


class UnknownFolder(BraindexError):
    def __init__(self, path: str) -> None:
        super().__init__(
            f"{echoed(path)} is no workspace that braindex knows, and a hook makes none: nothing of it is recalled or "
            f"recorded; `braindex scan {argument(path)}` makes it one"
        )


def place_of(told: Told | Waiting, workspaces: Workspaces, named: str = "") -> Workspace:
    """The workspace that a hook's folders mean; `named` is the user's own choice (BRAIN_WORKSPACE).

    Raises UnknownFolder, and what resolving a workspace raises.
    """
    cwd = Path(told.cwd or next(iter(told.roots), os.sep))  # whose process this is says nothing of where a turn was
    around = Surroundings(cwd, home_directory(), (("BRAIN_WORKSPACE", named),), tuple(map(Path, told.roots)))
    found = default_workspace(around, workspaces)
    if not workspaces.is_known(found):
        raise UnknownFolder(found.path)
    return found


class Loop:
    """What happens at each moment of a conversation. Cheap enough for a process that lives for one moment."""

    def __init__(
        self, workspaces: Workspaces, recalling: Recalling, conversations: Conversations, named: str = ""
    ) -> None:
        self._workspaces = workspaces
        self._recalling = recalling
        self._conversations = conversations
        self._named = named

    def before(self, told: Told, *, at_prompts: bool) -> str:
        """The context block for this moment, "" for none; the prompt is kept for the end of the turn. `at_prompts`: the
        client takes some with every prompt.
        """
        with begun(self._conversations, told) as known:
            return "" if known is None else self.context(told, known, at_prompts=at_prompts)

    def context(
        self, told: Told, known: Conversation, *, at_prompts: bool, in_time: Callable[[], bool] = lambda: True
    ) -> str:
        """The same for a conversation that is `begun`, whose prompt is kept already; "" where it is found too late to
        be told (`in_time`), and then nothing counts as told.
        """
        found = self._context(told, known, at_prompts=at_prompts)
        if not found.text or not in_time():
            return ""
        seen = replace(known.seen(found.ids), briefed=known.briefed or found.has_brief)
        if seen != known:
            self._conversations.put(told.session, seen)
        return found.text

    def _context(self, told: Told, known: Conversation, *, at_prompts: bool) -> Context:
        workspace = self._known_place(told)
        if workspace is None:
            return Context()
        if told.moment == "start":
            if known.briefed:
                return Context()
            return (
                self._recalling.context(workspace, "") if at_prompts else self._recalling.latest(workspace, known.told)
            )
        if not told.prompt.strip():
            return Context()
        with_brief = bool(told.session) and not known.briefed
        return self._recalling.context(workspace, told.prompt, known.told, told.session, brief=with_brief)

    def _known_place(self, told: Told) -> Workspace | None:
        """The workspace, where braindex knows anything of it. How one begins is said once for a folder."""
        if not (self._workspaces.data_folder / "registry.db").exists():  # which a hook has no time to make
            return None
        try:
            return place_of(told, self._workspaces, self._named)
        except UnknownFolder as error:
            if self._conversations.first_time(str(error)):
                log.warning("%s", error)
        except BraindexError as error:
            log.info("no workspace for a hook of %s: %s", told.client, error)
        return None
