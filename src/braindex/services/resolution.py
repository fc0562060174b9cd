"""Which workspace a call means, and which folders a tool call may open.

One order for every surface: the argument, the flag, the environment, the client's roots, the working
directory. A tool call is written by a model that may have read hostile text, so a path in it has to be
vouched for; a path on the command line was typed by the user and is taken as it is.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from braindex.domain.display import argument as shell_argument
from braindex.domain.display import echoed
from braindex.domain.errors import BraindexError
from braindex.domain.names import UnknownWorkspace
from braindex.domain.results import Workspace
from braindex.services.roots import is_text

# What tells a project from a plain folder: version control, our own ignore file, a manifest, an IDE's folder.
PROJECT_MARKERS: Final = frozenset(
    {
        ".git", ".hg", ".svn", ".jj", ".memignore",
        "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile",
        "package.json", "deno.json", "tsconfig.json", "go.mod", "Cargo.toml", "Gemfile", "composer.json",
        "pom.xml", "build.gradle", "build.gradle.kts", "build.sbt", "CMakeLists.txt", "Makefile",
        "Package.swift", "pubspec.yaml", "mix.exs", "flake.nix",
        ".vscode", ".idea", ".cursor", ".zed", ".windsurf", ".fleet",
    }
)  # fmt: skip
PROJECT_MARKER_SUFFIXES: Final = (".sln", ".csproj", ".xcodeproj", ".code-workspace", ".gemspec", ".cabal")

LISTED_AT_MOST: Final = 10  # of the client's roots, in an error


class KnownWorkspaces(Protocol):
    """What the decision needs of the workspaces service."""

    def find(self, reference: str) -> Workspace: ...
    def open(self, path: str | Path) -> Workspace: ...
    def resolve(self, reference: str) -> Workspace: ...
    def checked_root(self, path: str | Path) -> Path: ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a call that names no workspace is judged by.

    `named` are (where it was said, reference) pairs in order of precedence: the flag, then the environment;
    an empty reference counts as unsaid. `roots` are the folders the client has open. `home` is None when
    there is none.
    """

    cwd: Path
    home: Path | None
    named: tuple[tuple[str, str], ...] = ()
    roots: tuple[Path, ...] = ()

    def with_roots(self, roots: Iterable[Path]) -> "Surroundings":
        return replace(self, roots=tuple(dict.fromkeys(roots)))

    @property
    def is_told(self) -> bool:
        """Whether a flag or a variable already names the workspace."""
        return any(reference for _, reference in self.named)


class NoWorkspace(BraindexError):
    """Nothing says which workspace is meant."""

    def __init__(self, cwd: Path) -> None:
        super().__init__(
            f"no workspace is named, and the working directory {echoed(str(cwd))} does not look like a "
            "project (no .git, .memignore, manifest or IDE folder in it, nor in a parent below the home "
            "directory)"
        )


class NothingThere(UnknownWorkspace):
    """A PATH on the command line that is neither there nor the name of a workspace."""

    def __init__(self, path: str) -> None:
        BraindexError.__init__(
            self,
            f"there is no file or folder {echoed(path)} here, and no workspace of that name or id: check the spelling "
            "and the working directory; `braindex workspaces list` names the known workspaces",
        )


class SeveralRoots(BraindexError):
    """The client has several folders open and none of them holds the working directory."""

    def __init__(self, roots: Sequence[Path]) -> None:
        listed = ", ".join(echoed(str(root)) for root in roots[:LISTED_AT_MOST])
        if len(roots) > LISTED_AT_MOST:
            listed += f" and {len(roots) - LISTED_AT_MOST} more"
        super().__init__(f"several folders are open, so say which one is meant with `workspace`: {listed}")


class PathRefused(BraindexError):
    """A tool call named a folder that nothing vouches for."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            f"{echoed(path)} is refused as a workspace: {why}. "
            f"If the user wants it indexed, they can run: braindex scan {shell_argument(path)}"
        )


class NotAPath(BraindexError):
    """What stands for a path cannot be one on this machine."""

    def __init__(self, reference: str, why: str) -> None:
        super().__init__(f"{echoed(reference)} is no path on this machine: {why}; give the absolute path of a folder")


class NamedWorkspaceUnusable(BraindexError):
    """A flag or a variable names a workspace that cannot be used; `said_in` is its name."""

    def __init__(self, said_in: str, error: BraindexError) -> None:
        super().__init__(f"{said_in}: {error}")


def resolve_for_tool(argument: str | None, around: Surroundings, workspaces: KnownWorkspaces) -> Workspace:
    """The workspace a tool call means.

    `argument` is a path (a `file:` URI too), id, short id or name; a relative path starts at the workspace
    that a call without an argument would mean.

    Raises:
        BraindexError: none is named or found, several are meant, or the path is refused.
    """
    reference = (argument or "").strip()
    if not reference:
        return default_workspace(around, workspaces)
    if not names_a_path(reference):
        return _by_name(reference, workspaces)
    path = _absolute_argument(reference, around, workspaces)
    known = _known(path, workspaces)
    return known or workspaces.open(_vouched_for(path, around, workspaces))


def resolve_for_command(
    around: Surroundings, workspaces: KnownWorkspaces, path: str | None = None, reference: str | None = None
) -> Workspace:
    """The workspace a command means: its PATH argument, else its `--workspace`, else the surroundings'.

    A PATH is a folder first, so that `scan api` means the folder `api` even where a workspace has that name.

    Raises:
        BraindexError: as the workspaces service does, and `NoWorkspace`.
    """
    if path:
        folder = _plain_path(path)
        if names_a_path(path) or os.path.exists(folder):
            return workspaces.open(folder)
        try:
            return workspaces.resolve(path)
        except UnknownWorkspace:
            raise NothingThere(path) from None
    if reference:
        return workspaces.resolve(_plain_path(reference) if names_a_path(reference) else reference)
    return default_workspace(around, workspaces)


def needs_roots(argument: str | None, around: Surroundings, workspaces: KnownWorkspaces) -> bool:
    """Whether the client's roots could change the decision: asking for them costs a round trip."""
    reference = (argument or "").strip()
    if not reference:
        return not around.is_told
    if not names_a_path(reference):
        return False
    path = Path(_plain_path(reference))
    return not path.is_absolute() or bool(_elsewhere(path)) or _known(path, workspaces) is None


