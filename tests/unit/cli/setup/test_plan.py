"""Setting up and removing every client over what its files may hold: out again leaves every byte, twice is once."""

import json
from collections.abc import Sequence
from pathlib import PurePath, PurePosixPath, PureWindowsPath

import pytest

from braindex.cli.setup.jsonc import parse
from braindex.cli.setup.parts import BEGIN, END, Hooks, OwnFile, Section, ServerEntry
from braindex.cli.setup.plan import (
    Chosen,
    ClientFileUnusable,
    FileChange,
    backup_of,
    is_connected,
    removed,
    set_up,
)
from braindex.cli.setup.rows import ROWS, At, ClientRow, Machine, Scope

MACHINES = (
    Machine("linux", {}, PurePosixPath("/home/ann")),
    Machine("darwin", {}, PurePosixPath("/Users/ann")),
    Machine("win32", {"APPDATA": "C:\\Users\\ann\\AppData\\Roaming"}, PureWindowsPath("C:/Users/ann")),
)

JSON = {
    "nothing": b"",
    "blank": b"\n\n",
    "empty object": b"{}",
    "empty object on two lines": b"{\n}\n",
    "other members": b'{\n  "theme": "dark",\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n',
    "an empty object of servers": b'{"mcpServers": {}, "servers": {}, "context_servers": {}, "hooks": {}}',
    "comments": b'// mine\n{\n  // the theme\n  "theme": "dark", // dark\n  /* none yet */\n}\n',
    "trailing commas": b'{\n\t"list": [1, 2,],\n\t"servers": {\n\t\t"other": {},\n\t},\n}\n',
    "CRLF": b'{\r\n    "theme": "dark",\r\n    "hooks": {}\r\n}\r\n',
    "a byte order mark": b'\xef\xbb\xbf{\n  "theme": "dark"\n}',
    "one line": b'{"theme":"dark","hooks":{"Stop":[{"command":"say done"}]}}',
    "other hooks": json.dumps(
        {"version": 1, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}], "stop": []}},
        indent=4,
    ).encode(),
}
MARKDOWN = {
    "nothing": b"",
    "a line": b"# Rules\n",
    "a line without its end": b"# Rules",
    "CRLF": b"# Rules\r\n\r\nBe brief.\r\n",
    "a byte order mark": b"\xef\xbb\xbf# Rules\n\n\n",
}


class Disk:
    """Files by their paths, of whatever platform."""

    def __init__(self) -> None:
        self.files: dict[PurePath, bytes] = {}

    def read(self, path: PurePath) -> bytes | None:
        return self.files.get(path)

    def carry_out(self, changes: Sequence[FileChange]) -> None:
        for one in changes:
            assert self.files.get(one.path) == one.before
            if one.makes_backup and one.before is not None:
                self.files[one.backup] = one.before
            if one.after is None:
                del self.files[one.path]
            else:
                self.files[one.path] = one.after
            if one.drops_backup:
                self.files.pop(one.backup, None)


def chosen(client: ClientRow, machine: Machine, scope: Scope, command: str = "/opt/braindex") -> Chosen:
    return Chosen(client, scope, At(machine, type(machine.home)("/work/shop"), command))


def scoped() -> list[tuple[ClientRow, Scope]]:
    return [(one, "user") for one in ROWS] + [(one, "project") for one in ROWS if one.project is not None]


def filled(one: Chosen, json_text: bytes, markdown: bytes) -> Disk:
    disk = Disk()
    for part in one.parts:
        if isinstance(part, (ServerEntry, Hooks)):
            disk.files[part.path] = json_text
        elif isinstance(part, Section):
            disk.files[part.path] = markdown
    return disk


EVERY = pytest.mark.parametrize(("client", "scope"), scoped(), ids=lambda one: getattr(one, "name", one))
ON_EACH = pytest.mark.parametrize("machine", MACHINES, ids=lambda one: one.platform)


