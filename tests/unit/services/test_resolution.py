"""Which workspace a call means, decided over a real registry and real folders."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from braindex.domain.errors import BraindexError
from braindex.domain.names import UnknownWorkspace
from braindex.domain.results import Workspace
from braindex.services.resolution import (
    NamedWorkspaceUnusable,
    NotAPath,
    NoWorkspace,
    PathRefused,
    SeveralRoots,
    Surroundings,
    foreign_form,
    looks_like_project,
    needs_roots,
    path_of_uri,
    resolve_for_command,
    resolve_for_tool,
)
from braindex.services.roots import FolderRefused, NotAFolder, PathMissing
from braindex.services.workspaces import Workspaces


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    return folder


@pytest.fixture
def workspaces(tmp_path: Path) -> Workspaces:
    return Workspaces(tmp_path / "brain")


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Makes a folder below the test's own, with markers in it."""

    def make(path: str, *markers: str) -> Path:
        made = tmp_path / path
        made.mkdir(parents=True, exist_ok=True)
        for marker in markers:
            (made / marker).mkdir() if marker.startswith(".") else (made / marker).write_text("")
        return made

    return make


def registered(workspaces: Workspaces, path: Path) -> Workspace:
    workspace = workspaces.open(path)
    workspaces.register(workspace)
    return workspace


def around(cwd: Path, home: Path, *, roots: tuple[Path, ...] = (), **told: str) -> Surroundings:
    names = {"flag": "--workspace", "variable": "BRAIN_WORKSPACE", "claude": "CLAUDE_PROJECT_DIR"}
    return Surroundings(cwd, home, tuple((said_in, told.get(name, "")) for name, said_in in names.items()), roots)


def test_the_order_is_argument_flag_environment_roots_working_directory(workspaces, folder, home):
    made = {name: folder(f"home/{name}", ".git") for name in ("arg", "flag", "variable", "claude", "root", "cwd")}

    def meant(argument: str = "", **kept: str) -> str:
        roots = (made["root"],) if "roots" in kept else ()
        told = {key: str(made[key]) for key in ("flag", "variable", "claude") if key in kept}
        return resolve_for_tool(argument, around(made["cwd"], home, roots=roots, **told), workspaces).name

    assert meant(str(made["arg"]), flag="", variable="", claude="", roots="") == "arg"
    assert meant(flag="", variable="", claude="", roots="") == "flag"
    assert meant(variable="", claude="", roots="") == "variable"
    assert meant(claude="", roots="") == "claude"
    assert meant(roots="") == "root"
    assert meant() == "cwd"


def test_a_known_workspace_is_found_by_id_short_id_name_and_path(workspaces, folder, home):
    known = registered(workspaces, folder("far/away"))
    here = around(folder("home/cwd"), home)
    for reference in (known.id, known.id[:8], "away", known.path, f"file://{known.path}"):
        assert resolve_for_tool(reference, here, workspaces) == known


def test_an_unknown_name_is_an_error_and_never_a_folder(workspaces, folder, home):
    cwd = folder("home/cwd", ".git")
    folder("home/cwd/src")
    with pytest.raises(UnknownWorkspace):
        resolve_for_tool("src", around(cwd, home), workspaces)


def test_a_relative_path_starts_at_the_workspace_the_client_has_open(workspaces, folder, home):
    root = folder("repo")
    part = folder("repo/packages/a")
    here = around(folder("home/cwd"), home, roots=(root,))
    assert resolve_for_tool("./packages/a", here, workspaces).path == str(part)
    assert resolve_for_tool(".", here, workspaces).path == str(root)


def test_a_folder_in_a_root_of_the_client_is_allowed(workspaces, folder, home):
    inner = folder("repo/inner")
    assert resolve_for_tool(str(inner), around(home, home, roots=(folder("repo"),)), workspaces).path == str(inner)


