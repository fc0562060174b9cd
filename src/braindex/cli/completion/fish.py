"""The script for fish, from 3.0 on."""

from collections.abc import Iterator
from typing import Final

from braindex.cli.completion.cases import at
from braindex.cli.completion.tree import Operand, Option, Place, Value

_SCRIPT: Final = """\
# Completion of braindex for fish: braindex completion fish > ~/.config/fish/completions/braindex.fish
function __braindex_at --description 'Whether the command line is at a place, and at that operand of it'
  set -l at ''
  set -l count 0
  set -l waiting ''
  for word in (commandline -opc)[2..-1]
    if test -n "$waiting"
      set waiting ''
      continue
    end
    switch "$at $word"
{walk}
      case '* -*'
      case '*'
        set count (math $count + 1)
    end
  end
  test "$at" = "$argv[1]"; and begin; test (count $argv) -lt 2; or test $count -eq $argv[2]; end
end
complete -c braindex -f
{lines}
"""


def fish_script(root: Place) -> str:
    places = list(root.all())
    return _SCRIPT.format(walk="\n".join(_walk(places)), lines="\n".join(_lines(places)))


def _walk(places: list[Place]) -> Iterator[str]:
    for place in places:
        for child in place.children:
            yield f"      case '{at(child)}'\n        set at '{at(child)}'; set count 0"
        takers = [flag for option in place.options if option.value for flag in option.flags]
        if takers:
            yield "      case " + " ".join(f"'{at(place)} {flag}'" for flag in takers) + "\n        set waiting $word"


def _lines(places: list[Place]) -> Iterator[str]:
    for place in places:
        for option in place.options:
            yield _option(place, option)
        for child in place.children:
            yield f"{_when(place, 0)} -a {child.name} -d {_quoted(child.help)}"
        if not place.children:
            for number, operand in enumerate(place.operands):
                if operand.value.sort != "nothing":
                    yield _operand(place, number, operand)


def _when(place: Place, number: int | None) -> str:
    counted = "" if number is None else f" {number}"
    return f"complete -c braindex -n '__braindex_at \"{at(place)}\"{counted}'"


def _option(place: Place, option: Option) -> str:
    flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
    value = "" if option.value is None else f" -r{_proposed(option.value)}"
    return f"{_when(place, None)} {flags} -d {_quoted(option.help)}{value}"


def _operand(place: Place, number: int, operand: Operand) -> str:
    return f"{_when(place, None if operand.repeated else number)}{_proposed(operand.value)}"


def _proposed(value: Value) -> str:
    match value.sort:
        case "words":
            return f" -f -a {_quoted(' '.join(value.words))}"
        case "files":
            return " -F"
        case "folders":
            return " -f -a '(__fish_complete_directories)'"
        case "workspaces":
            return " -f -a '(braindex completion --workspaces 2>/dev/null; __fish_complete_directories)'"
        case "nothing":
            return " -f"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
