import io

from tqdm import tqdm

from braindex.cli.progress import scan_progress, show
from braindex.domain.results import ScanProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_drawn_where_there_is_no_terminal(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with scan_progress("scanning shop") as report:
        assert report is None
    assert stream.getvalue() == ""


def test_a_terminal_gets_a_bar_that_is_cleared_at_the_end(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with scan_progress("scanning shop") as report:
        assert report is not None
        report(ScanProgress("parsing", 3, 8, 40))
    drawn = stream.getvalue()
    assert "scanning shop" in drawn
    assert "3/8" in drawn
    assert "parsing, 40 entities" in drawn
    assert drawn.endswith("\r")


def test_a_bar_follows_a_total_that_is_found_late():
    bar = tqdm(file=io.StringIO())
    show(bar, ScanProgress("walking", 0, 0, 0))
    totals = [bar.total]
    show(bar, ScanProgress("parsing", 2, 5, 10))
    totals.append(bar.total)
    bar.close()
    assert totals == [None, 5]
    assert bar.n == 2