def test_a_project_below_the_home_or_the_working_directory_is_allowed(workspaces, folder, home):
    own = folder("home/code/own", "package.json")
    other = folder("mount/other", ".git")
    here = around(folder("mount"), home)
    assert resolve_for_tool(str(own), here, workspaces).path == str(own)
    assert resolve_for_tool(str(other), here, workspaces).path == str(other)


def test_a_plain_folder_of_the_home_directory_is_refused(workspaces, folder, home):
    secrets = folder("home/.ssh")
    with pytest.raises(PathRefused, match="braindex scan"):
        resolve_for_tool(str(secrets), around(folder("home/cwd", ".git"), home), workspaces)


def test_a_marker_in_the_home_directory_vouches_for_nothing_below_it(workspaces, folder, home):
    folder("home", ".git")
    downloads = folder("home/Downloads")
    with pytest.raises(PathRefused):
        resolve_for_tool(str(downloads), around(home, home), workspaces)
    with pytest.raises(NoWorkspace):
        resolve_for_tool("", around(downloads, home), workspaces)


@pytest.mark.parametrize("path", ["/etc", "/etc/ssl", "..", "../..", "src/../..", "/tmp/../etc"])
def test_paths_out_of_everything_are_refused(workspaces, folder, home, path):
    if not Path("/etc").is_dir() and path.startswith("/"):
        pytest.skip("no /etc on this platform")
    here = around(folder("home/cwd", ".git"), home)
    with pytest.raises(PathRefused):
        resolve_for_tool(path, here, workspaces)


def test_a_working_directory_that_holds_the_home_vouches_for_nothing(workspaces, folder, home, tmp_path):
    checkout = folder("etckeeper", ".git")
    for cwd in (Path(tmp_path.anchor), tmp_path):
        with pytest.raises(PathRefused):
            resolve_for_tool(str(checkout), around(cwd, home), workspaces)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_that_leaves_a_root_is_refused_even_to_a_project(workspaces, folder, home):
    root = folder("home/repo", ".git")
    secret = folder("home/secret", ".git")
    (root / "docs").symlink_to(secret)
    for here in (around(home, home, roots=(root,)), around(root, home)):
        with pytest.raises(PathRefused, match="link"):
            resolve_for_tool(str(root / "docs"), here, workspaces)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_root_that_is_itself_reached_through_a_link_is_no_way_out(workspaces, folder, home, tmp_path):
    real = folder("disk/repo")
    inner = folder("disk/repo/inner")
    (tmp_path / "link").symlink_to(real)
    here = around(home, home, roots=(tmp_path / "link",))
    assert resolve_for_tool(str(tmp_path / "link" / "inner"), here, workspaces).path == str(inner)
    assert resolve_for_tool("", here, workspaces).path == str(real)


def test_the_home_directory_and_the_root_are_never_a_workspace(workspaces, home):
    root = Path(home.anchor)
    for here in (around(home, home), around(root, home), around(root, home, roots=(home,))):
        with pytest.raises(FolderRefused):
            resolve_for_tool("", here, workspaces)
    for path in (str(home), str(root)):
        with pytest.raises(FolderRefused):
            resolve_for_tool(path, around(root, home, roots=(home,)), workspaces)
        with pytest.raises(FolderRefused):
            resolve_for_command(around(root, home), workspaces, path=path)


def test_a_missing_folder_and_a_file_have_their_own_errors(workspaces, folder, home):
    root = folder("repo", "pyproject.toml")
    here = around(home, home, roots=(root,))
    with pytest.raises(PathMissing):
        resolve_for_tool(str(root / "gone"), here, workspaces)
    with pytest.raises(NotAFolder):
        resolve_for_tool(str(root / "pyproject.toml"), here, workspaces)


def test_of_several_roots_the_innermost_that_holds_the_working_directory_is_meant(workspaces, folder, home):
    outer, inner, other = folder("repo"), folder("repo/app"), folder("other")
    here = around(folder("repo/app/src"), home, roots=(outer, inner, other))
    assert resolve_for_tool("", here, workspaces).path == str(inner)