@EVERY
@ON_EACH
@pytest.mark.parametrize("holds", JSON)
def test_removing_restores_every_byte_and_twice_is_once(client, scope, machine, holds):
    one = chosen(client, machine, scope)
    disk = filled(one, JSON[holds], list(MARKDOWN.values())[len(holds) % len(MARKDOWN)])
    before = dict(disk.files)
    disk.carry_out(set_up([one], disk.read))
    assert is_connected(one, disk.read)
    after = dict(disk.files)
    again = set_up([one], disk.read)
    assert {change.action for change in again} == {"keep"}
    disk.carry_out(again)
    assert disk.files == after
    disk.carry_out(removed([one], disk.read))
    assert disk.files == before
    assert removed([one], disk.read) == []


@pytest.mark.parametrize("holds", MARKDOWN)
def test_a_section_of_rules_goes_as_it_came(holds):
    one = chosen(row("claude-code"), MACHINES[0], "project")
    disk = filled(one, b"{}", MARKDOWN[holds])
    before = dict(disk.files)
    disk.carry_out(set_up([one], disk.read))
    text = disk.files[PurePosixPath("/work/shop/CLAUDE.md")]
    assert text.startswith(MARKDOWN[holds])
    assert BEGIN.encode() in text
    assert END.encode() in text
    if holds == "CRLF":
        assert b"\n" not in text.replace(b"\r\n", b"")
    disk.carry_out(removed([one], disk.read))
    assert disk.files == before


@EVERY
@ON_EACH
def test_files_that_setup_made_are_gone_afterwards(client, scope, machine):
    disk, one = Disk(), chosen(client, machine, scope)
    disk.carry_out(set_up([one], disk.read))
    assert disk.files
    disk.carry_out(removed([one], disk.read))
    assert disk.files == {}


@EVERY
def test_another_command_is_put_in_the_place_of_the_old_one(client, scope):
    disk = Disk()
    disk.carry_out(set_up([chosen(client, MACHINES[0], scope, "/old/braindex")], disk.read))
    new = chosen(client, MACHINES[0], scope, "/new/bin/braindex")
    disk.carry_out(set_up([new], disk.read))
    assert not [one for one in disk.files.values() if b"/old/braindex" in one]
    fresh = Disk()
    fresh.carry_out(set_up([new], fresh.read))
    assert disk.files == fresh.files
    disk.carry_out(removed([new], disk.read))
    assert disk.files == {}


@EVERY
@pytest.mark.parametrize("holds", ["other members", "comments", "one line", "other hooks"])
def test_what_was_changed_since_stays_when_it_is_removed(client, scope, holds):
    one = chosen(client, MACHINES[0], scope)
    disk = filled(one, JSON[holds], b"# Rules\n")
    disk.carry_out(set_up([one], disk.read))
    for part in one.parts:
        if isinstance(part, (ServerEntry, Hooks)):
            text = disk.files[part.path].decode()
            disk.files[part.path] = text.replace("{", '{"mine": 1, ', 1).encode()
        elif isinstance(part, Section):
            disk.files[part.path] += b"And this.\n"
    disk.carry_out(removed([one], disk.read))
    for part in one.parts:
        left = disk.files.get(part.path, b"").decode()
        if isinstance(part, (ServerEntry, Hooks)):
            assert parse(left).value["mine"] == 1
            assert "braindex" not in left
            assert not is_connected(one, disk.read)
        elif isinstance(part, Section):
            assert left == "# Rules\nAnd this.\n"
        else:
            assert left == ""


def test_hooks_and_keys_of_others_stay_beside_ours():
    one = chosen(row("claude-code"), MACHINES[0], "project")
    disk = filled(one, JSON["other hooks"], b"")
    disk.carry_out(set_up([one], disk.read))
    stop = parse(disk.files[PurePosixPath("/work/shop/.claude/settings.json")].decode()).value["hooks"]["Stop"]
    assert [handler["command"] for group in stop for handler in group["hooks"]] == [
        "say done",
        "/opt/braindex hook claude-code Stop",
    ]


