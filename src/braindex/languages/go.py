"""Go: functions, methods by their receiver's type, types, and the constants and variables of a package."""

import re
from typing import Final

from braindex.languages.spec import LanguageSpec, Restart

GO: Final = LanguageSpec(
    name="go",
    suffixes=(".go",),
    grammar="tree_sitter_go:language",
    queries=("go",),
    body_field="body",
    parameter_fields=("parameters",),
    parameter_names="name",
    return_field="result",
    uncounted=frozenset({"comment"}),
    restart=Restart(re.compile(rb"(?m)^(?:func|type|var|const)\b"), frozenset({"raw_string_literal", "comment"})),
    module="folder",
)
