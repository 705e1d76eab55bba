"""The substitute for a kind whose feature is off or not installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from django.utils.translation import pgettext

from common.errors import FeatureIsOff
from judgments.drawing.material import Batch, Material
from judgments.kinds.base import OpenKind

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


class UnavailableKind(OpenKind):
    """A kind whose studies can be listed and deleted. Functions for units and answers raise ``FeatureIsOff``."""

    writes_captions = True  # answers may be texts, so erasing a person's texts deletes them

    def __init__(self, name: str, feature: str) -> None:
        self.missing_name, self.feature = name, feature
        self.title = pgettext("staff", "%(name)s (off)") % {"name": name}

    def error(self) -> FeatureIsOff:
        """Return the error that says how to make the kind available."""
        names = {"name": self.missing_name, "feature": self.feature}
        if self.feature:
            return FeatureIsOff(
                pgettext(
                    "staff",
                    "The kind %(name)s is not available. Add the feature %(feature)s to the "
                    "setting CONTRIB_APPS.",
                )
                % names
            )
        return FeatureIsOff(pgettext("staff", "The kind %(name)s is not installed.") % names)

    def for_design(self, design: StudyDesign) -> UnavailableKind:
        return self

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        raise self.error()

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        raise self.error()

    def clean_answer(self, answer: Any, *, unit: Any, design: StudyDesign | None) -> Any:
        raise self.error()

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> Any:
        raise self.error()

    def __getattr__(self, name: str) -> NoReturn:
        """Raise FeatureIsOff for attributes that every kind defines itself, such as ``page`` and ``aggregation``."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise self.error()
