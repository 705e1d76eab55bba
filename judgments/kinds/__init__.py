"""The kinds of HIT. ``KINDS`` has the kinds of the platform, and those that features declare."""

from common.features import lazy_registry, of_apps, of_features
from judgments.kinds.base import (
    CaptionScore,
    Choice,
    ChoiceKind,
    IncludedJudgment,
    Kind,
    KindResults,
    OpenKind,
    RelevanceScale,
)
from judgments.kinds.caption import CaptionWriting
from judgments.kinds.consensus import Consensus
from judgments.kinds.graded import Graded
from judgments.kinds.grounding import Grounding
from judgments.kinds.keywords import Keywords
from judgments.kinds.pairs.pairwise import Pairwise
from judgments.kinds.pairs.triplet import Triplet
from judgments.kinds.relevance import Relevance
from judgments.kinds.unavailable import UnavailableKind

# The order of lists of kinds. A name may be of a feature that is off; kinds without a name here stand last.
LIST_ORDER = (
    "triplet",
    "pairwise",
    "relevance",
    "graded",
    "caption",
    "best-worst",
    "slider",
    "keywords",
    "grounding",
)


class Kinds(dict[str, Kind]):
    """Kinds by name. The value of any other name is an ``UnavailableKind``."""

    def __missing__(self, name: str) -> Kind:
        feature, _kind = of_apps("kinds").get(name, ("", None))
        return UnavailableKind(name, feature)


def _position_in_lists(kind: Kind) -> int:
    return LIST_ORDER.index(kind.name) if kind.name in LIST_ORDER else len(LIST_ORDER)


def _read_kinds() -> Kinds:
    """Return the kinds of the platform and of active features, in the order of lists."""
    kinds = [
        Triplet(),
        Pairwise(),
        Relevance(),
        Graded(),
        CaptionWriting(),
        Keywords(),
        Grounding(),
        *(kind() for kind in of_features("kinds")),
    ]
    return Kinds((kind.name, kind) for kind in sorted(kinds, key=_position_in_lists))


KINDS: dict[str, Kind] = lazy_registry(_read_kinds)


def installed_kind(name: str) -> Kind:
    """Return a kind, even if its feature is off. Erasing and integrity checks must read its answers even then."""
    _feature, kind_class = of_apps("kinds").get(name, ("", None))
    return kind_class() if kind_class and name not in KINDS else KINDS[name]


__all__ = [
    "KINDS",
    "CaptionScore",
    "Choice",
    "ChoiceKind",
    "Consensus",
    "IncludedJudgment",
    "Kind",
    "KindResults",
    "OpenKind",
    "RelevanceScale",
    "UnavailableKind",
    "installed_kind",
]
