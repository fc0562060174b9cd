import io
import threading

from braindex.server.intake import Checked, LineReader, ReadAhead, Replies


def judge(line: bytes | None) -> Checked:
    if line is None:
        return Checked(replies=(b"too long",))
    return Checked(replies=(b"no " + line,)) if line.startswith(b"bad") else Checked(passed=(line,))


def reading(data: bytes, longest: int = 100) -> tuple[io.BufferedReader, list[bytes]]:
    replies: list[bytes] = []
    source = io.BytesIO(data)
    return io.BufferedReader(LineReader(source, judge, replies.append, longest)), replies


def test_good_lines_are_read_in_order_and_bad_ones_answered():
    reader, replies = reading(b"one\nbad 1\ntwo\nbad 2\n")
    assert reader.read() == b"one\ntwo\n\n"
    assert replies == [b"no bad 1", b"no bad 2"]


def test_a_last_line_without_its_end_counts():
    reader, replies = reading(b"one\ntwo")
    assert reader.read() == b"one\ntwo\n"
    assert replies == []


def test_a_line_over_the_limit_is_answered_once_and_the_next_one_is_read():
    reader, replies = reading(b"x" * 300_000 + b"\nok\n" + b"y" * 101, longest=100)
    assert reader.read() == b"ok\n"
    assert replies == [b"too long", b"too long"]
    at_the_limit, _ = reading(b"x" * 100 + b"\n", longest=100)
    assert at_the_limit.readline() == b"x" * 100 + b"\n"


def test_a_long_line_reaches_a_reader_of_small_pieces_whole():
    reader, _ = reading(b"x" * 200_000 + b"\n", longest=1_000_000)
    assert reader.readline() == b"x" * 200_000 + b"\n"


def test_there_is_no_descriptor_to_read_past_the_checks():
    reader, _ = reading(b"")
    try:
        reader.fileno()
    except OSError:
        return
    raise AssertionError


def test_answers_are_written_in_order_and_waited_for():
    written: list[bytes] = []
    replies = Replies(written.append)
    assert replies.drain(0)
    for number in range(100):
        replies.put(b"%d" % number)
    assert replies.drain(60)
    assert written == [b"%d" % number for number in range(100)]


def test_a_client_that_does_not_read_holds_up_neither_the_reader_nor_the_end():
    reads = threading.Event()
    replies = Replies(lambda _: reads.wait(60))
    replies.put(b"1")
    replies.put(b"2")
    assert not replies.drain(0)
    reads.set()
    assert replies.drain(60)


def test_a_client_that_is_gone_ends_the_answers():
    def gone(_: bytes) -> None:
        raise BrokenPipeError

    replies = Replies(gone)
    replies.put(b"1")
    assert replies.drain(60)


class Held(io.RawIOBase):
    """Input in pieces; counts how many were taken. Breaks at its end where it is told to."""

    def __init__(self, pieces: list[bytes], *, breaks: bool = False) -> None:
        super().__init__()
        self._pieces = pieces
        self._breaks = breaks
        self.taken = 0

    def read(self, size: int = -1) -> bytes:  # noqa: ARG002 - the library's signature
        if self.taken == len(self._pieces):
            if self._breaks:
                raise OSError
            return b""
        self.taken += 1
        return self._pieces[self.taken - 1]


def test_the_end_of_input_is_seen_before_what_came_before_it_is_worked_off():
    ended = threading.Event()
    ahead = ReadAhead(Held([b"one\n"] * 100), ended.set)
    assert ended.wait(60)
    assert ahead.read(6) == b"one\non"
    assert ahead.read(1_000) == (b"one\n" * 100)[6:]
    assert ahead.read(1) == b""
    assert ahead.read(1) == b""


def test_a_broken_input_has_ended():
    ended = threading.Event()
    ahead = ReadAhead(Held([b"one"], breaks=True), ended.set)
    assert ended.wait(60)
    assert (ahead.read(9), ahead.read(9)) == (b"one", b"")


def test_no_more_is_read_ahead_than_may_wait():
    ended = threading.Event()
    source = Held([b"x" * 10] * 5)
    ahead = ReadAhead(source, ended.set, most=20)
    got = b""
    while len(got) < 50:
        assert source.taken <= 2 + len(got) // 10 + 1
        got += ahead.read(10)
    assert got == b"x" * 50
    assert ended.wait(60)
