import threading

from braindex.server.leaving import BACKLOG_SECONDS, DEADLINE_SECONDS, STOP_SECONDS, Leaving


def test_the_services_are_stopped_before_the_process_leaves():
    order: list[object] = []
    left = Leaving(lambda: order.append("stopped"), order.append)
    left.now(0)
    assert order[:2] == ["stopped", 0]


def test_services_that_do_not_stop_are_left_behind():
    stuck, left = threading.Event(), threading.Event()
    codes: list[int] = []

    def leave(code: int) -> None:
        codes.append(code)
        left.set()

    def never_stops() -> None:
        stuck.wait()

    Leaving(never_stops, leave).now(130)
    assert left.is_set()
    assert codes[0] == 130
    stuck.set()


def test_an_orderly_way_that_gets_stuck_is_cut_short_by_the_deadline():
    left = threading.Event()
    Leaving(lambda: None, lambda _: left.set()).within_deadline(0)
    assert left.wait(60)


def test_after_the_end_of_input_the_services_are_stopped_and_the_process_leaves():
    order: list[object] = []
    left = threading.Event()

    def leave(code: int) -> None:
        order.append(code)
        left.set()

    Leaving(lambda: order.append("stopped"), leave).after_input()
    assert left.wait(60)
    assert order[:2] == ["stopped", 0]


def test_the_whole_way_out_takes_less_than_the_second_that_is_promised():
    assert STOP_SECONDS < DEADLINE_SECONDS < 1
    assert BACKLOG_SECONDS < DEADLINE_SECONDS