def test_several_roots_without_a_hint_are_listed(workspaces, folder, home):
    with pytest.raises(SeveralRoots) as caught:
        resolve_for_tool("", around(home, home, roots=(folder("one"), folder("two"))), workspaces)
    assert "one" in str(caught.value)
    assert "two" in str(caught.value)


def test_the_working_directory_of_a_project_below_home_means_the_project(workspaces, folder, home):
    project = folder("home/code/app", "go.mod")
    assert resolve_for_tool("", around(folder("home/code/app/cmd/x"), home), workspaces).path == str(project)


def test_a_marker_above_a_folder_outside_of_home_is_not_trusted(workspaces, folder, home):
    planted = folder("shared", ".git")
    inner = folder("shared/plain")
    with pytest.raises(NoWorkspace):
        resolve_for_tool("", around(inner, home), workspaces)
    assert resolve_for_tool("", around(planted, home), workspaces).path == str(planted)


def test_a_known_workspace_around_the_working_directory_is_meant_wherever_it_is(workspaces, folder, home):
    known = registered(workspaces, folder("mount/plain"))
    assert resolve_for_tool("", around(folder("mount/plain/deep/er"), home), workspaces) == known


def test_a_nameless_folder_without_markers_is_an_error_that_says_what_to_do(workspaces, folder, home):
    with pytest.raises(NoWorkspace, match="no workspace is named"):
        resolve_for_tool(None, around(folder("plain"), home), workspaces)


def test_a_variable_that_names_nothing_is_an_error_with_its_name(workspaces, folder, home):
    here = around(folder("home/cwd", ".git"), home, variable="/no/such/folder")
    with pytest.raises(NamedWorkspaceUnusable, match=r"BRAIN_WORKSPACE: .*does not exist"):
        resolve_for_tool("", here, workspaces)


def test_a_relative_flag_starts_at_the_working_directory(workspaces, folder, home):
    app = folder("plain/app")
    assert resolve_for_tool("", around(folder("plain"), home, flag="./app"), workspaces).path == str(app)


def test_roots_are_needed_only_where_they_could_change_the_decision(workspaces, folder, home):
    known = registered(workspaces, folder("known"))
    cwd = folder("home/cwd", ".git")
    untold, told = around(cwd, home), around(cwd, home, flag="known")
    assert needs_roots(None, untold, workspaces)
    assert needs_roots(str(folder("new")), untold, workspaces)
    assert needs_roots("./part", untold, workspaces)
    assert not needs_roots("", told, workspaces)
    assert not needs_roots("known", untold, workspaces)
    assert not needs_roots(known.path, untold, workspaces)


def test_on_the_command_line_any_explicit_folder_will_do(workspaces, folder, home, monkeypatch):
    plain = folder("plain")
    here = around(folder("elsewhere"), home)
    assert resolve_for_command(here, workspaces, path=str(plain)).path == str(plain)
    monkeypatch.chdir(plain.parent)
    assert resolve_for_command(here, workspaces, path="plain").path == str(plain)
    assert resolve_for_command(here, workspaces, path="plain/../plain").path == str(plain)


def test_on_the_command_line_a_folder_goes_before_a_name_and_a_name_still_works(workspaces, folder, home, monkeypatch):
    named = registered(workspaces, folder("far/api"))
    here = around(folder("plain"), home)
    assert resolve_for_command(here, workspaces, path="api") == named
    assert resolve_for_command(here, workspaces, reference=named.id[:8]) == named
    local = folder("plain/api")
    monkeypatch.chdir(local.parent)
    assert resolve_for_command(here, workspaces, path="api").path == str(local)


def test_on_the_command_line_a_wrong_name_is_an_error(workspaces, folder, home):
    with pytest.raises(BraindexError, match="nowhere"):
        resolve_for_command(around(folder("plain"), home), workspaces, path="nowhere")


