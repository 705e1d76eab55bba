"""Count what the erasure of a person would remove, and what it would keep."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Erasure, Worker
from annotation.privacy.people import why_not_erasable
from annotation.privacy.personal_rows import (
    DELETED_MODELS,
    ERASED_TEXT,
    MOVED_MODELS,
    PAYMENT_MODELS,
    appeals_of,
    find_log_entries,
    identifying_words,
    is_in_another_study,
    judgments_of,
    reports_of,
    rows_of,
    texts_only,
)
from judgments.models import Study


@dataclass(frozen=True, slots=True)
class ErasurePreview:
    """The effects of an erasure.

    Attributes:
        removed, kept: the label of each group of rows, in words, and their number.
        is_in_another_study: whether the person takes part in other studies of this installation, which keep the name.
        refusal: why the person cannot be erased now; "" if they can.
    """

    worker: Worker
    removed: list[tuple[str, int]]
    kept: list[tuple[str, int]]
    is_in_another_study: bool
    refusal: str


def preview_erasure(*, study: Study, worker: Worker, way: str) -> ErasurePreview:
    """Count what an erasure removes and keeps. ``way`` (``Erasure.Extent``) says if judgments stay; texts never do."""
    judgments = judgments_of(study, worker)
    erased_judgments = judgments if way == Erasure.Extent.ALL else texts_only(study, judgments)
    replacements = dict.fromkeys((worker.name, *identifying_words(study, worker)), ERASED_TEXT)
    log_entries = find_log_entries(study, replacements)
    removed = [(label, rows_of(model, study, worker).count()) for model, label in DELETED_MODELS.items()]
    removed += [
        (gettext_noop("judgments"), erased_judgments.count()),
        (gettext_noop("comments"), judgments.exclude(comment="").count()),
        (gettext_noop("texts of problem reports"), reports_of(study, worker).exclude(comment="").count()),
        (gettext_noop("messages in appeals"), appeals_of(study, worker).count()),
        (gettext_noop("log entries with the name (the name is replaced)"), len(log_entries)),
    ]
    kept = [
        (label, rows_of(model, study, worker).count())
        for model, label in {**MOVED_MODELS, **PAYMENT_MODELS}.items()
    ]
    kept.insert(0, (gettext_noop("judgments"), judgments.count() - erased_judgments.count()))
    return ErasurePreview(
        worker=worker,
        removed=[(_(label), count) for label, count in removed if count],
        kept=[(_(label), count) for label, count in kept if count],
        is_in_another_study=is_in_another_study(study, worker),
        refusal=why_not_erasable(study, worker),
    )