def test_hooks_that_were_written_by_hand_are_taken_over_and_not_doubled():
    one = chosen(row("claude-code"), MACHINES[0], "project", "braindex")
    path = PurePosixPath("/work/shop/.claude/settings.json")
    disk = Disk()
    by_hand = {"type": "command", "command": "/usr/local/bin/braindex hook claude-code Stop", "timeout": 9}
    other = {"type": "command", "command": "say done"}
    disk.files[path] = json.dumps({"hooks": {"Stop": [{"hooks": [by_hand, other]}]}}).encode()
    disk.carry_out(set_up([one], disk.read))
    stop = parse(disk.files[path].decode()).value["hooks"]["Stop"]
    assert stop == [{"hooks": [{**by_hand, "command": "braindex hook claude-code Stop"}, other]}]
    disk.carry_out(removed([one], disk.read))
    assert parse(disk.files[path].decode()).value == {"hooks": {"Stop": [{"hooks": [other]}]}}


def test_what_a_user_added_to_the_entry_stays():
    one = chosen(row("cline"), MACHINES[0], "user")
    path = one.parts[0].path
    disk = Disk()
    disk.files[path] = b'{"mcpServers": {"braindex": {"command": "old", "autoApprove": ["query_memory"]}}}'
    disk.carry_out(set_up([one], disk.read))
    assert parse(disk.files[path].decode()).value["mcpServers"]["braindex"] == {
        "command": "/opt/braindex", "autoApprove": ["query_memory"], "args": ["serve", "--workspace", "/work/shop"],
    }  # fmt: skip


def test_a_section_stays_while_another_client_goes_by_it():
    both = [chosen(row(name), MACHINES[0], "project") for name in ("pi", "vscode")]
    disk = Disk()
    disk.carry_out(set_up(both, disk.read))
    disk.carry_out(removed(both[:1], disk.read))
    assert PurePosixPath("/work/shop/AGENTS.md") in disk.files
    disk.carry_out(removed(both[1:], disk.read))
    assert disk.files == {}


def test_a_second_backup_is_made_where_the_file_was_changed_since():
    one = chosen(row("zed"), MACHINES[0], "user")
    path = one.parts[0].path
    disk = Disk()
    disk.files[path] = b'{"theme": "dark"}'
    disk.carry_out(set_up([one], disk.read))
    disk.files[path] = disk.files[path].replace(b"dark", b"light")
    edited = disk.files[path]
    disk.carry_out(set_up([chosen(row("zed"), MACHINES[0], "user", "/new/braindex")], disk.read))
    assert disk.files[backup_of(path)] == edited
    disk.carry_out(removed([one], disk.read))
    assert disk.files[path] == b'{"theme": "light"}'


@pytest.mark.parametrize(
    ("holds", "why"),
    [
        (b'{\n  "a": 1\n  "b": 2\n}', "line 3, column 3 is no valid JSON"),
        (b'{"a": "\xff"}', "it is not UTF-8 text"),
        (b'{"a": ' + b"1" * 5000 + b"}", "line 1, column 7 is no valid JSON: a shorter number was expected"),
        (b"[]", "the whole is an array, where an object belongs"),
        (b'{"mcpServers": []}', "`mcpServers` is an array, where an object belongs"),
        (b'{"mcpServers": {"braindex": "x"}}', "`mcpServers.braindex` is a plain value, where an object belongs"),
    ],
)
def test_what_cannot_be_edited_is_named_and_nothing_is_written(holds, why):
    one = chosen(row("claude-desktop"), MACHINES[0], "user")
    disk = filled(one, holds, b"")
    with pytest.raises(ClientFileUnusable, match=f"claude_desktop_config.json was left as it is.*{why}"):
        set_up([one], disk.read)


def test_what_cannot_be_edited_is_of_no_concern_to_removing_where_we_are_not_in_it():
    one = chosen(row("windsurf"), MACHINES[0], "user")
    disk = filled(one, b'{"x" 1}', b"\xff")
    assert removed([one], disk.read) == []


