"""Makes stored text safe to show: source, notes and names may hold control and bidirectional characters."""

import re
from typing import Final

# C0 and C1 controls but tab and newline; soft hyphen; zero-width, directional and invisible format characters;
# line and paragraph separators; byte order mark; interlinear and tag characters. Lone surrogates cannot be encoded.
_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


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
