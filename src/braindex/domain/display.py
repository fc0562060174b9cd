"""Makes stored text safe to show: source, notes and names may hold control and bidirectional characters."""

import re
from typing import Final

ECHO_CHARACTERS: Final = 200  # of what a caller gave, as an error repeats it

# C0 and C1 controls but tab and newline; soft hyphen; zero-width, directional and invisible format characters;
# line and paragraph separators; byte order mark; interlinear and tag characters. Lone surrogates cannot be encoded.
_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ud800-\udfff\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)

# What a shell takes as it is, and what it would expand even inside of double quotes.
_PLAIN: Final = re.compile(r"[\w@+=:,./\\-]+")
_SHELL: Final = re.compile(r'["$`!%]|\\$')


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def safe(text: str) -> str:
    """Text with unsafe characters shown as escapes. Tabs and newlines stay; a carriage return is escaped."""
    return _UNSAFE.sub(_escape, text)


def safe_line(text: str) -> str:
    """One line of safe text: newlines and tabs become single spaces."""
    return safe(" ".join(text.split()))


def safe_path(path: str) -> str:
    """A path exactly as it is named, its unsafe characters (newlines and tabs too) shown as escapes."""
    return safe(path).replace("\n", "\\n").replace("\t", "\\t")


def shortened(text: str, limit: int = ECHO_CHARACTERS) -> str:
    """Text of at most `limit` characters: of a longer one the middle is left out, since its ends tell most."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 3
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def echoed(text: str) -> str:
    """What a caller gave, as an error repeats it: safe to show, one line, of bounded length."""
    return safe_path(shortened(text))


def argument(path: str) -> str:
    """A path as a command line takes it in common shells, or `PATH` where it cannot be pasted as it is."""
    if echoed(path) != path or _SHELL.search(path):
        return "PATH"
    return path if _PLAIN.fullmatch(path) else f'"{path}"'