@pytest.mark.parametrize("marker", [".git", ".memignore", "Cargo.toml", "app.sln", ".vscode", "package.json"])
def test_version_control_a_manifest_or_an_ide_folder_makes_a_project(folder, marker):
    assert looks_like_project(folder("here", marker))


def test_a_folder_of_documents_is_no_project(folder, tmp_path):
    assert not looks_like_project(folder("documents", "letter.txt"))
    assert not looks_like_project(tmp_path / "missing")


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///home/u/app", "/home/u/app"),
        ("file:///home/u/Ativa%C3%A7%C3%A3o%20b", "/home/u/Ativação b"),
        ("file://localhost/srv/app", "/srv/app"),
        ("file:///c%3A/Users/u/app", "c:/Users/u/app"),
        ("file:///C:/Users/u/app", "C:/Users/u/app"),
    ],
)
def test_a_file_uri_is_read_as_the_path_it_means(uri, path):
    assert path_of_uri(uri) == Path(path)


@pytest.mark.parametrize("uri", ["https://example.com/app", "file://server/share", "vscode-remote://ssh/app"])
def test_a_uri_of_another_scheme_or_machine_is_no_path(uri):
    assert path_of_uri(uri) is None


@pytest.mark.parametrize(
    "uri",
    [
        "file://[", "file://]x/[", "file:", "file://", "file:relative", "file:///a%00b", "file://~/x",
        "file:////server/share", "file://127.0.0.1/x",
    ],
)  # fmt: skip
def test_a_malformed_uri_is_no_path(uri, workspaces, folder, home):
    assert path_of_uri(uri) is None
    here = around(folder("home/cwd", ".git"), home)
    for resolve in (
        lambda: resolve_for_tool(uri, here, workspaces),
        lambda: needs_roots(uri, here, workspaces),
        lambda: resolve_for_command(here, workspaces, path=uri),
        lambda: resolve_for_command(here, workspaces, reference=uri),
    ):
        with pytest.raises(NotAPath, match="no URI of a file"):
            resolve()


@pytest.mark.parametrize("path", ["a/\0", "~\0", "/a\0b/c", "https://example.com/app", "~no-such-user-anywhere/x"])
def test_what_cannot_be_a_path_is_an_error_that_says_so(workspaces, folder, home, path):
    with pytest.raises(NotAPath):
        resolve_for_tool(path, around(folder("home/cwd", ".git"), home), workspaces)


UNNAMEABLE = ("\ud800", "/\ud800/x", "./\udcff", "~\ud800", "n" * 100_000, "/" + "p" * 100_000, "a\0b", "/a\0b")


@pytest.mark.parametrize("reference", UNNAMEABLE, ids=range(len(UNNAMEABLE)))
def test_what_nothing_can_be_named_is_an_expected_error_of_bounded_length(workspaces, folder, home, reference):
    here = around(folder("home/cwd", ".git"), home)
    ways: tuple[Callable[[], Workspace], ...] = (
        lambda: resolve_for_tool(reference, here, workspaces),
        lambda: resolve_for_command(here, workspaces, path=reference),
        lambda: resolve_for_command(here, workspaces, reference=reference),
        lambda: resolve_for_tool("", around(here.cwd, home, variable=reference), workspaces),
    )
    for resolve in ways:
        with pytest.raises(BraindexError) as caught:
            resolve()
        assert len(str(caught.value)) < 600
        assert str(caught.value).encode()


@pytest.mark.parametrize(
    ("reference", "on_windows", "fine"),
    [
        ("C:\\app", False, False), ("c:/app", False, False), ("\\\\server\\share", False, False), ("/c:/x", False, True),
        ("C:\\app", True, True), ("\\\\server\\share", True, False), ("//server/share", True, False),
        ("\\\\.\\COM1", True, False), ("\\\\?\\C:\\app", True, False), ("a\\b", True, True), ("a\\b", False, True),
    ],
)  # fmt: skip
def test_a_path_of_another_platform_or_machine_is_told_by_its_form(reference, on_windows, fine):
    assert (foreign_form(reference, on_windows=on_windows) == "") is fine


