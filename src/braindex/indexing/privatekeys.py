"""Private keys in text, whatever the file is called."""

import re
from typing import Final

_OPENING: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")
# What stands between the marker and the key: line ends, real or escaped, quotes and joints of string
# literals, comment signs, and the header lines of PEM (RFC 1421) and OpenPGP (RFC 9580) armour.
_BETWEEN: Final = re.compile(r"(?:\s|\\+[nrt]|[\\\"'`+,.()#*>|]|//+(?=\s)|[A-Z][A-Za-z-]{2,20}: [^\n\\\"']{0,200})*+")
# A line of a key: 64 characters in PEM, 70 in OpenSSH; less may end it, but no key is shorter than this.
_KEY_LINE: Final = re.compile(r"[A-Za-z0-9+/]{40}")
# Where the marker has the line to itself, any base64 word alone on the next line is taken for a key, cut
# short or not.
_BARE_LINE: Final = re.compile(
    r"[ \t>#*]*+\r?\n(?:[^\n:]{2,30}: [^\n]*\n)*+\s*+"
    r"[>#*]*+[ \t]*+[A-Za-z0-9+/]{4,}+={0,2}(?:\.{2,}|…)?[ \t]*+\r?(?:\n|\Z)"
)


def holds_private_key(text: str) -> bool:
    """Whether a private key block is in the text. The marker alone, as a scanner's source has it, is none."""
    if "PRIVATE KEY" not in text:
        return False
    return any(_key_follows(text, marker) for marker in _OPENING.finditer(text))


def _key_follows(text: str, marker: re.Match[str]) -> bool:
    start = text.rfind("\n", 0, marker.start()) + 1
    if not text[start : marker.start()].strip(" \t>#*") and _BARE_LINE.match(text, marker.end()):
        return True
    between = _BETWEEN.match(text, marker.end())
    key = _KEY_LINE.match(text, between.end() if between else marker.end())
    return key is not None and _looks_random(key.group())


def _looks_random(run: str) -> bool:
    """Base64 of a key has all three; a path or a word, which uses the same letters, hardly ever does."""
    return any(map(str.isdigit, run)) and any(map(str.isupper, run)) and any(map(str.islower, run))
