"""The briefs that a workspace had before, what has changed between them, and how far the code has moved on."""

import difflib
from typing import Final

from braindex.domain.brief import EntitiesMoved
from braindex.domain.errors import BraindexError
from braindex.domain.results import Workspace
from braindex.registry.brief_versions import BriefVersion, moved_since, read_versions
from braindex.registry.index import IndexStore
from braindex.services.brief import Briefs
from braindex.services.workspaces import Workspaces

CONTEXT: Final = 3  # lines around each change


class UnknownVersion(BraindexError):
    def __init__(self) -> None:
        super().__init__("there is no such earlier brief (any more): the last few are kept")


class BriefHistory:
    """The history of the briefs of any known workspace."""

    def __init__(self, workspaces: Workspaces, briefs: Briefs) -> None:
        self._workspaces = workspaces
        self._briefs = briefs

    def versions(self, workspace: Workspace) -> list[BriefVersion]:
        """The briefs that were replaced, the last one first."""
        return read_versions(self._workspaces.folder(workspace))

    def version(self, workspace: Workspace, identifier: str) -> BriefVersion:
        """One of them by its id, which is compared and never opened as a name. Raises UnknownVersion."""
        found = next((one for one in self.versions(workspace) if one.id == identifier), None)
        if found is None:
            raise UnknownVersion
        return found

    def diff(self, workspace: Workspace, old: str, new: str = "") -> list[str]:
        """A unified diff, line by line, from one version to another, or to the present brief. Raises UnknownVersion."""
        before = self.version(workspace, old)
        after = self.version(workspace, new) if new else None
        now = self._briefs.text(workspace) if after is None else after.text
        names = before.id, "the present brief" if after is None else after.id
        lines = before.text.splitlines(), now.splitlines()
        return list(difflib.unified_diff(*lines, *names, n=CONTEXT, lineterm=""))

    def moved(self, workspace: Workspace) -> EntitiesMoved | None:
        """How the entities of the index differ from those that the present brief was made of; None where that is not
        known. Raises what opening the index raises.
        """
        folder = self._workspaces.folder(workspace)
        text = self._briefs.text(workspace)
        if not text or not IndexStore.exists(folder):
            return None
        with self._workspaces.open_index(workspace) as store, store.snapshot():
            return moved_since(folder, text, store.entity_marks())
