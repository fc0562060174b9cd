"""What tests of the command line share."""

import logging

import pytest


@pytest.fixture(autouse=True)
def restored_logging():
    root = logging.getLogger()
    before, level, own = list(root.handlers), root.level, logging.getLogger("braindex").level
    yield
    for handler in [one for one in root.handlers if one not in before]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)
    logging.getLogger("braindex").setLevel(own)
