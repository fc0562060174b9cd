"""Bytes to text, or the reason why not: a file is decoded as what it says it is, and never guessed at."""

import codecs
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from braindex.domain.results import Skipped
from braindex.indexing import exclusions
from braindex.indexing.opening import Unreadable, read_below
from braindex.indexing.privatekeys import holds_private_key
from braindex.indexing.walk import KEPT_MAX_BYTES, Found, too_large

# The longer ones first: UTF-32's little-endian mark begins with UTF-16's.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# PEP 263: in a comment on one of the first two lines. CSS: the very first bytes. HTML: the first 1,024.
_COOKIE: Final = re.compile(rb"\A(?:[^\n]*\n)??[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
_CSS_CHARSET: Final = re.compile(rb'\A@charset "([-\w.:]+)";')
_XML_ENCODING: Final = re.compile(rb"\A<\?xml[^>]*?encoding\s*=\s*[\"']([-\w.:]+)[\"']")
_HTML_CHARSET: Final = re.compile(rb"<meta[^>]*?charset\s*=\s*[\"']?\s*([-\w.:]+)", re.IGNORECASE)
_HTML_SUFFIXES: Final = (".html", ".htm", ".xhtml", ".vue", ".svelte")
_WEB_SUFFIXES: Final = (*_HTML_SUFFIXES, ".css")
# WHATWG Encoding: on the web these labels mean windows-1252, whose quotes Latin-1 would turn into controls.
_WEB_LABELS: Final = {"iso8859-1": "cp1252", "ascii": "cp1252"}
# Codecs of escapes, not of characters: they would rewrite the text.
_NOT_CHARSETS: Final = frozenset({"unicode-escape", "raw-unicode-escape", "idna", "punycode", "utf-7"})

# Measured on 182 scripts and style sheets of 2 kB and more: hand-written ones averaged at most 353 characters
# a line, and of those above 1,000 only generated data had over 3.5 % white space. Readable code on one long
# line has more, and is parsed.
_MINIFIED_LINE: Final = 1_000
_MINIFIED_SPACE: Final = 0.05
_MINIFIABLE: Final = (".js", ".mjs", ".cjs", ".css")


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file's text with its line ends as they are.

    `data` is the text in UTF-8, without a byte order mark; `digest` is BLAKE2b-128 of the bytes on disk;
    `encoding` is the codec they were decoded with.
    """

    text: str
    data: bytes
    digest: bytes
    encoding: str


def read_text(root: Path, found: Found, max_bytes: int, judged: bytes = b"") -> SourceText | Skipped:
    """Reads one file of a walk. Never raises for what the file is or holds.

    Reads at most `max_bytes` + 1 bytes (of a `kept` file, `KEPT_MAX_BYTES` + 1). No link on the way is
    followed, even one put there since the walk. A file whose digest is `judged` was let in before and is not looked
    through for keys again.
    """
    limit = max(max_bytes, KEPT_MAX_BYTES) if found.kept else max_bytes
    try:
        raw = read_below(str(root), found.on_disk, limit + 1)
    except Unreadable as error:
        return Skipped(found.path, str(error), again=True)
    if len(raw) > limit:
        return Skipped(found.path, too_large(max(found.size, len(raw)), limit))
    decoded = decode(raw, found.path)
    if isinstance(decoded, Skipped):
        return decoded
    text, encoding = decoded
    digest = hashlib.blake2b(raw, digest_size=16).digest()
    if digest != judged:
        if holds_private_key(text):
            return Skipped(found.path, "never indexed: holds a private key")
        if not found.kept and is_minified(found.path, text):
            return Skipped(found.path, exclusions.left_out("minified (very long lines with hardly a space)"))
    data = raw if encoding == "utf-8" and not raw.startswith(codecs.BOM_UTF8) else text.encode("utf-8")
    return SourceText(text, data, digest, encoding)


def decode(raw: bytes, path: str) -> tuple[str, str] | Skipped:
    """The text and the codec: by byte order mark, as UTF-8, as the file declares; otherwise why not."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return _as_declared(raw[len(mark) :], path, encoding, f"not valid {encoding}, as its byte order mark says")
    if b"\0" in raw:
        return Skipped(path, exclusions.left_out("binary (NUL bytes)"))
    try:
        return raw.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        label = _declared(raw, path)
    if label is None:
        return Skipped(path, "not UTF-8, and it declares no encoding")
    codec = _codec(label, path)
    if codec is None:
        return Skipped(path, f"not UTF-8, and it declares an unknown encoding ({label})")
    return _as_declared(raw, path, codec, f"not UTF-8, and not valid {label} as it declares")


def _as_declared(raw: bytes, path: str, codec: str, otherwise: str) -> tuple[str, str] | Skipped:
    try:
        text = raw.decode(codec)
    except (UnicodeError, LookupError):  # LookupError: a codec that is not one of text
        return Skipped(path, otherwise)
    return Skipped(path, exclusions.left_out("binary (NUL characters)")) if "\0" in text else (text, codec)


def _declared(raw: bytes, path: str) -> str | None:
    """The encoding a file names itself, as Python, CSS, XML and HTML look for it."""
    name = path.lower()
    found = _COOKIE.match(raw[:4096]) or _XML_ENCODING.match(raw[:1024])
    if found is None and name.endswith(".css"):
        found = _CSS_CHARSET.match(raw)
    if found is None and name.endswith(_HTML_SUFFIXES):
        found = _HTML_CHARSET.search(raw[:1024])
    return found.group(1).decode("ascii", "replace") if found else None


def _codec(label: str, path: str) -> str | None:
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    if name in _NOT_CHARSETS:
        return None
    return _WEB_LABELS.get(name, name) if path.lower().endswith(_WEB_SUFFIXES) else name


def is_minified(path: str, text: str) -> bool:
    """Whether a script or style sheet is written for machines: very long lines with hardly a space."""
    if not path.lower().endswith(_MINIFIABLE) or len(text) < _MINIFIED_LINE * (text.count("\n") + 1):
        return False
    spaces = len(text) - sum(map(len, text.split()))
    return spaces < _MINIFIED_SPACE * len(text)
