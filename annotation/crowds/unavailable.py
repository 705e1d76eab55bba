"""The backend of a crowd whose feature is off or not installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from django.utils.translation import pgettext

from annotation.crowds.base import CrowdBackend, CrowdPublication, HITPlan, LocalBackend, Price, RetryLater
from annotation.models import CrowdCall, Publication
from common.errors import FeatureIsOff
from judgments.design.study_design import StudyDesign
from judgments.models import Study


class UnavailableBackend(CrowdBackend):
    """The backend of a crowd whose feature is off, or whose package is not installed.

    Its studies can be listed, worked on, exported, erased and deleted. Outbox messages wait, and are sent again only
    after a person acted (``final``). Opening a study, and anything that needs a price, raises ``FeatureIsOff``.

    Attributes:
        feature: the name of the disabled feature; "" if it is not installed.
        disabled_backend: the backend that the disabled feature has; ``LocalBackend``, which supports no operation, if
            the feature is not installed.
    """

    def __init__(self, name: str, feature: str = "", disabled_backend: CrowdBackend | None = None) -> None:
        self.name, self.feature, self.disabled_backend = name, feature, disabled_backend or LocalBackend()
        self.title = pgettext("staff", "%(name)s (off)") % {"name": name}
        self.can, self.sends_people = self.disabled_backend.can, self.disabled_backend.sends_people

    def error(self) -> FeatureIsOff:
        names = {"name": self.name, "feature": self.feature}
        if self.feature:
            return FeatureIsOff(
                pgettext(
                    "staff",
                    "The crowd %(name)s is off. To turn it on, add %(feature)s to the setting CONTRIB_APPS.",
                )
                % names
            )
        return FeatureIsOff(pgettext("staff", "The crowd %(name)s is not installed.") % names)

    def platform(self, design: StudyDesign) -> str:
        return self.disabled_backend.platform(design)

    def person_of(self, design: StudyDesign) -> str:
        return self.disabled_backend.person_of(design)

    def session_id(self, platform: str, raw: str) -> str:
        return self.disabled_backend.session_id(platform, raw)

    def refuse(self, study: Study, design: StudyDesign) -> NoReturn:
        raise self.error()

    def describe_entrance(self, study: Study) -> NoReturn:
        raise self.error()

    def price(self, design: StudyDesign, *, places: int) -> Price:
        raise self.error()

    def bonus_fee(self, cents: int) -> int:
        raise self.error()

    def screen_out_price(self, design: StudyDesign) -> Price:
        raise self.error()

    def publication_plans(self, study: Study) -> Iterable[HITPlan]:
        raise self.error()

    def places_of_publications(self, design: StudyDesign, *, hits: int) -> list[int]:
        raise self.error()

    def refuse_places(self, publication: Publication, places: int) -> NoReturn:
        raise self.error()

    def carry_out(self, call: CrowdCall) -> dict[str, Any]:
        raise RetryLater(str(self.error()), had_no_effect=True, final=True)

    def fetch_publications(self, study: Study, *, known: Iterable[Publication]) -> Iterator[CrowdPublication]:
        raise RetryLater(str(self.error()), had_no_effect=True, final=True)
