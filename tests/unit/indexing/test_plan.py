from braindex.domain.units import FileRecord
from braindex.indexing.plan import RACY_NS, Plan, plan
from braindex.indexing.walk import Found

LONG_AGO = 1_000 * RACY_NS
SCANNED = LONG_AGO + 100 * RACY_NS


def record(path: str, *, mtime_ns: int = LONG_AGO, scanned_ns: int = SCANNED) -> FileRecord:
    return FileRecord(path, 1, mtime_ns, b"", "python", scanned_ns)


def planned(found: list[Found], *records: FileRecord, last_scan_ns: int = SCANNED) -> Plan:
    return plan(found, {one.path: one for one in records}, last_scan_ns)


def test_a_file_without_a_record_is_new():
    found = Found("a.py", 1, LONG_AGO)
    assert planned([found]).new == [found]


def test_the_same_size_and_time_long_before_the_scan_is_unchanged():
    result = planned([Found("a.py", 1, LONG_AGO)], record("a.py"))
    assert (result.new, result.suspect, result.unchanged, result.removed) == ([], [], ["a.py"], [])


def test_another_size_or_another_time_is_suspect():
    bigger, older = Found("a.py", 2, LONG_AGO), Found("b.py", 1, LONG_AGO - 1)
    assert planned([bigger, older], record("a.py"), record("b.py")).suspect == [bigger, older]


def test_a_file_touched_within_two_seconds_of_its_reading_is_suspect():
    racy = Found("a.py", 1, LONG_AGO)
    assert planned([racy], record("a.py", scanned_ns=LONG_AGO + RACY_NS - 1)).suspect == [racy]
    assert planned([racy], record("a.py", scanned_ns=LONG_AGO + RACY_NS)).suspect == []


def test_a_file_from_the_future_of_its_reading_is_suspect():
    ahead = Found("a.py", 1, SCANNED + 50 * RACY_NS)
    assert planned([ahead], record("a.py", mtime_ns=ahead.mtime_ns)).suspect == [ahead]


def test_a_file_touched_within_two_seconds_of_the_last_scan_is_suspect_however_old_its_reading():
    found = Found("a.py", 1, LONG_AGO)
    result = planned([found], record("a.py"), last_scan_ns=LONG_AGO + RACY_NS - 1)
    assert result.suspect == [found]


def test_known_files_that_were_not_found_are_removed_in_order():
    result = planned([Found("b.py", 1, LONG_AGO)], record("c.py"), record("b.py"), record("a.py"))
    assert result.removed == ["a.py", "c.py"]
    assert result.unchanged == ["b.py"]


def test_a_renamed_file_is_one_new_and_one_removed():
    renamed = Found("new.py", 1, LONG_AGO)
    result = planned([renamed], record("old.py"))
    assert (result.new, result.removed) == ([renamed], ["old.py"])


def test_a_refused_file_is_not_read_again_until_it_changes():
    refused = FileRecord("a.bin", 1, LONG_AGO, b"", "text", SCANNED, refused="binary")
    assert planned([Found("a.bin", 1, LONG_AGO)], refused).unchanged == ["a.bin"]
    assert planned([Found("a.bin", 2, LONG_AGO)], refused).suspect == [Found("a.bin", 2, LONG_AGO)]


def test_a_file_that_could_not_be_opened_is_tried_again_and_is_not_behind():
    locked = FileRecord("a.py", 1, LONG_AGO, b"", "python", SCANNED, refused="permission denied", again=True)
    result = planned([Found("a.py", 1, LONG_AGO)], locked)
    assert (result.retry, result.suspect, result.unchanged) == ([Found("a.py", 1, LONG_AGO)], [], [])
