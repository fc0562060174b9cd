"""The brief's two files: what another user's rights do to them."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from braindex.registry import briefs
from braindex.registry.briefs import BRIEF_FILE, RECORD_FILE, BriefRecord, read_brief, write_brief

CODE = """
import os, sys
from pathlib import Path
from braindex.registry.briefs import BRIEF_FILE, BriefRecord, BriefUnreadable, read_brief, write_brief
os.setgid(65534); os.setuid(65534)
folder = Path(sys.argv[1])
try:
    read_brief(folder)
except BriefUnreadable as failure:
    print(failure)
write_brief(folder, "# New\\n", BriefRecord(""))
print(read_brief(folder).text)
"""


def test_a_brief_that_may_not_be_read_is_told_of_and_moved_aside() -> None:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("needs a second user")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # below the folders of other users
        folder = Path(name)
        folder.chmod(0o777)
        (folder / BRIEF_FILE).write_text("# Not theirs\n")
        (folder / BRIEF_FILE).chmod(0o600)
        source = str(Path(briefs.__file__).parents[2])
        command = [sys.executable, "-c", CODE, name]
        done = subprocess.run(command, env={"PYTHONPATH": source}, check=True, capture_output=True, text=True)
        assert "cannot be read as a brief (Permission denied)" in done.stdout
        assert "# New" in done.stdout
        assert (folder / "brief.md.set-aside-1").read_text() == "# Not theirs\n"


def test_a_record_with_more_files_than_a_reader_takes_is_stored_without_them(tmp_path: Path) -> None:
    files = {f"{'folder/' * 200}{number}.py": "0" * 16 for number in range(12_000)}
    write_brief(tmp_path, "# Large\n", BriefRecord("", files=files))
    stored = read_brief(tmp_path)
    assert stored is not None
    assert (stored.edited, stored.record.files) == (False, {})
    assert (tmp_path / RECORD_FILE).stat().st_size < 1000
