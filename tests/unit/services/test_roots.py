import os
import sys

import pytest

from braindex.domain.errors import BraindexError
from braindex.services.roots import NameNotText, PathMissing, checked_root


@pytest.mark.parametrize("path", ["", "\0", "a\0b", "/" + "p" * 100_000, "~\0/x"])
def test_what_no_folder_is_called_does_not_exist(path):
    with pytest.raises(PathMissing) as caught:
        checked_root(path)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("path", ["\ud800", "~\ud800", "/tmp/\udcff"])
def test_a_name_that_cannot_be_encoded_is_an_expected_error(path):
    with pytest.raises(BraindexError) as caught:
        checked_root(path)
    assert str(caught.value).encode()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems make such a name impossible")
def test_a_folder_whose_real_name_is_no_utf8_is_refused_with_its_reason(tmp_path):
    named = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    os.mkdir(named)
    link = tmp_path / "link"
    os.symlink(named, link)
    for path in (os.fsdecode(named), link):
        with pytest.raises(NameNotText, match="rename"):
            checked_root(path)
