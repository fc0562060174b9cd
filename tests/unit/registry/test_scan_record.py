import json
import os
import sys
from pathlib import Path

import pytest

from braindex.domain.results import ScanProgress, ScanSummary, Skipped
from braindex.registry.scan_record import LONGEST, RECORD_FILE, ScanRecord, read_record, write_record

PROGRESS = ScanProgress("parsing", 3, 8, 40)
RECORD = ScanRecord("a1", 4242, "2026-11-01T10:00:00+00:00", PROGRESS)
SUMMARY = ScanSummary("w", 8, 90, 8, 0, 0, (), 1.5, ("the vector index is behind",))


@pytest.mark.parametrize("record", [RECORD, ScanRecord("a1", 1, "", PROGRESS, SUMMARY)])
def test_a_record_is_read_as_it_was_written(tmp_path: Path, record: ScanRecord) -> None:
    assert write_record(tmp_path, record)
    assert read_record(tmp_path) == record
    assert [one.name for one in tmp_path.iterdir()] == [RECORD_FILE]


def test_a_later_record_takes_the_place_of_the_earlier(tmp_path: Path) -> None:
    write_record(tmp_path, ScanRecord("a1", 1, "", PROGRESS, SUMMARY))
    write_record(tmp_path, RECORD)
    assert read_record(tmp_path) == RECORD


def test_what_a_scan_skipped_is_left_to_the_index_and_long_notes_are_cut(tmp_path: Path) -> None:
    summary = ScanSummary("w", 1, 1, 1, 0, 0, (Skipped("x", "y"),) * 9_000, 1.0, ("n" * 9_000, "bad \udce4") * 90)
    write_record(tmp_path, ScanRecord("a1", 1, "", PROGRESS, summary))
    read = read_record(tmp_path)
    assert read is not None
    assert read.summary is not None
    assert read.summary.skipped == ()
    assert read.summary.notes[1] == "bad \udce4"
    assert (tmp_path / RECORD_FILE).stat().st_size < LONGEST


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are POSIX")
def test_a_record_is_for_its_owner_alone(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        write_record(tmp_path, RECORD)
    finally:
        os.umask(mask)
    assert (tmp_path / RECORD_FILE).stat().st_mode & 0o777 == 0o600


def test_where_it_cannot_be_written_nothing_is_made_and_nothing_is_raised(tmp_path: Path) -> None:
    assert not write_record(tmp_path / "dropped", RECORD)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / RECORD_FILE).mkdir()
    assert not write_record(tmp_path, RECORD)
    assert [one.name for one in tmp_path.iterdir()] == [RECORD_FILE]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full device is Linux's")
def test_a_full_disk_costs_the_news_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / f"{RECORD_FILE}.new").symlink_to("/dev/full")
    assert not write_record(tmp_path, RECORD)
    assert read_record(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


GOOD = {"scan": "a1", "pid": 1, "started": "", "phase": "parsing", "files_done": 1, "files_total": 2, "entities": 3}


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "7", '"x"', "{}", "\udcff", "[" * 50_000,
        json.dumps({**GOOD, "pid": "x"}), json.dumps({**GOOD, "files_done": float("inf")}),
        json.dumps({**GOOD, "summary": []}), json.dumps({**GOOD, "summary": {"files": 1}}),
        json.dumps({**GOOD, "phase": "x" * LONGEST}),
    ],
)  # fmt: skip
def test_what_is_no_record_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / RECORD_FILE).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert read_record(tmp_path) is None
