"""The commands, in the order `--help` lists them. A new command is one file and one row."""

from typing import Final

from braindex.cli.commands import (
    ask,
    brief,
    dashboard,
    doctor,
    entities,
    hook,
    note,
    recall,
    record,
    related,
    review,
    scan,
    serve,
    status,
    usage,
    workspaces,
)
from braindex.cli.invocation import Command

COMMANDS: Final[tuple[Command, ...]] = (
    ask.COMMAND,
    related.COMMAND,
    scan.COMMAND,
    status.COMMAND,
    entities.COMMAND,
    brief.COMMAND,
    note.COMMAND,
    recall.COMMAND,
    record.COMMAND,
    review.COMMAND,
    hook.COMMAND,
    workspaces.COMMAND,
    usage.COMMAND,
    dashboard.COMMAND,
    doctor.COMMAND,
    serve.COMMAND,
)
