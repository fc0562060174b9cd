"""Completion scripts for shells, made from the argument parser: a new command or option needs nothing here."""

from collections.abc import Callable, Mapping
from typing import Final

from braindex.cli.completion.bash import bash_script
from braindex.cli.completion.fish import fish_script
from braindex.cli.completion.tree import Place
from braindex.cli.completion.zsh import zsh_script

SCRIPTS: Final[Mapping[str, Callable[[Place], str]]] = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
