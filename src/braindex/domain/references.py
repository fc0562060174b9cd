"""What an entity refers to, by name: nothing says that a name means the entity that is called so."""

from typing import Final

REFERENCE_KINDS: Final = frozenset({"call", "import", "base"})
# (kind, name, line): a plain tuple, since there are five for each entity, and they travel between processes. The name
# is bare (`c` of `a.b.c()`), the line counts from 1 and is the first on which the entity refers to it.
Reference = tuple[str, str, int]
