"""Find the known name that a misspelt name probably stands for."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest_name(name: object, known: Iterable[object], *, cutoff: float = 0.6) -> str:
    """Return the known name most similar to `name`, ignoring case; "" if none is similar enough."""
    by_case = {str(one).casefold(): str(one) for one in known}
    near = get_close_matches(str(name).casefold(), by_case, n=1, cutoff=cutoff)
    return by_case[near[0]] if near else ""
