"""Find the known name that a misspelt name probably stands for."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest_name(name: object, known_names: Iterable[object], *, cutoff: float = 0.6) -> str:
    """Return the known name most similar to `name`, ignoring case; "" if none is similar enough."""
    names = {str(known_name).casefold(): str(known_name) for known_name in known_names}
    matches = get_close_matches(str(name).casefold(), names, n=1, cutoff=cutoff)
    return names[matches[0]] if matches else ""
