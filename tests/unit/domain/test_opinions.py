"""An engine's answer read, and every citation of it held against the diff."""

import json

import pytest

from braindex.domain.diffs import FileDiff, parse_diff
from braindex.domain.opinions import MOST_FINDINGS, Finding, Opinion, checked, parse_answer

DIFF = parse_diff(
    "diff --git a/src/cart.py b/src/cart.py\n--- a/src/cart.py\n+++ b/src/cart.py\n@@ -10,2 +10,4 @@\n a\n+b\n+c\n d\n"
    "diff --git a/gone.py b/gone.py\ndeleted file mode 100644\n--- a/gone.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n"
)
KNOWN = {"src/cart.py", "gone.py", "src/other.py"}


def answer(verdict: object = "comment", **more: object) -> str:
    return json.dumps({"verdict": verdict, "summary": "Adds b.", "findings": [], **more})


def finding(**more: object) -> dict[str, object]:
    return {"path": "src/cart.py", "line": 11, "severity": "high", "text": "Breaks.", **more}


def read(*findings: object, verdict: str = "comment") -> Opinion:
    found = parse_answer(answer(verdict, findings=list(findings)))
    assert found is not None
    return found


def held(*findings: object, verdict: str = "comment", files: tuple[FileDiff, ...] = DIFF) -> Opinion:
    return checked(read(*findings, verdict=verdict), files, KNOWN.__contains__)


@pytest.mark.parametrize(
    "text",
    [
        answer(findings=[finding()]),
        f"```json\n{answer(findings=[finding()])}\n```",
        f"I looked at {{braces}} and found:\n{answer(findings=[finding()])}\nThat is all.",
        f"{answer('approve')} No: {answer(findings=[finding()])}",
    ],
)
def test_an_answer_is_read_also_in_a_fence_or_in_prose(text):
    found = parse_answer(text)
    assert found == Opinion("comment", "Adds b.", (Finding("src/cart.py", 11, 11, "Breaks.", "high"),))


@pytest.mark.parametrize(
    "text", ["", "LGTM", "{", "[]", '{"verdict": 3}', '{"verdict": "maybe"}', "{" * 50_000, "null"]
)
def test_what_holds_no_verdict_is_no_opinion(text):
    assert parse_answer(text) is None


@pytest.mark.parametrize(
    ("written", "verdict"),
    [
        ("approve", "approve"), ("APPROVED", "approve"), ("Request changes", "request_changes"),
        ("changes-requested", "request_changes"), ("reject", "request_changes"), ("commented", "comment"),
        ("do not approve, request changes", "request_changes"),
    ],
)  # fmt: skip
def test_a_verdict_is_read_in_the_ways_that_engines_write_it(written, verdict):
    found = parse_answer(answer(written))
    assert found is not None
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({"line": 11}, (11, 11)), ({"line": "12"}, (12, 12)), ({"line": "11-13"}, (11, 13)),
        ({"line": 11, "end_line": 12}, (11, 12)), ({"path": "src/cart.py:12", "line": None}, (12, 12)),
        ({"path": "#src/cart.py:11-12", "line": None}, (11, 12)), ({"path": "./src/cart.py"}, (11, 11)),
        ({"path": "b/src/cart.py"}, (11, 11)), ({"line": 11, "end_line": 99}, (11, 13)),
    ],
)  # fmt: skip
def test_a_place_in_the_diff_is_found_however_it_is_written(given, lines):
    (one,) = held(finding(**given)).findings
    assert (one.path, one.line, one.end_line) == ("src/cart.py", *lines)
    assert one.place == f"#src/cart.py:{lines[0]}" + (f"-{lines[1]}" if lines[1] != lines[0] else "")


def test_a_deleted_file_is_cited_by_its_old_lines():
    (one,) = held(finding(path="gone.py", line=2)).findings
    assert one.place == "#gone.py:2"


def test_a_place_that_is_none_of_the_diff_is_lost_and_its_finding_a_remark():
    found = held(finding(line=400), finding(path="src/other.py", line=3, text="The caller breaks."))
    assert found.findings == ()
    assert [(one.path, one.line, one.place) for one in found.remarks] == [
        ("src/cart.py", 0, "src/cart.py"),
        ("src/other.py", 0, "src/other.py"),
    ]
    assert found.remarks[0].as_json()["line"] is None
    assert found.dropped == 0


def test_a_file_that_is_nowhere_and_what_says_nothing_are_dropped_and_counted():
    nothing = [None, "text", {}, finding(text=" "), finding(path=3), finding(line=None), finding(line=True)]
    found = held(*nothing, finding(path="src/invented.py"))
    assert (found.findings, found.remarks, found.dropped) == ((), (), len(nothing) + 1)


def test_prose_cites_no_file_that_is_nowhere():
    found = held(finding(text="As #src/other.py:3 does, and #src/invented.py:9 too."))
    assert found.findings[0].text == "As #src/other.py:3 does, and too."


def test_a_request_of_which_nothing_is_left_is_a_comment():
    found = held(finding(path="nowhere.py"), verdict="request_changes")
    assert (found.verdict, found.lowered) == ("comment", True)
    kept = held(finding(line=400), verdict="request_changes")
    assert (kept.verdict, kept.lowered) == ("request_changes", False)


def test_the_same_finding_counts_once_and_too_many_are_cut():
    assert len(read(finding(), finding()).findings) == 1
    many = read(*(finding(text=f"number {number}") for number in range(MOST_FINDINGS + 7)))
    assert (len(many.findings), many.dropped) == (MOST_FINDINGS, 7)


def test_findings_that_are_no_list_are_none():
    found = parse_answer(answer(findings="none", summary=None))
    assert found == Opinion("comment", "")
