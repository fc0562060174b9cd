"""A source file as the parser sees it: UTF-8 bytes, and the lines an editor shows for them."""

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import Final

_BOM: Final = b"\xef\xbb\xbf"
_LONE_RETURN: Final = re.compile(rb"\r(?!\n)")
_UNDECODED: Final = re.compile("[\udc80-\udcff]")
_BLANK: Final = b" \t\r\n\f\v"
_LONGEST_INDENT: Final = 1000  # bytes; what follows more than that of white space is not at the start of its line


class Source:
    """The bytes of one file. `base` is the length of the byte order mark that was taken off `data`.

    Lines end where an editor ends them: at LF, at CR LF, and at a CR alone (as VS Code, Python and JavaScript read
    it). A lone CR is replaced by LF, which keeps every offset.
    """

    def __init__(self, raw: str | bytes) -> None:
        data = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else bytes(raw)
        self.base = len(_BOM) if data.startswith(_BOM) else 0
        data = data[self.base :]
        self.data = _LONE_RETURN.sub(b"\n", data) if b"\r" in data else data

    @cached_property
    def valid(self) -> bytes:
        """`data` with a question mark for each byte that is not UTF-8: a query's conditions must be able to read it."""
        try:
            self.data.decode("utf-8")
        except UnicodeDecodeError:
            return _UNDECODED.sub("?", self.data.decode("utf-8", "surrogateescape")).encode("utf-8")
        return self.data

    @cached_property
    def _starts(self) -> list[int]:
        starts = list(accumulate(map(len, self.data.splitlines(keepends=True)), initial=0))
        if self.data and not self.data.endswith(b"\n"):
            starts.pop()  # the end of a last line that has no end
        return starts

    def line(self, at: int) -> int:
        """The line (from 1) of a byte offset."""
        return bisect_right(self._starts, at)

    def text(self, start: int, end: int) -> str:
        """The text of a range; bytes that are not UTF-8 become U+FFFD."""
        return self.data[start:end].decode("utf-8", "replace")

    def before(self, at: int) -> int:
        """The end of the last thing before `at` that is not white space; 0 when there is none."""
        if at > 0 and self.data[at - 1] > 0x20:
            return at
        while at > 0:
            low = max(0, at - 64)
            kept = len(self.data[low:at].rstrip(_BLANK))
            if kept:
                return low + kept
            at = low
        return 0

    def after(self, at: int) -> int:
        """The start of the first thing from `at` on that is not white space."""
        size = len(self.data)
        while at < size:
            chunk = self.data[at : at + 64]
            kept = len(chunk.lstrip(_BLANK))
            if kept:
                return at + len(chunk) - kept
            at += len(chunk)
        return size

    def indent(self, at: int) -> int | None:
        """Bytes of white space between the start of the line and `at`, or None when there is anything else."""
        low = self._starts[self.line(at) - 1]
        if at - low > _LONGEST_INDENT or self.data[low:at].strip(_BLANK):
            return None
        return at - low

    def newlines(self, start: int, end: int) -> int:
        """How many line ends lie in a range."""
        return self.data.count(b"\n", start, end)
