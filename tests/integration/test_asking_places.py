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
        return list(app.asking.ask(workspace, Question(text, path=narrowed.get("path"))).sources)

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