@pytest.mark.skipif(sys.platform == "win32", reason="drives are paths there")
@pytest.mark.parametrize("path", ["C:\\app", "C:/app", "file:///c:/app", "\\\\server\\share"])
def test_a_windows_path_elsewhere_is_an_error_and_no_folder_of_the_workspace(workspaces, folder, home, path):
    with pytest.raises(NotAPath, match="Windows"):
        resolve_for_tool(path, around(folder("home/cwd", ".git"), home), workspaces)


def test_a_root_that_is_the_top_the_home_or_holds_it_vouches_for_nothing(workspaces, folder, home, tmp_path):
    plain, secrets, project = folder("plain"), folder("home/.ssh"), folder("home/app", ".git")
    cwd = folder("home/cwd", ".git")
    top = Path(tmp_path.anchor)
    for root in (top, tmp_path, home, tmp_path / "plain" / ".." / "home", Path(f"{tmp_path}/plain/..")):
        here = around(cwd, home, roots=(root,))
        for refused in (plain, secrets):
            with pytest.raises(PathRefused):
                resolve_for_tool(str(refused), here, workspaces)
        assert resolve_for_tool(str(project), here, workspaces).path == str(project)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_root_that_is_a_link_to_the_home_or_the_top_vouches_for_nothing(workspaces, folder, home, tmp_path):
    secrets = folder("home/.ssh")
    for name, target in (("to-home", home), ("to-top", Path(tmp_path.anchor))):
        link = tmp_path / name
        link.symlink_to(target)
        for here in (around(home, home, roots=(link,)), around(link, home)):
            with pytest.raises(PathRefused):
                resolve_for_tool(str(secrets), here, workspaces)
            with pytest.raises(BraindexError):
                resolve_for_tool("", here, workspaces)


def test_the_home_and_the_top_are_refused_wherever_they_are_named(workspaces, folder, home):
    cwd, top = folder("home/cwd", ".git"), home.anchor
    for told in ({"flag": "~"}, {"flag": str(home)}, {"variable": top}, {"claude": top}, {"claude": home.as_uri()}):
        with pytest.raises(NamedWorkspaceUnusable, match="never indexed"):
            resolve_for_tool("", around(cwd, home, **told), workspaces)


def test_a_folder_that_holds_the_home_is_not_taken_for_a_workspace_by_itself(workspaces, folder, home, tmp_path):
    folder(".", ".git")
    for here in (around(tmp_path, home), around(home, home, roots=(tmp_path,))):
        with pytest.raises(BraindexError):
            resolve_for_tool("", here, workspaces)


def test_beside_a_project_an_open_home_directory_does_not_count(workspaces, folder, home):
    app = folder("home/app")
    here = around(folder("home/elsewhere"), home, roots=(home, app, Path(home.anchor)))
    assert resolve_for_tool("", here, workspaces).path == str(app)


def test_of_very_many_roots_only_some_are_listed(workspaces, folder, home):
    roots = tuple(folder(f"root{number}") for number in range(30))
    with pytest.raises(SeveralRoots, match="and 20 more"):
        resolve_for_tool("", around(home, home, roots=roots), workspaces)


@pytest.mark.skipif(sys.platform == "win32", reason="such names are no file names there")
def test_the_command_that_a_refusal_suggests_can_be_pasted(workspaces, folder, home):
    here = around(folder("home/cwd", ".git"), home)
    for name, suggested in (("a b", '"{}"'), ("x; rm -rf y", '"{}"'), ("x$(date)", "PATH")):
        plain = folder(name)
        with pytest.raises(PathRefused) as caught:
            resolve_for_tool(str(plain), here, workspaces)
        assert str(caught.value).endswith("braindex scan " + suggested.format(plain))
