"""A study that draws its pages while people work."""

from typing import Any

from judgments.models import Study
from tests.studies import make_dataset, make_study


def arena(pages: int = 12, **values: Any) -> Study:
    make_dataset(images=24, systems=4)
    usual: dict[str, Any] = {"judgments_per_unit": 1, "units_per_hit": 5, "sampling": {}}
    return make_study(
        "pairwise", **(usual | {"arena": {"pages": pages}, "answers": {"no_difference": True}} | values)
    )
