"""Read the stop words and the irregular forms that the ROUGE script uses."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType


@cache
def smart_stop_words() -> frozenset[str]:
    """Return the SMART list of common words of ROUGE-1.5.5 (596 words)."""
    return frozenset(_read_data("smart_common_words.txt").split())


@cache
def wordnet_exceptions() -> Mapping[str, str]:
    """Return the lemmas of WordNet 2.0's irregular forms, as the ROUGE-1.5.5 script has them.

    If a form has several entries, the last one is used.
    """
    lines = _read_data("wordnet_2_0_exceptions.txt").splitlines()
    return MappingProxyType(dict(line.split() for line in lines if not line.startswith("#")))


def _read_data(name: str) -> str:
    return resources.files("quorum.metrics").joinpath("data", name).read_text("ascii")
