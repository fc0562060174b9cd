"""What an engine thinks of a change: verdict and findings as it writes them, each citation held against the diff."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

from braindex.domain.cited import keep_citations
from braindex.domain.diffs import FileDiff
from braindex.domain.display import safe_path

Verdict = Literal["approve", "comment", "request_changes"]
Severity = Literal["high", "medium", "low"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)

MOST_FINDINGS: Final = 50
LONGEST_FINDING: Final = 4_000  # characters
LONGEST_SUMMARY: Final = 6_000
LONGEST_ANSWER: Final = 200_000  # characters that are looked through for JSON
_MOST_OBJECTS: Final = 200  # places of an answer at which JSON may begin that are tried
# Engines write a verdict in many ways: `APPROVE`, `approved`, `Request changes`, `changes-requested`. Of several words
# the first of these counts, so that "do not approve, request changes" is no approval.
_WORDS: Final[tuple[tuple[str, Verdict], ...]] = (
    ("request", "request_changes"), ("changes", "request_changes"), ("reject", "request_changes"),
    ("comment", "comment"), ("approve", "approve"),
)  # fmt: skip
_SEVERITIES: Final[dict[str, Severity]] = {
    "critical": "high", "blocker": "high", "high": "high", "error": "high", "major": "high",
    "low": "low", "minor": "low", "nit": "low", "note": "low", "info": "low",
}  # fmt: skip
_PLACED: Final = re.compile(r"(.*?):L?(\d{1,7})(?:\s?[-–]\s?L?(\d{1,7}))?\Z")
_NUMBERS: Final = re.compile(r"\s*L?(\d{1,7})(?:\s?[-–]\s?L?(\d{1,7}))?\s*\Z")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to look at. Lines count from 1 on the new side, of a deleted file on the old one; 0 where the place
    that was cited is none of the diff: then only `path` is left of it, or "".
    """

    path: str
    line: int
    end_line: int
    text: str
    severity: Severity = "medium"

    @property
    def place(self) -> str:
        """The citation, in the form that editors make clickable; of a remark without a line the path alone."""
        if not self.line:
            return safe_path(self.path)
        tail = f"-{self.end_line}" if self.end_line != self.line else ""
        return f"#{safe_path(self.path)}:{self.line}{tail}"

    def as_json(self) -> dict[str, Any]:
        return {
            "path": self.path or None,
            "line": self.line or None,
            "end_line": self.end_line or None,
            "severity": self.severity,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Opinion:
    """What an engine says of a change. `remarks` are findings whose place is none of the diff, without it; `dropped`
    counts those that said nothing, or spoke of a file that is nowhere.
    """

    verdict: Verdict
    summary: str
    findings: tuple[Finding, ...] = ()
    remarks: tuple[Finding, ...] = ()
    dropped: int = 0
    lowered: bool = False
    """Whether changes were requested and nothing of what asked for them was left."""


def parse_answer(text: str) -> Opinion | None:
    """The opinion in an engine's last message: JSON, also in a fence or with prose around it. None where there is none.

    Of several objects with a verdict the last counts. A finding without a place or a text is counted as dropped.
    """
    objects = list(_objects(text[-LONGEST_ANSWER:]))
    found = next((one for one in reversed(objects) if _verdict(one.get("verdict"))), None)
    verdict = _verdict(found.get("verdict")) if found else None
    if found is None or verdict is None:
        return None
    listed = found.get("findings")
    given = listed if isinstance(listed, list) else []
    read = [_finding(one) for one in given[:MOST_FINDINGS]]
    findings = tuple(dict.fromkeys(one for one in read if one is not None))
    summary = found.get("summary")
    said = summary.strip()[:LONGEST_SUMMARY] if isinstance(summary, str) else ""
    return Opinion(verdict, said, findings, dropped=len(given) - len(read) + read.count(None))


def checked(opinion: Opinion, files: Sequence[FileDiff], is_known: Callable[[str], bool]) -> Opinion:
    """The opinion as far as it holds: findings cite lines of the diff, at their true paths; those that cite another
    place of a file that `is_known` become remarks; the rest is dropped. Nor does any text cite a file that is nowhere.

    A request for changes of which nothing is left becomes a comment: nobody could act on it.
    """
    held = [_held(one, files, is_known) for one in opinion.findings]
    kept = [replace(one, text=keep_citations(one.text, is_known)) for one in held if one is not None]
    findings = tuple(one for one in kept if one.line)
    remarks = tuple(one for one in kept if not one.line)
    lowered = opinion.verdict == "request_changes" and not kept
    return Opinion(
        verdict="comment" if lowered else opinion.verdict,
        summary=keep_citations(opinion.summary, is_known),
        findings=findings,
        remarks=remarks,
        dropped=opinion.dropped + held.count(None),
        lowered=lowered,
    )


def _held(finding: Finding, files: Sequence[FileDiff], is_known: Callable[[str], bool]) -> Finding | None:
    given = finding.path.strip().strip("`").removeprefix("#").removeprefix("./")
    spelt = (given, *(given.removeprefix(prefix) for prefix in ("a/", "b/") if given.startswith(prefix)))
    file = next((one for path in spelt for one in files if one.path == path), None)
    lines = file.cited(finding.line, finding.end_line) if file else None
    if file is not None and lines is not None:
        return replace(finding, path=file.path, line=lines[0], end_line=lines[1])
    known = file.path if file is not None else next(filter(is_known, spelt), None)
    return None if known is None else replace(finding, path=known, line=0, end_line=0)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text that are in no other one."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            return
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield found
        at = text.find("{", end)


def _verdict(value: object) -> Verdict | None:
    words = re.findall("[a-z]+", value.lower()) if isinstance(value, str) and len(value) < 50 else []
    return next((verdict for stem, verdict in _WORDS if any(word.startswith(stem) for word in words)), None)


def _finding(value: object) -> Finding | None:
    if not isinstance(value, dict):
        return None
    path, text = value.get("path") or value.get("file"), value.get("text") or value.get("message")
    if not isinstance(path, str) or not isinstance(text, str) or not text.strip():
        return None
    placed = _PLACED.fullmatch(path.strip())
    lines = _lines(value.get("line")) or (_pair(placed[2], placed[3]) if placed else None)
    if lines is None:
        return None
    end = _lines(value.get("end_line")) or lines
    severity = _SEVERITIES.get(str(value.get("severity", "")).lower().strip(), "medium")
    last = max(lines[0], lines[1], end[1])
    return Finding(placed[1] if placed else path.strip(), lines[0], last, text.strip()[:LONGEST_FINDING], severity)


def _lines(value: object) -> tuple[int, int] | None:
    """`12`, `"12"` or `"12-14"`."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value, value
    match = _NUMBERS.match(value) if isinstance(value, str) else None
    return _pair(match[1], match[2]) if match else None


def _pair(first: str, last: str | None) -> tuple[int, int]:
    return int(first), int(last or first)
