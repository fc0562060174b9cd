"""The script for zsh: words with what they are for."""

from collections.abc import Iterable
from typing import Final

from braindex.cli.completion.cases import at, operands, rows, values, walk
from braindex.cli.completion.tree import Place, Value

_SCRIPT: Final = """\
#compdef braindex
# Completion of braindex for zsh: braindex completion zsh > a folder of $fpath, as _braindex
_braindex_files() {{ _files }}
_braindex_folders() {{ _files -/ }}
_braindex_workspaces() {{
  local -a found=(${{(f)"$("${{words[1]}}" completion --workspaces 2>/dev/null)"}})
  compadd -X workspaces -a found
  _files -/
}}
_braindex() {{
  local at= waiting= word
  local -a found
  local -i count=0 i
  for ((i = 2; i < CURRENT; i++)); do
    word=${{words[i]}}
    if [[ -n $waiting ]]; then
      waiting=
      continue
    fi
    case "$at $word" in
{walk}
      *\\ -*) ;;
      *) count+=1 ;;
    esac
  done
  if [[ -z $waiting && ${{words[CURRENT]}} == -*=* ]]; then
    waiting=${{words[CURRENT]%%=*}}
    compset -P 1 '*='
  fi
  if [[ -n $waiting ]]; then
    case "$at $waiting" in
{values}
    esac
  elif [[ ${{words[CURRENT]}} == -* ]]; then
    case "$at" in
{options}
    esac
    _describe -o option found
  else
    case "$at $count" in
{operands}
    esac
  fi
}}
if [[ ${{funcstack[1]}} == _braindex ]]; then _braindex "$@"; else compdef _braindex braindex; fi
"""


def zsh_script(root: Place) -> str:
    places = list(root.all())
    return _SCRIPT.format(
        walk=rows(walk(places)),
        values=rows(values(places, _proposed)),
        options=rows(f'"{at(place)}") found=({_flags(place)})' for place in places),
        operands=rows(operands(places, _proposed, _commands)),
    )


def _proposed(value: Value) -> str:
    return f"compadd -- {' '.join(value.words)}" if value.sort == "words" else f"_braindex_{value.sort}"


def _flags(place: Place) -> str:
    return _described((flag, option.help) for option in place.options for flag in option.flags)


def _commands(children: tuple[Place, ...]) -> str:
    return f"found=({_described((child.name, child.help) for child in children)}); _describe command found"


def _described(pairs: Iterable[tuple[str, str]]) -> str:
    """`'name:what it is'`, with the colons of the description escaped."""
    return " ".join(_quoted(f"{name}:{about.replace(':', chr(92) + ':')}") for name, about in pairs)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