def test_a_path_that_json_cannot_hold_is_refused():
    one = Chosen(row("zed"), "user", At(MACHINES[0], PurePosixPath("/work/a\udcff"), "/opt/braindex"))
    with pytest.raises(ClientFileUnusable, match="not UTF-8"):
        set_up([one], Disk().read)


def test_hooks_of_another_shape_are_named():
    one = chosen(row("gemini"), MACHINES[0], "user")
    disk = filled(one, b'{"hooks": {"AfterAgent": {}}}', b"")
    with pytest.raises(ClientFileUnusable, match=r"`hooks.AfterAgent` is an object, where an array belongs"):
        set_up([one], disk.read)


def test_a_file_under_our_name_that_somebody_else_wrote_is_not_overwritten():
    one = chosen(row("cursor"), MACHINES[0], "project")
    rules = next(part for part in one.parts if isinstance(part, OwnFile))
    disk = Disk()
    disk.files[rules.path] = b"my own rules\n"
    with pytest.raises(ClientFileUnusable, match="was not written by braindex"):
        set_up([one], disk.read)
    assert removed([one], disk.read) == []


def test_a_section_that_is_there_twice_is_once_again_and_goes_at_once():
    one = chosen(row("claude-code"), MACHINES[0], "project")
    path = PurePosixPath("/work/shop/CLAUDE.md")
    old = f"{BEGIN}\nask first\n{END}\n"
    disk = filled(one, b"{}", f"# Rules\n\n{old}\n## More\n\n{old}".encode())
    twice = Disk()
    twice.files = dict(disk.files)
    disk.carry_out(set_up([one], disk.read))
    text = disk.files[path].decode()
    assert text.count(BEGIN) == text.count(END) == 1
    assert text.endswith("\n## More\n")
    assert {change.action for change in set_up([one], disk.read)} == {"keep"}
    for each in (disk, twice):
        each.carry_out(removed([one], each.read))
        assert each.files[path] == b"# Rules\n\n## More\n"


def test_a_section_without_its_end_is_named():
    one = chosen(row("claude-code"), MACHINES[0], "project")
    disk = filled(one, b"{}", f"# Rules\n{BEGIN}\nand more".encode())
    for work in (set_up, removed):
        with pytest.raises(ClientFileUnusable, match="begins in it and does not end"):
            work([one], disk.read)


def row(name: str) -> ClientRow:
    return next(one for one in ROWS if one.name == name)


def test_a_comment_keeps_an_object_that_would_be_empty():
    one = chosen(row("claude-desktop"), MACHINES[0], "user")
    path = one.parts[0].path
    disk = Disk()
    disk.files[path] = b'{"mcpServers": {/* mine */ "braindex": {"command": "old"}}}'
    disk.carry_out(removed([one], disk.read))
    assert disk.files[path] == b'{"mcpServers": {/* mine */}}'


def test_a_member_that_is_there_twice_goes_twice():
    one = chosen(row("claude-desktop"), MACHINES[0], "user")
    path = one.parts[0].path
    disk = Disk()
    disk.files[path] = b'{"mcpServers": {"braindex": {}, "other": {}, "braindex": {}}}'
    disk.carry_out(removed([one], disk.read))
    assert parse(disk.files[path].decode()).value == {"mcpServers": {"other": {}}}


def test_an_entry_of_braindex_that_a_user_wrote_stays_in_the_backup_when_all_of_it_is_taken_out():
    one = chosen(row("claude-code"), MACHINES[0], "project")
    disk = Disk()
    path = PurePosixPath("/work/shop/.mcp.json")
    written = b'{"mcpServers": {"braindex": {"command": "mine"}}, "a": 1}\n'
    disk.files[path] = written
    disk.carry_out(set_up([one], disk.read))
    disk.files[path] = disk.files[path].replace(b'"a": 1', b'"a": 2')
    disk.carry_out(removed([one], disk.read))
    assert b"braindex" not in disk.files[path]
    assert b'"a": 2' in disk.files[path]
    assert disk.files[backup_of(path)] == written


