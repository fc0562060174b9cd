"""Runs one command: with settings, a log and the services that it asks for."""

import argparse
import os
from pathlib import Path

from braindex.cli import logs
from braindex.cli.invocation import NOWHERE, Command, Invocation, Mistaken, NoWorkingDirectory
from braindex.cli.output import note
from braindex.config import InvalidSettings, load_settings
from braindex.domain.display import safe_line


def run_command(arguments: argparse.Namespace) -> int:
    """Returns its exit code. Raises a BraindexError, also for settings that cannot be used."""
    command: Command = arguments.command
    cwd = _working_directory()
    if cwd is None and _is_relative(os.environ.get("BRAIN_DIR", "")):
        raise NoWorkingDirectory
    try:
        settings = load_settings(os.environ, cwd or NOWHERE)
    except InvalidSettings as mistakes:
        if command.mistaken is None:
            raise
        return command.mistaken(Mistaken(arguments, os.environ, cwd, mistakes.mistakes))
    for one in settings.notes:
        note(f"braindex: {safe_line(one)}")
    log_path = logs.start(settings.brain_dir, command.logs_from)
    logs.remove_old(settings.brain_dir)
    invocation = Invocation(arguments, settings, os.environ, cwd, log_path)
    try:
        invocation.check_paths()
        return command.run(invocation)
    finally:
        invocation.close()


def _working_directory() -> Path | None:
    """None where it was deleted: what needs none still works."""
    try:
        return Path.cwd()
    except OSError:
        return None


def _is_relative(path: str) -> bool:
    return bool(path.strip()) and not os.path.isabs(os.path.expanduser(path.strip()))
