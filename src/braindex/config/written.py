"""What is written of the settings outside of the code, made of their table: `.env.example`, and a guide's tables."""

import textwrap
from collections.abc import Iterator
from typing import Final

from braindex.config.data_folder import BRAIN_DIR
from braindex.config.table import GROUPS, Setting

_WIDTH: Final = 120
_HEADER: Final = """\
# Two places, and what counts in each:
#   ~/.brain/.env (or BRAIN_DIR/.env, where BRAIN_DIR is an absolute path): yours, so every setting counts.
#   .env in a checkout: anyone may have written it, so only BRAIN_DIR and the settings marked (w) count, and so it is
#     with the .env in a data folder that the checkout names. Put keys and all else into the environment, or into
#     ~/.brain/.env, which counts beside such a folder too.
# Precedence: command-line flag, environment, your .env, the data folder's, the workspace's. At most 64 KiB, UTF-8.
# Values shown are the defaults, except the first. `braindex config` shows what is in force, and why.
"""
_CHECKOUTS: Final = (
    "The default is ~/.brain; this line makes the checkout's own .brain/ serve. In a checkout's .env it has to be a "
    "folder of its own inside the checkout, not reached through a link."
)


def env_example() -> str:
    """The text of `.env.example`: copied to `.env`, it changes nothing but where the data is kept."""
    parts = [_HEADER]
    for group in GROUPS:
        parts.append(f"# {group.title} {'-' * (_WIDTH - len(group.title) - 3)}\n")
        parts += map(_example, group.settings)
    return "\n".join(parts)


def _example(row: Setting) -> str:
    about = f"{row.help} It takes {row.expects}.{_mark(row)}"
    if row.name == BRAIN_DIR:
        return f"{_commented(about)}{_commented(_CHECKOUTS)}{row.name}=.brain\n"
    return f"{_commented(about)}# {row.name}={row.default}\n"


def _mark(row: Setting) -> str:
    alone = f": {', '.join(row.workspace_values)} alone" if row.workspace_values else ""
    return f" (w{alone})" if row.from_workspace else ""


def _commented(text: str) -> str:
    lines = textwrap.wrap(text, _WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines)


def markdown_tables() -> str:
    """The tables of the guide to the configuration: one a group, one row a setting."""
    return "\n".join("".join(f"{line}\n" for line in _table(number)) for number in range(len(GROUPS)))


def _table(number: int) -> Iterator[str]:
    group = GROUPS[number]
    yield f"### {group.title}"
    yield ""
    yield "| setting | default | takes | what it does | a workspace's `.env` |"
    yield "| --- | --- | --- | --- | --- |"
    for row in group.settings:
        default = f"`{row.default_shown}`" if row.default else "–"
        about = row.help.replace("|", "\\|")
        yield f"| `{row.name}` | {default} | {row.expects} | {about} | {_in_workspace(row)} |"


def _in_workspace(row: Setting) -> str:
    """What a workspace's own `.env` may do with it."""
    if row.name == BRAIN_DIR:
        return "a folder inside, where a command runs there"
    if row.workspace_values:
        return " or ".join(f"`{one}`" for one in row.workspace_values) + " alone"
    return "counts" if row.from_workspace else "–"
