"""The script for bash, from 3.2 on (macOS): no associative arrays, no `mapfile`."""

from collections.abc import Iterable
from typing import Final

from braindex.cli.completion.cases import at, operands, rows, values, walk
from braindex.cli.completion.tree import Place, Value

_SCRIPT: Final = """\
# Completion of braindex for bash: braindex completion bash > ~/.local/share/bash-completion/completions/braindex
_braindex_words() {{ COMPREPLY=($(compgen -W "$1" -- "$cur")); }}
_braindex_names() {{
  local name
  compopt -o filenames 2>/dev/null
  while IFS= read -r name; do  # as it is: a name may hold what a list in parentheses would expand
    type compopt >/dev/null 2>&1 || name=$(printf %q "$name")  # bash before 4 puts a name in as it gets it
    COMPREPLY+=("$name")
  done
}}
_braindex_files() {{ _braindex_names < <(compgen -f -- "$cur"); }}
_braindex_folders() {{ _braindex_names < <(compgen -d -- "$cur"); }}
_braindex_workspaces() {{
  local name typed=${{cur//\\\\/}}
  typed=${{typed#[\\"\\']}}
  _braindex_folders
  _braindex_names < <(
    "${{COMP_WORDS[0]}}" completion --workspaces 2>/dev/null |
      while IFS= read -r name; do [[ $name == "$typed"* ]] && printf '%s\\n' "$name"; done
  )
}}
_braindex() {{
  local IFS=$'\\n' cur=${{COMP_WORDS[COMP_CWORD]}} at= waiting= word i
  local -i count=0
  COMPREPLY=()
  [[ $cur == "=" ]] && cur=
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    if [[ -n $waiting ]]; then
      [[ $word == "=" ]] || waiting=
      continue
    fi
    case "$at $word" in
{walk}
      *\\ -*|*=) ;;
      *) count+=1 ;;
    esac
  done
  if [[ -n $waiting ]]; then
    case "$at $waiting" in
{values}
    esac
  elif [[ $cur == -* ]]; then
    case "$at" in
{options}
    esac
  else
    case "$at $count" in
{operands}
    esac
  fi
}}
complete -F _braindex braindex
"""


def bash_script(root: Place) -> str:
    places = list(root.all())
    return _SCRIPT.format(
        walk=rows(walk(places)),
        values=rows(values(places, _proposed)),
        options=rows(f'"{at(place)}") {_words(place.flags)}' for place in places),
        operands=rows(operands(places, _proposed, lambda children: _words(child.name for child in children))),
    )


def _proposed(value: Value) -> str:
    return _words(value.words) if value.sort == "words" else f"_braindex_{value.sort}"


def _words(words: Iterable[str]) -> str:
    return "_braindex_words $'" + "\\n".join(words) + "'"
