"""Private keys in text, whatever the file is called and whatever the key is wrapped in."""

import binascii
import operator
import re
import string
from typing import Final

# PEM (RFC 7468), OpenPGP armour (RFC 9580), and SSH2 with its four dashes (RFC 4716); also as a URL has them.
_SPACE: Final = r"(?: |%20|\+)"
_OPENING: Final = re.compile(
    rf"-{{4,5}}{_SPACE}?BEGIN{_SPACE}(?:[A-Z0-9]{{1,20}}{_SPACE}){{0,4}}PRIVATE{_SPACE}KEY(?:{_SPACE}BLOCK)?{_SPACE}?-{{4,5}}"
)
_LOOKED_AT: Final = 1_000  # characters behind a marker: header lines and the first lines of a key
# Between the marker and the key stand line ends, real or escaped, quotes and joints of string literals, marks of
# comments, tags, or an expression for a line end (`" + System.lineSeparator() + "`); other code needs more room.
_LONGEST_JOINT: Final = 100
_HEADER: Final = re.compile(r"\b[A-Z][A-Za-z-]{2,20}: [^\n\\\"']{0,200}")
# A line of a key has 64 characters in PEM, 70 in OpenSSH. Half of one, since lines are cut up in some notations.
_RUN: Final = re.compile(r"[A-Za-z0-9+/]{32,}+")
_KINDS: Final = str.maketrans(string.ascii_letters + string.digits + "+", "a" * 26 + "A" * 26 + "0" * 10 + "/")
# Where the marker has the line to itself, any base64 word alone on the next line is taken for a key, cut short or not.
_BARE_LINE: Final = re.compile(
    r"[ \t>#*+]*+\r?\n(?:[^\n:]{2,30}: [^\n]*\n)*+\s*+"
    r"[>#*+]*+[ \t]*+[A-Za-z0-9+/]{4,}+={0,2}(?:\.{2,}|…)?[ \t]*+\r?(?:\n|\Z)"
)

# DER in base64 begins with a sequence of over 255 bytes. Under a name that says what it is, it needs no marker.
_DER: Final = re.compile(r"\bMI[IG][A-Za-z0-9+/]{60}")
_LABEL: Final = re.compile(r"private[ _-]?(?:rsa[ _-]?|ec[ _-]?)?key\w{0,20}[^A-Za-z0-9]{1,20}\Z", re.IGNORECASE)
_LABEL_ROOM: Final = 80
# Texts that nothing but a private key holds: PKCS #8 around an RSA key (RFC 5958; version 0, rsaEncryption, octets),
# OpenSSH's own format, an age identity, and the private exponent of a .NET key.
_TELLING: Final = (
    ("ADANBgkqhkiG9w0BAQEFAASC", re.compile(r"ADANBgkqhkiG9w0BAQEFAASC[A-Za-z0-9+/]{40}")),
    ("b3BlbnNzaC1rZXktdjE", re.compile(r"b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{40}")),
    ("AGE-SECRET-KEY-1", re.compile(r"AGE-SECRET-KEY-1[A-Z0-9]{58}")),
    ("<RSAKeyValue>", re.compile(r"<D>\s*+[A-Za-z0-9+/]{40}")),
)
# A PEM file in base64, as Kubernetes and build services keep them: `-----BEGIN ` and more than the marker.
_ENCODED: Final = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{66}")
_PUTTY: Final = re.compile(
    r"Private-Lines: ?[0-9]{1,4}(?P<joint>[^A-Za-z0-9+/]{0,20}+(?:[nr][^A-Za-z0-9+/]{1,20}+)?n?)"
)
_PUTTY_RUN: Final = re.compile(r"[A-Za-z0-9+/]{16}")


def holds_private_key(text: str) -> bool:
    """Whether a private key is in the text. The marker alone, as a scanner's source has it, is none."""
    return (
        ("PRIVATE" in text and any(_key_follows(text, marker) for marker in _OPENING.finditer(text)))
        or any(sign in text and pattern.search(text) is not None for sign, pattern in _TELLING)
        or ("LS0tLS1CRUdJTi" in text and any(map(_is_encoded_key, _ENCODED.findall(text))))
        or ("MI" in text and any(_is_labelled(text, match.start()) for match in _DER.finditer(text)))
        or ("PuTTY-User-Key-File-" in text and _holds_putty_key(text))
    )


def _key_follows(text: str, marker: re.Match[str]) -> bool:
    start = text.rfind("\n", 0, marker.start()) + 1
    if not text[start : marker.start()].strip(" \t>#*+") and _BARE_LINE.match(text, marker.end()):
        return True
    behind = text[marker.end() : marker.end() + _LOOKED_AT].partition("----")[0]
    for run in _RUN.finditer(behind):
        joint = _RUN.sub("", _HEADER.sub("", behind[: run.start()]))
        if len(joint) > _LONGEST_JOINT:
            return False
        if _looks_random(run.group()):
            return True
    return False


def _looks_random(run: str) -> bool:
    """Whether a run of 32 base64 characters or more is a key's, and not a path or a name, which use the same letters.

    Of two random neighbours 64 % differ in class (upper, lower, digit, sign), of those in a name of short words 40 %;
    and in a name two capitals seldom stand together.
    """
    if "MII" in run[:6] or "MIG" in run[:6]:  # DER, perhaps behind the `n` of an escaped line end
        return True
    kinds = run[:64].translate(_KINDS)
    changes = sum(map(operator.ne, kinds, kinds[1:]))
    enough = kinds.count("0") >= 2 and kinds.count("A") >= 5 and kinds.count("a") >= 5 and "AA" in kinds
    return enough and changes > 0.45 * len(kinds)


def _is_encoded_key(run: str) -> bool:
    try:
        return b"PRIVATE KEY" in binascii.a2b_base64(run[: len(run) // 4 * 4])
    except binascii.Error:
        return False


def _is_labelled(text: str, at: int) -> bool:
    return _LABEL.search(text[max(0, at - _LABEL_ROOM) : at]) is not None


def _holds_putty_key(text: str) -> bool:
    return any(_PUTTY_RUN.match(text, match.end()) for match in _PUTTY.finditer(text))