def default_workspace(around: Surroundings, workspaces: KnownWorkspaces) -> Workspace:
    """What a call without an argument means: flag, environment, roots, working directory, in this order."""
    for said_in, reference in around.named:
        if reference:
            return _named(said_in, reference, around, workspaces)
    if around.roots:
        root = _meant_root(around)
        return _known(root, workspaces) or workspaces.open(_chosen(root, around, workspaces))
    return _of_working_directory(around, workspaces)


def names_a_path(reference: str) -> bool:
    """Whether a reference is a path rather than an id or a name."""
    return reference.startswith((".", "~")) or _is_file_uri(reference) or "/" in reference or "\\" in reference


def home_directory() -> Path | None:
    """The user's home, or None where no variable and no password database names one."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def looks_like_project(folder: Path) -> bool:
    """Whether a folder itself holds version control, `.memignore`, a manifest or an IDE's folder."""
    try:
        names = os.listdir(folder)
    except (OSError, ValueError):
        return False
    return any(name in PROJECT_MARKERS or name.endswith(PROJECT_MARKER_SUFFIXES) for name in names)


def path_of_uri(uri: str) -> Path | None:
    """The folder of a `file:` URI, or None for another scheme, another machine's files and what is malformed."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # brackets that hold no address
        return None
    path = unquote(parts.path)
    # Two slashes at the start of the path name another machine on Windows.
    is_path = path.startswith("/") and not path.startswith("//") and "\0" not in path
    if parts.scheme != "file" or parts.netloc.lower() not in ("", "localhost") or not is_path:
        return None
    # A drive comes as /c:/folder, whatever platform wrote it.
    return Path(path[1:]) if re.match(r"/[A-Za-z]:", path) else Path(path)


def foreign_form(reference: str, *, on_windows: bool) -> str:
    """Why a path, as it is written, leads out of this machine or belongs to another platform; "" when it is fine."""
    if on_windows:
        # Merely looking at such a path has Windows log in to the machine that it names.
        return "it names another machine or a device" if re.match(r"[\\/]{2}", reference) else ""
    return "it is a Windows path" if re.match(r"[A-Za-z]:[\\/]|\\\\", reference) else ""


def _is_file_uri(reference: str) -> bool:
    return reference[:5].lower() == "file:"


def _plain_path(reference: str) -> str:
    """A reference as a path, a URI and `~` resolved. Raises NotAPath."""
    if "\0" in reference:
        raise NotAPath(reference, "it holds a NUL character")
    if not is_text(reference):
        raise NotAPath(reference, "it is not UTF-8 text")
    if not _is_file_uri(reference):
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", reference):
            raise NotAPath(reference, "it is a URI of another kind than file:")
        return os.path.expanduser(reference)
    found = path_of_uri(reference)
    if found is None:
        raise NotAPath(reference, "it is no URI of a file here")
    return str(found)


def _elsewhere(path: str | Path) -> str:
    return foreign_form(str(path), on_windows=os.name == "nt")


def _by_name(reference: str, workspaces: KnownWorkspaces) -> Workspace:
    if not is_text(reference):
        raise UnknownWorkspace(reference)
    return workspaces.find(reference)


def _absolute_argument(reference: str, around: Surroundings, workspaces: KnownWorkspaces) -> Path:
    plain = _plain_path(reference)
    path = Path(plain)
    if ".." in path.parts:
        raise PathRefused(reference, "a path with `..` could lead anywhere; give the absolute path")
    if plain.startswith("~"):
        raise NotAPath(reference, "there is no such user")
    why = _elsewhere(plain)
    if why and not any(_lexically_inside(path, fence) for fence in (*around.roots, around.cwd)):
        raise NotAPath(reference, why)
    return path if path.is_absolute() else Path(default_workspace(around, workspaces).path) / path


def _known(path: Path, workspaces: KnownWorkspaces) -> Workspace | None:
    if not is_text(str(path)):
        return None
    try:
        return workspaces.find(str(path))
    except UnknownWorkspace:
        return None


def _vouched_for(path: Path, around: Surroundings, workspaces: KnownWorkspaces) -> Path:
    """The canonical folder, if a root of the client holds it or it is a project where projects may be."""
    folder = workspaces.checked_root(path)
    roots = [root for root in around.roots if _vouches(root, around.home)]
    _refuse_links_out(path, folder, roots)
    if any(_inside(folder, root) for root in roots):
        return folder
    fences = [fence for fence in (around.cwd, around.home) if fence and _is_fence(fence, around.home)]
    _refuse_links_out(path, folder, fences)
    if any(_is_project_inside(folder, fence, around.home) for fence in fences):
        return folder
    why = "it is no known workspace, in none of the client's folders, and no project where yours may be"
    raise PathRefused(str(path), why)


def _refuse_links_out(path: Path, folder: Path, fences: Iterable[Path]) -> None:
    """A path written as lying below a fence must really lie there."""
    for fence in fences:
        if _lexically_inside(path, fence) and not _inside(folder, fence):
            raise PathRefused(str(path), f"it is a link that leaves {echoed(str(fence))}")


def _is_fence(folder: Path, home: Path | None) -> bool:
    """A folder that holds the home directory, or is the file system's root, encloses too much."""
    if _is_top(folder):
        return False
    return home is None or _same(folder, home) or not _inside(home, folder)


