"""The composition of what hooks need: no numpy, no ChromaDB, no engine, no parser, since a client waits for it."""

from typing import TYPE_CHECKING

from braindex.config import Settings
from braindex.registry.conversations import Conversations

if TYPE_CHECKING:
    from braindex.services.endings import Endings
    from braindex.services.loop import Loop


def loop(settings: Settings) -> "Loop":
    """What happens before a turn, over the data folder that the settings name. Opens nothing yet."""
    from braindex.embedding.plain import PlainEmbedder  # noqa: PLC0415 - the end of a turn needs none of this
    from braindex.services.loop import Loop  # noqa: PLC0415 - the same
    from braindex.services.memories import Memories  # noqa: PLC0415 - the same
    from braindex.services.recalling import Recalling  # noqa: PLC0415 - the same
    from braindex.services.workspaces import Workspaces  # noqa: PLC0415 - the same

    workspaces = Workspaces(settings.brain_dir)
    recalling = Recalling(workspaces, Memories(workspaces, PlainEmbedder(), None), settings.options)
    return Loop(workspaces, recalling, Conversations(settings.brain_dir), settings.brain_workspace)


def endings(settings: Settings) -> "Endings":
    """What happens after it."""
    from braindex.services.endings import Endings  # noqa: PLC0415 - the beginning of a turn needs it not

    return Endings(Conversations(settings.brain_dir))


def workspace_names(settings: Settings) -> list[str]:
    """The names of the known workspaces; none where nothing was stored yet."""
    from braindex.registry.workspaces import REGISTRY_FILE  # noqa: PLC0415 - hooks need it not
    from braindex.services.workspaces import Workspaces  # noqa: PLC0415 - see above

    if not (settings.brain_dir / REGISTRY_FILE).is_file():  # asking would create it
        return []
    workspaces = Workspaces(settings.brain_dir)
    try:
        return sorted({one.workspace.name for one in workspaces.list()})
    finally:
        workspaces.close()
