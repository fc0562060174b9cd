from braindex.dashboard.access import LINK_SECONDS, MOST_LINKS, MOST_SESSIONS, Access


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_link_opens_one_session_and_is_spent() -> None:
    access = Access(8000)
    token = access.link()
    cookie = access.enter(token)
    assert cookie is not None
    assert access.session(cookie) is not None
    assert access.enter(token) is None


def test_a_link_that_nobody_used_for_long_is_worth_nothing() -> None:
    clock = Clock()
    access = Access(8000, clock)
    early, late = access.link(), access.link()
    clock.now = LINK_SECONDS
    assert access.enter(early) is not None
    clock.now = LINK_SECONDS + 1
    assert access.enter(late) is None


def test_a_token_that_was_guessed_opens_nothing() -> None:
    access = Access(8000)
    access.link()
    assert access.enter("") is None
    assert access.enter("A" * 43) is None
    assert access.enter("\ud800") is None


def test_a_cookie_is_no_link_and_a_link_is_no_cookie() -> None:
    access = Access(8000)
    token = access.link()
    assert access.session(token) is None
    cookie = access.enter(token)
    assert cookie is not None
    assert access.enter(cookie) is None


def test_each_session_has_its_own_token_for_forms() -> None:
    access = Access(8000)
    sessions = [access.session(access.enter(access.link()) or "") for _ in range(2)]
    assert sessions[0] is not None
    assert sessions[1] is not None
    assert sessions[0].csrf != sessions[1].csrf


def test_dashboards_on_several_ports_have_cookies_of_several_names() -> None:
    assert Access(8000).cookie != Access(8001).cookie


def test_what_is_kept_is_bounded_and_the_oldest_goes() -> None:
    access = Access(8000)
    first_link = access.link()
    links = [access.link() for _ in range(MOST_LINKS)]
    assert access.enter(first_link) is None
    first = access.enter(links[0])
    cookies = [access.enter(access.link()) for _ in range(MOST_SESSIONS)]
    assert access.session(first or "") is None
    assert all(access.session(one or "") for one in cookies)
