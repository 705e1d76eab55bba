"""Find contradictions in the designs of studies in which people mark errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from django.utils.translation import pgettext

from contrib.error_spans.kind.screens import TEXTS_PER_SCREEN
from judgments.drawing.controls.makers import REPEATED

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


def span_contradictions(design: StudyDesign) -> Iterator[str]:
    """Yield a clause about each setting that contradicts another one.

    Each clause begins with the key of the setting in a study file.
    """
    table, pairs_from = design.spans, design.sampling.pairs_from
    if table.categories == "own" and not table.own:
        yield pgettext(
            "staff",
            "spans.categories is 'own', but spans.own is empty; expected the names of your categories",
        )
    if len(table.weights_by_category) < len(table.weights):
        yield pgettext(
            "staff", "spans.weights contains the same category twice; expected different categories"
        )
    if len(set(table.own)) < len(table.own):
        yield pgettext("staff", "spans.own contains the same name twice; expected different names")
    if table.contrastive:
        counts = {"units_per_hit": design.units_per_hit, "controls.per_hit": design.controls.per_hit}
        for key, count in counts.items():
            if count % TEXTS_PER_SCREEN:
                yield pgettext(
                    "staff",
                    "%(key)s is %(count)d, but spans.contrastive shows texts in pairs; expected an even number",
                ) % {"key": key, "count": count}
    if not table.documents:
        return
    if pairs_from != "outputs":
        yield pgettext(
            "staff",
            "spans.documents is true, so each document must come from one system; expected sampling.pairs_from "
            "= 'outputs', not %(source)r",
        ) % {"source": pairs_from}
    if design.filter.bleu_pre or design.sampling.only:
        yield pgettext(
            "staff",
            "spans.documents is true, but filter.bleu_pre or sampling.only would leave out parts of documents; "
            "expected filter.bleu_pre = 0 and no sampling.only",
        )
    if design.controls.per_hit and REPEATED in design.controls.kinds:
        yield pgettext(
            "staff",
            "controls.kinds contains 'repeated', which would repeat whole documents (spans.documents); expected "
            "'reference' or 'degraded'",
        )