def _vouches(root: Path, home: Path | None) -> bool:
    """Whether a folder that the client has open stands for all that is in it. The home directory does not: a
    client that is started there names it without anyone having chosen it.
    """
    return _is_fence(root, home) and not (home is not None and _same(root, home))


def _is_top(folder: Path) -> bool:
    real = os.path.realpath(folder)
    return os.path.dirname(real) == real


def _is_project_inside(folder: Path, fence: Path, home: Path | None) -> bool:
    """Whether the folder or one of its parents within the fence is a project; the home directory itself is
    none.
    """
    for parent in (folder, *folder.parents):
        if home is not None and _same(parent, home):
            return False
        if looks_like_project(parent) and _inside(parent, fence):
            return True
        if _same(parent, fence):
            return False
    return False


def _named(said_in: str, reference: str, around: Surroundings, workspaces: KnownWorkspaces) -> Workspace:
    target = str(around.cwd / _plain_path(reference)) if names_a_path(reference) else reference
    try:
        return workspaces.resolve(target)
    except BraindexError as error:
        raise NamedWorkspaceUnusable(said_in, error) from error


def _meant_root(around: Surroundings) -> Path:
    """The one root, or the innermost that holds the working directory. The home directory and what holds it,
    which can be no workspace, count only where there is nothing else.
    """
    roots = [root for root in around.roots if _vouches(root, around.home)] or list(around.roots)
    if len(roots) == 1:
        return roots[0]
    holding = [root for root in roots if _inside(around.cwd, root)]
    if not holding:
        raise SeveralRoots(roots)
    return max(holding, key=lambda root: len(root.parts))


def _chosen(root: Path, around: Surroundings, workspaces: KnownWorkspaces) -> Path:
    """The canonical folder of a root, unless it is one that nobody can mean."""
    folder = workspaces.checked_root(root)
    if not _vouches(folder, around.home):
        raise PathRefused(str(folder), "it holds the home directory; name the folder of one project")
    return folder


def _of_working_directory(around: Surroundings, workspaces: KnownWorkspaces) -> Workspace:
    """The nearest known workspace or project from the working directory up.

    A parent outside the home directory counts only when it is a known workspace: anyone may have put a marker
    there.
    """
    for folder in _climb(around):
        known = _known(folder, workspaces)
        if known is not None:
            return known
        own = folder == around.cwd and _is_fence(folder, around.home)
        if (own or (around.home is not None and _inside(folder, around.home))) and looks_like_project(folder):
            return workspaces.open(folder)
    workspaces.checked_root(around.cwd)  # the home directory and `/` have their own error
    raise NoWorkspace(around.cwd)


def _climb(around: Surroundings) -> Iterator[Path]:
    for folder in (around.cwd, *around.cwd.parents):
        if _is_top(folder) or (around.home is not None and _same(folder, around.home)):
            return
        yield folder


def _same(one: Path, other: Path) -> bool:
    """One folder under two spellings (case, normal form, links) is the same folder."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False


def _inside(folder: Path, fence: Path) -> bool:
    resolved = Path(os.path.realpath(folder))
    return any(_same(parent, fence) for parent in (resolved, *resolved.parents))


def _lexically_inside(path: Path, fence: Path) -> bool:
    """Whether a path is written as lying below the fence, under either of the fence's own spellings."""
    return any(path.is_relative_to(spelling) for spelling in (fence, Path(os.path.realpath(fence))))
