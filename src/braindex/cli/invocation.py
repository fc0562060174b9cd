"""What a command is, and what it is given when it runs."""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from braindex.config import Settings
from braindex.domain.display import argument, echoed
from braindex.domain.errors import BraindexError, UsageError
from braindex.domain.names import UnknownWorkspace
from braindex.domain.results import Workspace
from braindex.indexing.own_data import OwnFolders
from braindex.services.resolution import (
    KnownWorkspaces,
    NoWorkspace,
    Surroundings,
    home_directory,
    names_a_path,
    resolve_for_command,
)

if TYPE_CHECKING:
    from braindex.bootstrap import App


# Stands for a working directory that is gone: nothing is there, and nothing can come to be there.
NOWHERE: Final = Path(os.devnull) / "nowhere"


_PATH_ARGUMENTS: Final = ("path_argument", "workspace", "reference", "old", "new")


class NoWorkingDirectory(BraindexError):
    def __init__(self) -> None:
        super().__init__("the working directory no longer exists; change to another folder, or name what is meant")


class NoWorkspaceHere(NoWorkspace):
    """On the command line any folder may be made a workspace by naming it."""

    def __init__(self, cwd: Path, home: Path | None) -> None:
        below_home = home is not None and cwd != home and cwd.is_relative_to(home)
        parents = ", nor in a parent below the home directory" if below_home else ""
        BraindexError.__init__(
            self,
            f"no workspace is named, and the working directory {echoed(str(cwd))} does not look like a project (no "
            f".git, .memignore, manifest or IDE folder in it{parents}). `braindex scan {argument(str(cwd))}` makes it "
            "a workspace as it is; `--workspace` names another one, by its path, id or name",
        )


class WorkspaceNamedTwice(UsageError):
    def __init__(self) -> None:
        super().__init__("give the workspace as PATH or with --workspace, not both")


class Invocation:
    """One run of a command: its arguments and surroundings, and the services, built when first needed."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        settings: Settings,
        environ: Mapping[str, str],
        cwd: Path | None,
        log_path: str = "",
    ) -> None:
        """`cwd` is None where the working directory was deleted."""
        self.arguments = arguments
        self.settings = settings
        self.environ = environ
        self._cwd = cwd
        self.log_path = log_path

    @property
    def cwd(self) -> Path:
        """Raises NoWorkingDirectory."""
        if self._cwd is None:
            raise NoWorkingDirectory
        return self._cwd

    @property
    def cwd_if_any(self) -> Path | None:
        """The working directory, None where it is gone."""
        return self._cwd

    def place(self, *references: str | None) -> Path:
        """The working directory, or NOWHERE where it is gone and one of these, or BRAIN_WORKSPACE, names a workspace
        without it. Raises NoWorkingDirectory.
        """
        named = [one for one in (*references, self.settings.brain_workspace) if one]
        return NOWHERE if self._cwd is None and named and not is_relative_path(named[0]) else self.cwd

    def check_paths(self) -> None:
        """Raises NoWorkingDirectory for an argument that only a working directory gives a meaning."""
        given = (getattr(self.arguments, name, None) for name in _PATH_ARGUMENTS)
        if self._cwd is None and any(is_relative_path(one) for one in given if one):
            raise NoWorkingDirectory

    @cached_property
    def app(self) -> "App":
        from braindex.bootstrap import build_app  # noqa: PLC0415 - --help and the start of a server need none of it

        return build_app(self.settings)

    def close(self) -> None:
        if "app" in self.__dict__:
            self.app.close()

    def workspace(self) -> Workspace:
        """The workspace that PATH, `--workspace` or the surroundings name.

        Raises:
            UsageError: it is given twice.
            BraindexError: none is named or found, or the folder cannot be one.
        """
        return self._resolved(self.app.workspaces)

    def folder(self) -> Path:
        """The folder of that workspace, found without registering it.

        Raises:
            As `workspace` does.
        """
        has_registry = os.path.exists(self.settings.brain_dir / "registry.db")
        workspaces = Unregistered(self.app.workspaces, has_registry=has_registry)
        return Path(self._resolved(workspaces).path)

    def _resolved(self, workspaces: KnownWorkspaces) -> Workspace:
        path = getattr(self.arguments, "path_argument", None)
        reference = self.arguments.workspace
        if path and reference:
            raise WorkspaceNamedTwice
        named = (("BRAIN_WORKSPACE", self.settings.brain_workspace),)
        around = Surroundings(self.place(path, reference), home_directory(), named)
        try:
            found = resolve_for_command(around, workspaces, path=path, reference=reference)
        except NoWorkspace:
            raise NoWorkspaceHere(around.cwd, around.home) from None
        # Here, since a scan makes its workspace known before it walks.
        OwnFolders((self.settings.brain_dir,)).refuse(found.path)
        return found


def is_relative_path(reference: str) -> bool:
    """Whether what names a workspace is written as a path from the working directory; `api` may be a name as well."""
    return names_a_path(reference) and "://" not in reference and not os.path.isabs(os.path.expanduser(reference))


class Unregistered:
    """Folders taken as they are, for a command that stores nothing; an id or a name needs the registry."""

    def __init__(self, workspaces: KnownWorkspaces, *, has_registry: bool) -> None:
        self._workspaces = workspaces
        self._has_registry = has_registry

    def checked_root(self, path: str | Path) -> Path:
        return self._workspaces.checked_root(path)

    def open(self, path: str | Path) -> Workspace:
        root = self.checked_root(path)
        return Workspace("", root.name, str(root))

    def find(self, reference: str) -> Workspace:
        """Only an existing registry is asked: opening it would create it."""
        if not self._has_registry:
            raise UnknownWorkspace(reference)
        return self._workspaces.find(reference)

    def resolve(self, reference: str) -> Workspace:
        is_folder = names_a_path(reference) or os.path.isdir(reference)  # Path.is_dir raises for a long name
        return self.open(reference) if is_folder else self.find(reference)


@dataclass(frozen=True, slots=True)
class Mistaken:
    """A run of a command whose settings are mistaken: what is left to go by. `cwd` is as an invocation's."""

    arguments: argparse.Namespace
    environ: Mapping[str, str]
    cwd: Path | None
    mistakes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Command:
    """A row of the table of commands. `logs_from` is the level from which its run is logged; `mistaken` is what is run
    instead where the settings are, for a command that has something to say then.
    """

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Invocation], int]
    logs_from: int
    mistaken: Callable[[Mistaken], int] | None = None


def add_workspace_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace",
        metavar="W",
        help="the workspace: a path, an id or a name (default: the working directory's)",
    )


def add_workspace_arguments(
    parser: argparse.ArgumentParser, path: str = "the workspace's folder (default: the working directory's)"
) -> None:
    """`path` is what PATH may name."""
    parser.add_argument("path_argument", nargs="?", metavar="PATH", help=path)
    add_workspace_option(parser)


def add_json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
