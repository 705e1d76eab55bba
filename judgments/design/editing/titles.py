"""Add the titles of a list that occur in a dataset's texts to a design for keyword annotation."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from common.errors import DesignError
from judgments.design.reading.checking import make_design
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.models import Item
from judgments.studies.studies import find_dataset
from quorum.phrases import known_titles

TEXTS_PER_BATCH = 500


def with_titles(
    *, design: StudyDesign, titles: Iterable[str], progress: Callable[[int], None] = lambda titles_read: None
) -> StudyDesign:
    """Return the design with the ``titles`` that occur in the dataset's texts, as phrases that its pages offer.

    Raises:
        ObjectNotFound: there is no such dataset.
        DesignError: the protocol uses no titles, or no title occurs in a text. Without titles the page would offer
            frequent phrases, which is another design.
    """
    if "keywords.titles" not in KINDS[design.protocol].specific_keys:
        raise DesignError(
            f"A list of titles was given, but protocol {design.protocol!r} offers none.",
            field="keywords.titles",
        )
    items = Item.objects.filter(dataset=find_dataset(design.dataset)).exclude(text="")
    texts = items.values_list("text", flat=True)
    titles_in_texts = known_titles(
        titles, texts.iterator(TEXTS_PER_BATCH), longest=design.keywords.longest, progress=progress
    )
    if not titles_in_texts:
        raise DesignError(
            f"None of the titles stands in a text of dataset {design.dataset!r}; no study was created.",
            field="keywords.titles",
        )
    values = design.model_dump(mode="json")
    values["keywords"]["titles"] = sorted({*design.keywords.titles, *titles_in_texts})
    return make_design(values)
