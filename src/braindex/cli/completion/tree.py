"""What there is to complete, read from the argument parser.

argparse offers no public way to its arguments; the private names that are read here have not changed since Python 3.2.
"""
# ruff: noqa: SLF001

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Sort = Literal["nothing", "words", "files", "folders", "workspaces"]


@dataclass(frozen=True, slots=True)
class Value:
    """What may stand at a place: some words, something that the shell or braindex lists, or a text of one's own."""

    sort: Sort
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """`value` is None for a flag."""

    flags: tuple[str, ...]
    help: str
    value: Value | None


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument without a flag; a repeated one takes all that follow."""

    value: Value
    repeated: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A command, an action of one, or braindex itself, whose `words` are none."""

    words: tuple[str, ...]
    help: str
    options: tuple[Option, ...]
    operands: tuple[Operand, ...]
    children: tuple["Place", ...]

    @property
    def name(self) -> str:
        return self.words[-1] if self.words else ""

    @property
    def flags(self) -> tuple[str, ...]:
        return tuple(flag for option in self.options for flag in option.flags)

    def all(self) -> Iterator["Place"]:
        yield self
        for child in self.children:
            yield from child.all()


NOTHING: Final = Value("nothing")
Known = Mapping[str, Value]  # what is meant by a metavar


def place_of(parser: argparse.ArgumentParser, known: Known, words: tuple[str, ...] = (), about: str = "") -> Place:
    """The tree of a parser. Of an argument without `choices` its metavar says what may stand there."""
    options, operands, children = [], [], []
    for action in _shown(parser):
        if isinstance(action, argparse._SubParsersAction):
            helps = {row.dest: row.help or "" for row in action._get_subactions()}
            for name, child in action.choices.items():
                children.append(place_of(child, known, (*words, name), helps.get(name, "")))
        elif action.option_strings:
            value = None if action.nargs == 0 else _value(action, known)
            options.append(Option(tuple(action.option_strings), _help(action, parser), value))
        else:
            operands.append(Operand(_value(action, known), action.nargs in {"*", "+", argparse.REMAINDER}))
    return Place(words, about, tuple(options), tuple(operands), tuple(children))


def _shown(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.help != argparse.SUPPRESS]


def _value(action: argparse.Action, known: Known) -> Value:
    if action.choices is not None:
        return Value("words", tuple(str(one) for one in action.choices))
    metavar: Any = action.metavar
    return known.get(metavar, NOTHING) if isinstance(metavar, str) else NOTHING


def _help(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    """On one line, with its placeholders filled in."""
    text = parser._get_formatter()._expand_help(action) if action.help else ""
    return " ".join(text.split())
