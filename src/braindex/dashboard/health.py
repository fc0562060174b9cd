"""Health: what `braindex doctor` says, with what to do about it."""

from typing import Final

from starlette.responses import Response

from braindex.dashboard.asked import Asked
from braindex.dashboard.desk import Desk, Room, Way
from braindex.domain.health import Check

QUICK: Final = "quick"
FULL: Final = "full"


def shown(desk: Desk, asked: Asked) -> Response:
    """The page at once; its findings when they are asked for, since engines and disks may be slow to answer."""
    wanted = asked.word("checks")
    if wanted not in {QUICK, FULL}:
        return desk.page(asked, "health.html", "health", "Health", found=None, wanted=QUICK)
    found = list(desk.app.doctor().examine(full=wanted == FULL))
    groups, counts = _grouped(found), _counts(found)
    if asked.partial:
        return desk.part(asked, "_checks.html", found=groups, wanted=wanted, counts=counts)
    return desk.page(asked, "health.html", "health", "Health", found=groups, wanted=wanted, counts=counts)


def _grouped(found: list[Check]) -> list[tuple[Check, list[Check]]]:
    """The findings of the installation, then those of each workspace, each group with its first."""
    groups: dict[str, list[Check]] = {}
    for check in found:
        groups.setdefault(check.workspace_id, []).append(check)
    return [(group[0], group) for group in groups.values()]


def _counts(found: list[Check]) -> dict[str, int]:
    return {state: sum(one.state == state for one in found) for state in ("broken", "note", "ok")}


ROOM: Final = Room("health", "Health", (Way("/health", shown),))
