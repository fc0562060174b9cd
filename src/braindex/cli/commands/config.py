"""`braindex config`: every setting, its value, where that was said, and what it does. No secret is printed."""

import argparse
import difflib
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from braindex.cli.errors import DONE, FAILED
from braindex.cli.invocation import NOWHERE, Command, Invocation, Mistaken, add_json_option
from braindex.cli.output import Style, json_line, line, style
from braindex.config import ENV_FILE
from braindex.config.survey import Found, Survey, survey
from braindex.config.table import GROUPS, SETTINGS, Setting
from braindex.config.written import env_example, markdown_tables
from braindex.domain.display import echoed, safe_line, safe_path
from braindex.domain.errors import BraindexError, UsageError
from braindex.services.resolution import NoWorkspace, looks_like_project, names_a_path
from braindex.services.roots import checked_root

_NAMES: Final = tuple(row.name for row in SETTINGS)
_WIDTH: Final = max(map(len, _NAMES))
_INDENT: Final = "      "
_WHOSE: Final = {
    "user": "yours: every setting counts",
    "data folder": "of a checkout's data folder: a few settings count",
    "workspace": "the workspace's: a few settings count",
}


class UnknownSetting(UsageError):
    def __init__(self, name: str) -> None:
        alike = difflib.get_close_matches(name.upper(), _NAMES, 1)
        meant = f"did you mean {alike[0]}? " if alike else ""
        super().__init__(f"no setting is called {echoed(name)}; {meant}`braindex config` lists them all")


class NothingElseWithText(UsageError):
    def __init__(self) -> None:
        super().__init__("--env-example and --markdown print what is the same everywhere: give nothing else with them")


class NotNow(BraindexError):
    def __init__(self, reference: str) -> None:
        super().__init__(
            f"the workspace {echoed(reference)} cannot be looked up while settings are mistaken: name it by its path"
        )


@dataclass(frozen=True, slots=True)
class Report:
    """What is told: the settings, those of the workspace at `root` where there is one, and all that is wrong."""

    seen: Survey
    root: Path | None
    mistakes: Sequence[str]
    notes: Sequence[str]

    @property
    def rows(self) -> tuple[Found, ...]:
        return self.seen.rows if self.root is None else self.seen.rows_for(self.root)

    def files(self) -> Iterator[tuple[str, str, bool]]:
        """(path, whose, whether it is there) of every `.env` that is looked at."""
        for place in self.seen.places:
            if place.file is not None:
                yield str(place.file), place.origin, os.path.exists(place.file)
        if self.root is not None:
            yield str(self.root / ENV_FILE), "workspace", os.path.exists(self.root / ENV_FILE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="this setting alone, in full")
    parser.add_argument(
        "--workspace", metavar="W", help="as it is for this workspace, whose .env may set a few (default: the one here)"
    )
    text = parser.add_mutually_exclusive_group()
    text.add_argument("--env-example", action="store_true", help="print a .env file with every setting")
    text.add_argument("--markdown", action="store_true", help="print the tables of docs/configuration.md")
    add_json_option(parser)


def run(invocation: Invocation) -> int:
    """Exit code 1 where a setting is mistaken."""
    given = invocation.arguments
    if _is_text(given):
        return _print_text(given)
    seen = survey(invocation.environ, invocation.place(given.workspace) if given.workspace else _here(invocation), {})
    mistakes, root, notes = list(seen.mistakes), None, [*seen.notes, *seen.without_effect]
    try:
        invocation.app  # noqa: B018 - made here, since it may refuse a setting that is right by itself
    except BraindexError as trouble:
        mistakes.append(str(trouble))
    else:
        root = _root(invocation, notes)
    return _told(Report(seen, root, mistakes, notes), given, invocation.environ)


def mistaken(call: Mistaken) -> int:
    """The same where the settings cannot be used: a workspace is then found by its path alone, or by where one is."""
    given = call.arguments
    if _is_text(given):
        return _print_text(given)
    if given.workspace and not names_a_path(given.workspace):
        raise NotNow(given.workspace)
    here = call.cwd or NOWHERE
    root = checked_root(given.workspace) if given.workspace else here if looks_like_project(here) else None
    seen = survey(call.environ, here, {})
    return _told(Report(seen, root, call.mistakes, [*seen.notes, *seen.without_effect]), given, call.environ)


def _here(invocation: Invocation) -> Path:
    """The working directory, or NOWHERE where it is gone: what is set elsewhere can be told all the same."""
    try:
        return invocation.cwd
    except BraindexError:
        return NOWHERE


def _root(invocation: Invocation, notes: list[str]) -> Path | None:
    """The workspace whose `.env` is looked at, None where there is none. One that is named has to be there."""
    try:
        return invocation.folder()
    except NoWorkspace:
        return None
    except BraindexError as trouble:
        if invocation.arguments.workspace:
            raise
        notes.append(str(trouble))
        return None


