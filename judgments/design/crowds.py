"""The crowds that studies can use: crowds of the platform, and crowds that features declare."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from common.features import lazy_registry, of_apps, of_features

# keys of the study-file table ``workers``, each of which states a requirement
RESIDENCE, APPROVAL_RATE, APPROVED = "countries", "approval_above", "approved_at_least"
HITS_AT_MOST, LANGUAGES, DEVICES = "hits_at_most", "languages", "devices"
QUALIFIED, QUOTAS = "requires", "quotas"
COMMON_REQUIREMENTS = frozenset({RESIDENCE, APPROVAL_RATE, APPROVED, HITS_AT_MOST, QUALIFIED})


@dataclass(frozen=True, slots=True)
class CrowdOffer:
    """A crowd that studies can use.

    Attributes:
        name: the crowd's name in study files.
        requirements: keys of ``workers`` that are checked for this crowd: by the crowd, or by Quorum, which knows the
            country that a worker declares and the work that was approved here.
        currency: the only currency in which the crowd pays; "" if a study may choose.
        panel: whether the crowd is a panel with an API, which studies name by ``panel.preset`` with ``panel.api``.
        keys: study-file keys that only studies of this crowd use.
    """

    name: str
    label: str
    requirements: frozenset[str]
    currency: str = ""
    panel: bool = False
    keys: tuple[str, ...] = ()

    @property
    def study_file_line(self) -> str:
        """The line of a study file that chooses the crowd."""
        return "panel.api = true" if self.panel else f'crowd.backend = "{self.name}"'


class Crowds(dict[str, CrowdOffer]):
    """The available crowds, by name.

    A subscript also returns the crowd of a disabled feature and, for an unknown name, a crowd that checks no
    requirement, so that stored designs can still be read.
    """

    def __missing__(self, name: str) -> CrowdOffer:
        return installed_crowds().get(name, CrowdOffer(name, name, frozenset()))


CROWDS: dict[str, CrowdOffer] = lazy_registry(
    lambda: Crowds(
        (offer.name, offer)
        for offer in (
            CrowdOffer(
                "external",
                "A panel that sends participants here (Prolific, CloudResearch Connect, SONA, or your own links)",
                frozenset({RESIDENCE, HITS_AT_MOST, QUALIFIED}),
            ),
            CrowdOffer("local", "The study's link", COMMON_REQUIREMENTS),
            CrowdOffer(
                "mturk",
                "Mechanical Turk (closed by Amazon on 30 September 2026): an emulator, or a server with "
                "the same API",
                COMMON_REQUIREMENTS,
                currency="USD",
            ),
            *of_features("crowd_offers"),
        )
    )
)


def installed_crowds() -> dict[str, CrowdOffer]:
    """Return the offers of all crowds by name, including those of disabled features."""
    return {**{name: offer for name, (_feature, offer) in of_apps("crowd_offers").items()}, **CROWDS}


def disabled_feature_of(name: str) -> str:
    """Return the feature that declares the crowd if it is disabled; "" otherwise."""
    feature, _offer = of_apps("crowd_offers").get(name, ("", None))
    return "" if name in CROWDS else feature


def crowd_labels() -> dict[str, str]:
    """Return the label of each crowd that ``crowd.backend`` can name."""
    return {name: offer.label for name, offer in CROWDS.items() if not offer.panel}


def keys_of_disabled_crowds() -> frozenset[str]:
    """Return the study-file keys that are only for crowds of disabled features."""
    disabled_offers = [offer for name, offer in installed_crowds().items() if name not in CROWDS]
    return frozenset(chain.from_iterable(offer.keys for offer in disabled_offers))
