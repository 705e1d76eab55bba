"""A list of titles for a study of keywords: those that its texts can offer (MC12 §3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from common.errors import DesignError
from judgments.design.reading import make_design
from judgments.design.study_design import StudyDesign
from judgments.drawing.phrases import known_titles
from judgments.kinds import KINDS
from judgments.models import Item
from judgments.studies.studies import find_dataset

ROWS_AT_ONCE = 500


def with_titles(
    *, design: StudyDesign, titles: Iterable[str], progress: Callable[[int], None] = lambda read: None
) -> StudyDesign:
    """The design with those of ``titles`` whose words stand one behind the other in a text of its dataset, besides
    the titles that it names itself. ``titles`` is read once, as a stream.

    Raises:
        NotThere: no such dataset.
        DesignError: the protocol asks for no titles, or none of them stands in a text: without titles frequent phrases
            would be offered, which is not what was asked for.
    """
    if "keywords.titles" not in KINDS[design.protocol].asks:
        raise DesignError(
            f"A list of titles was given, but protocol {design.protocol!r} offers none.",
            field="keywords.titles",
        )
    texts = (
        Item.objects.filter(dataset=find_dataset(design.dataset))
        .exclude(text="")
        .values_list("text", flat=True)
    )
    found = known_titles(
        titles, texts.iterator(ROWS_AT_ONCE), longest=design.keywords.longest, progress=progress
    )
    if not found:
        raise DesignError(
            f"None of the titles stands in a text of dataset {design.dataset!r}; no study was created.",
            field="keywords.titles",
        )
    values = design.model_dump(mode="json")
    values["keywords"]["titles"] = sorted({*design.keywords.titles, *found})
    return make_design(values)
