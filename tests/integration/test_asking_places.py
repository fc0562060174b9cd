"""Questions that are a path, a stack trace, an error message, or a name with a slip in it."""

from pathlib import Path

import pytest

from braindex.bootstrap import App
from braindex.domain.results import Question, Source, Workspace

QUEUE = (
    "class QueueFull(Exception):\n    pass\n\n\n"
    "class Queue:\n    def push(self, job):\n        if len(self.jobs) >= self.limit:\n"
    '            raise QueueFull(f"queue {self.name!r} cannot take another job: {self.limit} are waiting")\n'
    "        self.jobs.append(job)\n\n    def pop(self):\n        return self.jobs.pop(0)\n"
)
PROJECT = {
    "src/jobs/queue.py": QUEUE,
    "src/mail/queue.py": "def flush(messages):\n    for message in messages:\n        send(message)\n",
    "src/router.js": "function dispatch(request) {\n  const handler = find(request);\n  return handler(request);\n}\n"
    "function find(request) {\n  throw new Error('no route matches ' + request.url);\n}\n",
    "style.css": ".sidebar { display: none; }\n.content { color: red; }\n",
    "side.py": "def hide_sidebar():\n    return 'the sidebar is hidden'\n",
    "tests/test_queue.py": "def test_a_full_queue_cannot_take_another_job():\n    assert Queue('a', limit=0).push(1)\n",
}


@pytest.fixture
def asked(app: App, make_project):
    root: Path = make_project(PROJECT)
    workspace: Workspace = app.workspaces.open(root)
    app.scans.run(workspace)

    def ask(text: str, **narrowed: str) -> list[Source]:
        return list(app.asking.ask(workspace, Question(text, **narrowed)).sources)  # type: ignore[arg-type]

    return ask


def place(source: Source) -> tuple[str, str, int]:
    return source.path, source.name, source.line


def test_a_path_answers_with_its_file_and_then_what_is_in_it(asked) -> None:
    found = asked("src/jobs/queue.py")
    assert place(found[0]) == ("src/jobs/queue.py", "queue.py", 1)
    assert {"Queue", "QueueFull"} <= {one.name for one in found[:4]}


def test_a_path_with_a_line_answers_with_what_is_on_it(asked) -> None:
    assert place(asked("src/jobs/queue.py:8")[0]) == ("src/jobs/queue.py", "push", 6)
    assert place(asked("queue.py:12 what is this")[0])[1] == "pop"


def test_an_absolute_path_of_another_machine_finds_the_file_here(asked) -> None:
    assert place(asked("/home/someone/work/src/jobs/queue.py:12")[0])[1] == "pop"
    assert asked("/usr/lib/python3/other/queue.py:2")[0].name != "flush"


def test_a_python_trace_finds_the_function_that_raised(asked) -> None:
    trace = (
        'Traceback (most recent call last):\n  File "/srv/app/src/mail/queue.py", line 3, in flush\n    send(message)\n'
        '  File "/srv/app/src/jobs/queue.py", line 8, in push\n    raise QueueFull("…")\n'
        "jobs.queue.QueueFullError: queue 'mail' cannot take another job: 5 are waiting\n"
    )
    found = asked(trace)
    assert [place(one)[:2] for one in found[:2]] == [("src/jobs/queue.py", "push"), ("src/mail/queue.py", "flush")]
    assert "raise QueueFull" in found[0].excerpt


def test_a_frame_whose_line_has_moved_is_found_by_its_function(asked) -> None:
    assert asked('File "src/jobs/queue.py", line 8, in pop')[0].name == "pop"


def test_a_script_trace_finds_its_innermost_frame(asked) -> None:
    trace = "TypeError: handler is not a function\n    at dispatch (/srv/app/src/router.js:3:10)\n    at find (node:internal:1:1)"
    assert place(asked(trace)[0]) == ("src/router.js", "dispatch", 1)


def test_an_error_message_with_its_values_filled_in_finds_where_it_is_raised(asked) -> None:
    found = asked("QueueFullError: queue 'mail' cannot take another job: 5 are waiting")
    assert place(found[0]) == ("src/jobs/queue.py", "push", 6)
    assert "cannot take another job" in found[0].excerpt
    assert place(asked("Error: no route matches /users/7")[0])[1] == "find"


def test_a_frame_in_a_test_is_found_although_tests_are_held_back(asked) -> None:
    trace = 'Traceback (most recent call last):\n  File "tests/test_queue.py", line 2, in test_a_full_queue\nTypeError: wrong number'
    assert asked(trace)[0].path == "tests/test_queue.py"


