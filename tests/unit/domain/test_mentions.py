import pytest

from braindex.domain.mentions import MOST_MENTIONS, Mention, error_shown, is_trace, mentions, shingles

PYTHON_TRACE = (
    "Traceback (most recent call last):\n"
    '  File "/home/me/app/server.py", line 10, in <module>\n    serve()\n'
    '  File "/home/me/app/jobs/queue.py", line 44, in push\n    raise QueueFull(f"queue {name!r} is full")\n'
    "app.jobs.queue.QueueFullError: queue 'mail' is full\n"
)
SCRIPT_TRACE = (
    "TypeError: handler is not a function\n    at Router.dispatch (/srv/app/lib/router.js:31:9)\n"
    "    at async file:///srv/app/lib/server.mjs:7:3\n    at new Server (C:\\app\\lib\\server.ts:1:2)\n"
)


def test_the_innermost_frame_of_a_python_trace_comes_first() -> None:
    assert mentions(PYTHON_TRACE) == (
        Mention("/home/me/app/jobs/queue.py", 44, "push"),
        Mention("/home/me/app/server.py", 10, "module"),
    )


def test_the_innermost_frame_of_a_script_trace_comes_first() -> None:
    assert mentions(SCRIPT_TRACE) == (
        Mention("/srv/app/lib/router.js", 31, "dispatch"),
        Mention("/srv/app/lib/server.mjs", 7),
        Mention("C:/app/lib/server.ts", 1, "Server"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src/app/http.py", Mention("src/app/http.py")),
        ("what does ./src/app/http.py do?", Mention("src/app/http.py")),
        ("http.py:200", Mention("http.py", 200)),
        ("http.py#L20", Mention("http.py", 20)),
        ("src/a.ts(12,5): error TS2345: wrong", Mention("src/a.ts", 12)),
        ("C:\\project\\src\\a.py:3", Mention("C:/project/src/a.py", 3)),
        ("/go/src/x/y.go:12 +0x1d", Mention("/go/src/x/y.go", 12)),
        ("in `docs/user guide.md` and docs/api.md", Mention("guide.md")),
    ],
)
def test_a_path_in_a_question_is_a_place(text: str, expected: Mention) -> None:
    assert mentions(text)[0] == expected


def test_words_are_no_paths() -> None:
    assert mentions("how are sessions closed, and why?") == ()


def test_no_more_places_are_read_than_an_answer_can_show() -> None:
    assert len(mentions("\n".join(f"src/file{number}.py:{number}" for number in range(1, 200)))) == MOST_MENTIONS


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (PYTHON_TRACE, "QueueFullError", "queue 'mail' is full"),
        (SCRIPT_TRACE, "TypeError", "handler is not a function"),
        ("Uncaught RangeError: Invalid array length", "RangeError", "Invalid array length"),
        ("error[E0382]: borrow of moved value", "", "borrow of moved value"),
        ("src/a.ts(12,5): error TS2345: Argument is wrong", "", "Argument is wrong"),
        ("fatal: not a git repository", "", "not a git repository"),
        ("E   ValueError: bad value", "ValueError", "bad value"),
    ],
)
def test_the_message_of_an_error_is_read_without_what_stands_around_it(text: str, name: str, message: str) -> None:
    assert error_shown(text) == (name, message)


@pytest.mark.parametrize("text", ["where is the error handler", "Error handling: how?", "the ErrorHandler class", ""])
def test_a_question_about_errors_shows_none(text: str) -> None:
    assert error_shown(text) == ("", "")
    assert not is_trace(text)


def test_a_trace_is_told_with_and_without_a_message() -> None:
    assert is_trace(PYTHON_TRACE)
    assert is_trace(SCRIPT_TRACE.split("\n", 1)[1])


def test_a_message_is_cut_into_runs_at_what_the_program_filled_in() -> None:
    assert shingles("cannot open 'a b.txt': no such file") == (("cannot", "open"), ("no", "such", "fil"))
    assert shingles("one two three four") == (("one", "two", "thre"), ("two", "thre", "four"))
    assert shingles("42") == ()


@pytest.mark.parametrize(
    "piece", ["a", "a/", "a.", "(", "'", "at ", "Error: ", "aError", 'File "', "1 ", "a.b:1", "\\", "-", "<"]
)
def test_forty_kilobytes_of_anything_are_read_in_linear_time(piece: str) -> None:
    """The mechanism: no pattern may look at a character more than a bounded number of times, which nesting would."""
    text = piece * (40_000 // len(piece))
    assert len(mentions(text)) <= MOST_MENTIONS
    error_shown(text)
    is_trace(text)
    shingles(text[:600])
