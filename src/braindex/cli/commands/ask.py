"""`braindex ask`: a question, or one question a line."""

import argparse
import logging
import os
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Final

from braindex.cli.errors import DONE, LONGEST_MESSAGE
from braindex.cli.explaining import explanation_lines
from braindex.cli.invocation import Command, Invocation, add_json_option, add_workspace_option
from braindex.cli.layout import answer_lines
from braindex.cli.output import json_line, line, style
from braindex.cli.refreshing import refresh
from braindex.domain.display import safe_line, shortened
from braindex.domain.errors import BraindexError, UsageError
from braindex.domain.results import Question, Workspace
from braindex.domain.units import WILDCARD

DEFAULT_LIMIT: Final = 8
FINISH_SECONDS: Final = 20.0  # for a request that keeps the provider's cache warm, once the answer is printed


class OneWayToAsk(UsageError):
    def __init__(self) -> None:
        super().__init__("give one question as TEXT, or questions on standard input with --stdin")


class InputClosed(UsageError):
    def __init__(self) -> None:
        super().__init__("standard input is closed, and --stdin reads the questions there")


class InputFailed(BraindexError):
    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard input cannot be read ({error.strerror or error}); give it a file or a pipe")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="*", metavar="TEXT", help="the question; quotes are optional")
    parser.add_argument("--stdin", action="store_true", help="read one question a line, answer each on a line")
    add_workspace_option(parser)
    parser.add_argument("--limit", type=int, default=DEFAULT_LIMIT, metavar="N", help="sources at most, 1 to 50")
    parser.add_argument(
        "--path",
        metavar="P",
        help="only below this folder, file or glob: from the workspace's root, or where that has none such, from here",
    )
    parser.add_argument("--kind", metavar="K", help="only this kind of entity, such as function or heading")
    parser.add_argument("--language", metavar="L", help="only this language, such as python or markdown")
    parser.add_argument("--no-answer", action="store_true", help="print the sources alone; no engine is asked")
    parser.add_argument("--explain", action="store_true", help="say how the sources came to their order")
    add_json_option(parser)


def run(invocation: Invocation) -> int:
    """Refreshes the workspace once, answers, and then brings the vector index on disk up to date."""
    arguments = invocation.arguments
    text = " ".join(arguments.text) if arguments.text else None
    if (text is None) != arguments.stdin:
        raise OneWayToAsk
    if arguments.stdin and sys.stdin is None:
        raise InputClosed
    workspace = invocation.workspace()
    refresh(invocation.app, workspace)
    arguments.path = path_meant(arguments.path, Path(workspace.path), invocation.place(workspace.path))
    if arguments.stdin:
        for text in _lines():
            _answer_or_error(invocation, workspace, text)
    else:
        _answer(invocation, workspace, text or "")
    invocation.app.scans.sync(workspace)
    invocation.app.finish(FINISH_SECONDS)
    return DONE


def path_meant(path: str | None, root: Path, here: Path) -> str | None:
    """A path filter from the workspace's root, or from the working directory where the root has no such file or folder
    and that has. A pattern is judged by what stands before its first wildcard.
    """
    if path is None or not here.is_relative_to(root):
        return path
    parts = Path(path.strip()).parts
    fixed = list(takewhile(lambda part: not WILDCARD.search(part), parts))
    climbs = ".." in fixed
    if not fixed or (not climbs and any(os.path.lexists(root.joinpath(*some)) for some in (parts, fixed))):
        return path
    is_here = climbs or os.path.lexists(here.joinpath(*fixed))
    return os.path.normpath(here / path.strip()) if is_here else path


def _answer(invocation: Invocation, workspace: Workspace, text: str) -> None:
    answer = invocation.app.asking.ask(workspace, _question(invocation.arguments, text))
    if invocation.arguments.json:
        json_line(answer.as_json())
    else:
        look = style(sys.stdout, invocation.environ)
        line("\n".join(answer_lines(answer, look)))
        if answer.explanation is not None:
            line("")
            line("\n".join(explanation_lines(answer.explanation, look)).rstrip())


def _answer_or_error(invocation: Invocation, workspace: Workspace, text: str) -> None:
    """One output for each question, also for one that cannot be answered: scripts count on the pairing."""
    as_json = invocation.arguments.json
    if not as_json and not text.strip():
        return
    try:
        if not as_json:
            line(f"? {safe_line(text)}")
        _answer(invocation, workspace, text)
    except BraindexError as error:
        if as_json:
            said = shortened(str(error), LONGEST_MESSAGE)
            json_line({"workspace_id": workspace.id, "query": text, "error": said})
        else:
            line(f"braindex: {shortened(safe_line(str(error)), LONGEST_MESSAGE)}")


def _question(arguments: argparse.Namespace, text: str) -> Question:
    # Bytes of an argument that are no UTF-8 arrive as lone surrogates, which nothing further on can encode.
    clean = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return Question(
        text=clean,
        limit=arguments.limit,
        path=arguments.path,
        kind=arguments.kind,
        language=arguments.language,
        write=not arguments.no_answer,
        explain=arguments.explain,
    )


def _lines() -> Iterator[str]:
    """The questions, read one by one so that a dialogue works; a byte order mark is no part of the first."""
    first = True
    try:
        for text in iter(sys.stdin.readline, ""):
            yield text.removeprefix("\ufeff" if first else "").rstrip("\r\n")
            first = False
    except OSError as error:
        raise InputFailed(error) from error


COMMAND: Final = Command("ask", "ask a question about a workspace", add_arguments, run, logs_from=logging.WARNING)