def test_a_filter_holds_for_places_too(asked) -> None:
    assert {one.path for one in asked("src/jobs/queue.py:8", path="src/mail")} <= {"src/mail/queue.py"}


@pytest.mark.parametrize(
    ("text", "kind", "meant"),
    [
        ("src/jobs/queue.py:8", "class", ("src/jobs/queue.py", "Queue", 5)),
        ("src/jobs/queue.py:8", "method", ("src/jobs/queue.py", "push", 6)),
        ("src/jobs/queue.py:2", "method", ("src/jobs/queue.py", "push", 6)),
        ("what is at src/jobs/queue.py:8?", "class", ("src/jobs/queue.py", "Queue", 5)),
        ("src/jobs/queue.py:8", "file", ("src/jobs/queue.py", "queue.py", 1)),
        ("src/mail/queue.py", "function", ("src/mail/queue.py", "flush", 1)),
        ('File "/srv/src/jobs/queue.py", line 8, in push', "class", ("src/jobs/queue.py", "Queue", 5)),
        ("src/router.js:6", "function", ("src/router.js", "find", 5)),
    ],
)
def test_a_place_is_kept_where_a_kind_is_asked_for(asked, text: str, kind: str, meant: tuple[str, str, int]) -> None:
    found = asked(text, kind=kind)
    assert place(found[0]) == meant
    assert {one.kind for one in found} == {kind}


def test_a_place_is_kept_where_a_language_is_asked_for(asked) -> None:
    assert place(asked("src/jobs/queue.py:8", language="python")[0]) == ("src/jobs/queue.py", "push", 6)
    assert {one.language for one in asked("src/jobs/queue.py:8", language="javascript")} <= {"javascript"}


LONG = "def long(rows):\n" + "".join(f"    step_{number} = rows[{number}] + other_{number}\n" for number in range(900))
SIGNED = (
    "def signed(\n    first,\n"
    + "".join(f"    parameter_{number}=None,\n" for number in range(60))
    + "):\n    return 1\n"
)
CLASSY = (
    "class Classy:\n" + "".join(f"    field_{number} = {number}\n" for number in range(150)) + "    def run(self):\n"
    "        return 1\n\n    late = 2\n"
)


@pytest.mark.parametrize(
    ("text", "number", "line"),
    [
        ("long.py:700", 700, "step_698 = rows[698]"),
        ("long.py:30", 30, "step_28 = rows[28]"),
        ("why does step_3 of rows in long.py:700 fail", 700, "step_698 = rows[698]"),
        ('File "/srv/long.py", line 450, in long\n    x()\nKeyError: rows', 450, "step_448 = rows[448]"),
        ("signed.py:40", 40, "parameter_37=None"),
        ("classy.py:120", 120, "field_118 = 118"),
        ("classy.py:155", 155, "late = 2"),
    ],
)
def test_the_excerpt_of_a_place_holds_the_line_that_was_asked_for(
    app: App, make_project, text: str, number: int, line: str
) -> None:
    root = make_project({"long.py": LONG, "signed.py": SIGNED, "classy.py": CLASSY})
    workspace = app.workspaces.open(root)
    app.scans.run(workspace)
    first, *_ = app.asking.ask(workspace, Question(text)).sources
    assert line in first.excerpt
    assert first.line <= number <= first.end_line


@pytest.mark.parametrize("text", ["flsuh", "where is fluhs defined", "flus", "Queue.psuh", "dispach function"])
def test_a_name_with_a_slip_or_its_beginning_finds_what_was_meant(asked, text: str) -> None:
    assert asked(text)[0].name in {"flush", "push", "dispatch"}


def test_a_name_that_exists_is_taken_as_it_is_written(asked) -> None:
    assert asked("pop")[0].name == "pop"


def test_the_kind_of_thing_asked_for_comes_first(asked) -> None:
    assert asked("which CSS rule hides the sidebar")[0].kind == "rule"
    assert asked("which function hides the sidebar")[0].kind == "function"


def test_initials_find_what_is_called_by_them(app: App, make_project) -> None:
    root = make_project(
        {
            "src/ssg.py": "def build(pages):\n    return [render(page) for page in pages]\n",
            "src/files.py": "def serve_static(path):\n    return read(path)\n",
        }
    )
    workspace = app.workspaces.open(root)
    app.scans.run(workspace)
    answer = app.asking.ask(workspace, Question("how does static site generation work"))
    assert "src/ssg.py" in [one.path for one in answer.sources][:2]
