"""The design of a study as it may be published, without the access codes of its participants."""

from __future__ import annotations

from typing import Any

from judgments.models import Study
from judgments.studies.designs import design_of


def shareable_design(study: Study) -> dict[str, Any]:
    """Return the design without access codes and without the addresses of a panel."""
    design = design_of(study).model_dump(mode="json")
    if design["access"]["code"]:
        design["access"]["code"] = "left out"
    design["panel"] |= {"codes": {}, "addresses": {}}
    return design