def _is_text(given: argparse.Namespace) -> bool:
    return bool(given.env_example or given.markdown)


def _print_text(given: argparse.Namespace) -> int:
    if given.name or given.workspace or given.json:
        raise NothingElseWithText
    line((env_example() if given.env_example else markdown_tables()).removesuffix("\n"))
    return DONE


def _told(report: Report, given: argparse.Namespace, environ: Mapping[str, str]) -> int:
    wanted = tuple(row for row in report.rows if not given.name or row.setting.name == given.name.upper())
    if not wanted:
        raise UnknownSetting(given.name)
    if given.json:
        json_line(_as_json(report, wanted))
        return FAILED if report.mistakes else DONE
    shown = style(sys.stdout, environ)
    for one in _full(wanted[0], shown) if given.name else _listed(report, wanted, shown):
        line(one)
    for one in _remarks(report, shown):
        line(one)
    return FAILED if report.mistakes else DONE


def _listed(report: Report, rows: Sequence[Found], shown: Style) -> Iterator[str]:
    """Which files are looked at, then every setting by group: its line, what it does, and what else was said of it."""
    yield f"workspace  {safe_path(str(report.root)) if report.root else 'none here: --workspace W names one'}"
    for file, origin, is_there in report.files():
        yield f"file       {safe_path(file)} ({_WHOSE[origin]}{'' if is_there else '; it is not there'})"
    found = {row.setting.name: row for row in rows}
    for group in GROUPS:
        yield ""
        yield shown.accent(group.title)
        for one in group.settings:
            yield from _short(found[one.name], shown)


def _short(row: Found, shown: Style) -> Iterator[str]:
    name = f"{row.setting.name:<{_WIDTH}}"
    yield f"  {shown.bold(name) if row.is_set else name}  {_value(row)}  [{_one_line(row.said_in)}]"
    yield f"{_INDENT}{shown.dim(row.setting.help)}"
    yield from (_INDENT + one for one in _in_vain(row))


def _full(row: Found, shown: Style) -> Iterator[str]:
    setting = row.setting
    pairs = (
        ("value", _value(row)),
        ("said in", _one_line(row.said_in)),
        ("default", setting.default_shown or "not set"),
        ("takes", setting.expects),
        ("workspace", _in_workspace(setting)),
    )
    yield shown.bold(setting.name)
    yield setting.help
    yield from (f"  {name:<9}  {text}" for name, text in pairs)
    yield from (f"  {one}" for one in _in_vain(row))


def _in_vain(row: Found) -> Iterator[str]:
    for one in row.passed_over:
        yield f"passed over in {_one_line(str(one.file or f'the {one.origin}'))}: {_one_line(one.why)}"
    if row.mistake:
        yield f"mistaken: {_one_line(row.mistake)}"


def _remarks(report: Report, shown: Style) -> Iterator[str]:
    for title, texts in (("mistaken", report.mistakes), ("to note", report.notes)):
        if texts:
            yield ""
        yield from (f"{shown.bold(title)}: {_one_line(one)}" for one in texts)


def _value(row: Found) -> str:
    return _one_line(row.shown) or "not set"


def _in_workspace(setting: Setting) -> str:
    if setting.workspace_values:
        return f"its .env may set it to {' or '.join(setting.workspace_values)} alone"
    return "its .env may set it" if setting.from_workspace else "its .env cannot set it"


def _as_json(report: Report, rows: Sequence[Found]) -> dict[str, Any]:
    """The JSON that scripts rely on (shapes only gain keys). The value of a secret is null."""
    return {
        "ok": not report.mistakes,
        "workspace": None if report.root is None else str(report.root),
        "files": [{"file": file, "source": origin, "exists": there} for file, origin, there in report.files()],
        "settings": [_row_as_json(row) for row in rows],
        "mistakes": list(report.mistakes),
        "notes": list(report.notes),
    }


def _row_as_json(row: Found) -> dict[str, Any]:
    setting = row.setting
    return {
        "name": setting.name,
        "group": next(one.title for one in GROUPS if setting in one.settings),
        "value": None if setting.secret else row.shown,
        "is_set": row.is_set,
        "source": row.origin,
        "file": None if row.file is None else str(row.file),
        "default": setting.default,
        "takes": setting.expects,
        "help": setting.help,
        "secret": setting.secret,
        "workspace_may_set": setting.from_workspace,
        "workspace_values": list(setting.workspace_values),
        "passed_over": [
            {"source": one.origin, "file": None if one.file is None else str(one.file), "why": one.why}
            for one in row.passed_over
        ],
        "mistake": row.mistake or None,
    }


def _one_line(text: str) -> str:
    return safe_line(safe_path(text))


COMMAND: Final = Command(
    "config",
    "list every setting: its value, where it came from and what it does",
    add_arguments,
    run,
    logs_from=logging.WARNING,
    mistaken=mistaken,
)
