"""What a page says once after a form was taken in. An address names the row, and never the text."""

from typing import Final

NOTICES: Final = {
    "dropped": "The workspace was dropped. Its folder was left as it is.",
    "brief-edited": "The brief was replaced and locked.",
    "brief-made": "The brief was made anew and locked.",
}
