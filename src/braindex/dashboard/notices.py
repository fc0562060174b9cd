"""What a page says once after a form was taken in. An address names the row, and never the text."""

from typing import Final

NOTICES: Final = {
    "dropped": "The workspace was dropped. Its folder was left as it is.",
    "brief-edited": "The brief was replaced and locked.",
    "forgotten": "It was deleted for good.",
    "merged": "The notes were merged into this one.",
    "note-edited": "The note was changed; it is found by its new text from now on.",
    "brief-made": "The brief was made anew and locked.",
}
