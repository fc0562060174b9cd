from braindex.domain.display import argument, echoed, shortened
from braindex.domain.names import AmbiguousWorkspace, UnknownWorkspace
from braindex.domain.results import Workspace


def test_of_a_long_text_both_ends_are_kept():
    text = "begin" + "x" * 1000 + "end"
    cut = shortened(text, 50)
    assert len(cut) == 50
    assert cut.startswith("begin")
    assert cut.endswith("end")
    assert "…" in cut
    assert shortened("x" * 50, 50) == "x" * 50


def test_what_is_echoed_is_one_safe_line():
    assert echoed("a\nb\x1b\ud800") == "a\\nb\\x1b\\ud800"
    assert len(echoed("x" * 100_000)) == 200


def test_a_path_is_an_argument_only_where_a_shell_leaves_it_alone():
    assert argument("/home/u/app") == "/home/u/app"
    assert argument("/home/u/my app") == '"/home/u/my app"'
    assert argument("/x; rm -rf y") == '"/x; rm -rf y"'
    for unsafe in ("/a$(b)", "/a`b`", '/a"b', "/a%TEMP%", "/a\nb", "/" + "p" * 500, "C:\\a b\\"):
        assert argument(unsafe) == "PATH"


def test_errors_about_names_are_bounded():
    many = [Workspace(f"{number:032}", "app", f"/code/{number}/app") for number in range(50)]
    assert "and 40 more" in str(AmbiguousWorkspace("app", many))
    assert len(str(UnknownWorkspace("n" * 100_000))) < 400
