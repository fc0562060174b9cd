"""`braindex usage`: what the engines used and cost, and what it saved; purging asks first."""

import argparse
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from braindex.cli.confirm import confirm
from braindex.cli.errors import DONE, FAILED
from braindex.cli.invocation import Command, Invocation, add_json_option
from braindex.cli.output import json_line, line, note
from braindex.domain.display import safe_line
from braindex.domain.errors import UsageError
from braindex.domain.identity import short_id
from braindex.domain.periods import ALL, day_of
from braindex.domain.results import Workspace
from braindex.domain.spending import DIMENSIONS, Dimension, Sums, UsageReport, UsageRow, cost_text

if TYPE_CHECKING:
    from braindex.services.usage import UsageService

# As people name what the table is by.
_BY: Final[dict[str, Dimension]] = {
    "operation": "operation",
    "engine": "engine",
    "day": "day",
    "workspace": "workspace_id",
}
_DEFAULT_BY: Final = ("operation", "engine")
_NUMBERS: Final = ("CALLS", "TOKENS IN", "CACHE HITS", "MISSES", "TOKENS OUT", "COST", "TOKENS SAVED")
_HELP: Final = "what the engines used and cost, and the tokens saved against reading the cited files; days are UTC days"


class NothingButADay(UsageError):
    def __init__(self) -> None:
        super().__init__("`usage purge` deletes from the whole ledger: give it --before, and no --workspace or --since")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _HELP
    parser.add_argument(
        "--since",
        metavar="WHEN",
        help="today, week (7 days), month (30 days), a number of days such as 7d, or a day such as 2026-11-01; UTC",
    )
    parser.add_argument("--workspace", metavar="W", help="only this workspace: a path, an id or a name")
    parser.add_argument(
        "--by",
        type=_dimensions,
        metavar="WHAT",
        help=f"rows by one or more of {', '.join(_BY)}, separated by commas (default: {','.join(_DEFAULT_BY)})",
    )
    add_json_option(parser)
    parser.set_defaults(action=report)
    actions = parser.add_subparsers(metavar="[ACTION]", title="actions")
    told = "delete what the ledger holds of the days before a day"
    row = actions.add_parser("purge", help=told, description=told)
    row.add_argument("--before", required=True, metavar="DATE", help="the first UTC day to keep, such as 2026-11-01")
    row.add_argument("--yes", action="store_true", help="do not ask")
    row.set_defaults(action=purge)


def run(invocation: Invocation) -> int:
    code: int = invocation.arguments.action(invocation)
    return code


def report(invocation: Invocation) -> int:
    """As JSON, rows are told apart by everything unless `--by` says otherwise."""
    arguments = invocation.arguments
    workspace = None if arguments.workspace is None else invocation.app.workspaces.resolve(arguments.workspace)
    names = arguments.by or _DEFAULT_BY
    by = DIMENSIONS if arguments.json and not arguments.by else tuple(_BY[name] for name in names)
    service = _service(invocation)
    period = ALL if arguments.since is None else arguments.since
    found = service.report(period, workspace.id if workspace else None, by)
    if not service.tracking:
        note("braindex: ENABLE_TOKEN_TRACKING is false, so new calls are not counted")
    if arguments.json:
        json_line(found.as_json())
        return DONE
    listed = invocation.app.workspaces.list() if "workspace" in names else []
    known = {one.workspace.id: one.workspace for one in listed}
    line("\n".join(usage_lines(found, names, workspace, known)))
    return DONE


def purge(invocation: Invocation) -> int:
    arguments = invocation.arguments
    if arguments.workspace is not None or arguments.since is not None:
        raise NothingButADay
    before = day_of(arguments.before)
    service = _service(invocation)
    count = service.older(before)
    if not count:
        line(f"Nothing to purge: the ledger holds no call from before {before} (UTC)")
        return DONE
    question = f"Delete {_calls(count)} from before {before} (UTC) of all workspaces for good?"
    if not confirm(question, yes=arguments.yes):
        note("braindex: nothing was purged")
        return FAILED
    line(f"Purged {_calls(service.purge(before))} from before {before} (UTC)")
    return DONE


def usage_lines(
    found: UsageReport, names: Sequence[str], workspace: Workspace | None, known: dict[str, Workspace]
) -> list[str]:
    """The span, a table with its total, and what is not in the cost."""
    where = f"of {safe_line(workspace.name)}" if workspace else "of all workspaces"
    span = f"Usage {where}, {'all time' if found.since is None else f'since {found.since}'} (UTC days)"
    totals = found.totals
    if not totals.calls:
        return [f"{span}: no calls"]
    rows = sorted(
        ((*_labels(row, names, known), *_numbers(row.sums)) for row in found.rows), key=lambda row: row[: len(names)]
    )
    total = ("total", *("" for _ in names[1:]), *_numbers(totals))
    return [span, *_table([(*(name.upper() for name in names), *_NUMBERS), *rows, total], len(names)), *_notes(totals)]


def _service(invocation: Invocation) -> "UsageService":
    return invocation.app.usage


def _dimensions(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if not all(name in _BY for name in names):
        raise argparse.ArgumentTypeError(f"give one or more of {', '.join(_BY)}, separated by commas")
    return names


def _labels(row: UsageRow, names: Sequence[str], known: dict[str, Workspace]) -> tuple[str, ...]:
    values = {"operation": row.operation, "engine": row.engine, "day": row.day}
    identifier = row.workspace_id or ""
    values["workspace"] = known[identifier].name if identifier in known else short_id(identifier)
    return tuple(safe_line(values[name] or "") for name in names)


def _numbers(sums: Sums) -> tuple[str, ...]:
    counts = (sums.calls, sums.tokens_in, sums.cache_hit_tokens, sums.cache_miss_tokens, sums.tokens_out)
    return (*(f"{count:,}" for count in counts), cost_text(sums), f"{sums.tokens_saved:,}")


def _table(rows: Sequence[Sequence[str]], labels: int) -> list[str]:
    """Labels to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column < labels else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _notes(totals: Sums) -> list[str]:
    if not totals.unknown_cost_calls:
        return []
    unknown = _calls(totals.unknown_cost_calls)
    return [f"The cost of {unknown} is not known and not in the sums: PRICES_FILE can name the prices of more models"]


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count:,} calls"


COMMAND: Final = Command("usage", "show what engines used and cost", add_arguments, run, logs_from=logging.WARNING)