def test_what_a_user_wrote_into_a_file_of_ours_is_kept_beside_it():
    one = chosen(row("cursor"), MACHINES[0], "project")
    disk = Disk()
    disk.carry_out(set_up([one], disk.read))
    path = PurePosixPath("/work/shop/.cursor/rules/braindex.mdc")
    edited = disk.files[path] + b"- mine\n"
    disk.files[path] = edited
    disk.carry_out(set_up([one], disk.read))
    assert b"- mine" not in disk.files[path]
    assert disk.files[backup_of(path)] == edited
    disk.carry_out(removed([one], disk.read))
    assert disk.files == {backup_of(path): edited}
    disk.carry_out(set_up([one], disk.read))
    disk.files[path] = edited
    disk.carry_out(removed([one], disk.read))
    assert disk.files == {backup_of(path): edited}


@pytest.mark.parametrize("original", [None, b"{}", b'{\n  "theme": "dark"\n}\n'])
@pytest.mark.parametrize(
    ("client", "ours", "edited"),
    [
        ("cline", b'"command": ', b'"env": {"BRAIN_DIR": "/d"}, "command": '),
        ("zed", b'"/opt/braindex"', b'"/opt/wrapper"'),
        ("gemini", b'"type": ', b'"timeout": 9, "type": '),
    ],
)
def test_what_a_user_added_to_what_is_ours_lies_beside_the_file_when_it_is_taken_out(client, ours, edited, original):
    one, disk = chosen(row(client), MACHINES[0], "user"), Disk()
    path = one.parts[0].path
    if original is not None:
        disk.files[path] = original
    disk.carry_out(set_up([one], disk.read))
    text = disk.files[path] = disk.files[path].replace(ours, edited, 1)
    disk.carry_out(removed([one], disk.read))
    assert disk.files.pop(path, None) == original
    assert disk.files.pop(backup_of(path)) == text
    assert not disk.files


@pytest.mark.parametrize("original", [None, b"# Mine\n"])
def test_what_a_user_wrote_into_the_section_lies_beside_the_file_when_it_is_taken_out(original):
    one, disk = chosen(row("claude-code"), MACHINES[0], "project"), Disk()
    path = PurePosixPath("/work/shop/CLAUDE.md")
    if original is not None:
        disk.files[path] = original
    disk.carry_out(set_up([one], disk.read))
    text = disk.files[path] = disk.files[path].replace(END.encode(), b"- And this.\n" + END.encode())
    disk.carry_out(removed([one], disk.read))
    assert disk.files.pop(path, None) == original
    assert disk.files == {backup_of(path): text}


@pytest.mark.parametrize(
    "written",
    [
        b'{"mcpServers": {"braindex": {"url": "http://127.0.0.1:9/mcp"}}}',
        b'{"mcpServers": {"braindex": {"command": "python", "args": ["-m", "braindex", "serve"]}}}',
        b'{"mcpServers": {"braindex": null}}',
    ],
)
def test_a_file_that_a_user_wrote_is_kept_beside_where_taking_out_leaves_nothing_of_it(written):
    one, disk = chosen(row("claude-desktop"), MACHINES[0], "user"), Disk()
    path = one.parts[0].path
    disk.files[path] = written
    disk.carry_out(removed([one], disk.read))
    assert disk.files == {backup_of(path): written}


def test_what_is_ours_is_taken_out_beside_what_has_another_shape():
    one, disk = chosen(row("gemini"), MACHINES[0], "user"), Disk()
    path = one.parts[0].path
    written = (
        b'{"mcpServers": {"braindex": {"command": "/opt/braindex", "args": ["serve"]}}, "hooks": {"AfterAgent": {}}}'
    )
    disk.files[path] = written
    disk.carry_out(removed([one], disk.read))
    assert parse(disk.files[path].decode()).value == {"hooks": {"AfterAgent": {}}}
    assert disk.files[backup_of(path)] == written
