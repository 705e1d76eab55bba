"""Read the judgments of a study as a source of a comparison."""

from __future__ import annotations

import numpy as np
from django.utils.translation import gettext as _

from common.rows.reading import converted_rows
from common.texts import one_text
from contrib.comparing.sources.judgments import CreditedSystems, SourceJudgments, UnitContent
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.files import CONTROL_ITEMS, NOT_USED
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.errors import EvaluationError
from judgments.drawing.documents import document_in
from judgments.models import CandidatePair, Caption, Study, System, Unit
from judgments.models.credits import credited_systems
from judgments.studies.designs import kind_of


def source_of_study(study: Study) -> SourceJudgments:
    """Return the included judgments of a study or, if it has only published winners of pairs, these.

    Raises:
        EvaluationError: answers are not numbers, or there are no judgments.
    """
    kind = kind_of(study)
    if kind.is_open:
        raise EvaluationError(
            _(
                "Study %(slug)r has protocol %(name)s. The answers of this protocol are not numbers. Expected "
                "grades, yes or no, "
                "or choices between two captions."
            )
            % {"slug": study.slug, "name": kind.name}
        )
    table = loaders.load_judgments(study)
    is_counted = table.is_counted
    if not is_counted.any():
        winners = _published_winners(study) if not len(table) else None
        if winners is not None and winners.units:
            return winners
        raise EvaluationError(
            _("Study %(slug)r has no judgments that are used in results; expected at least one.")
            % {"slug": study.slug}
        )
    pks, unit = np.unique(table.unit[is_counted], return_inverse=True)
    names, contents = _read_units(study, set(pks.tolist()))
    full_depth_units = loaders.full_depth_units(study)  # those that early stopping leaves alone
    return SourceJudgments(
        name=study.slug,
        kind=kind,
        units=[names[pk] for pk in pks.tolist()],
        contents=[contents[pk] for pk in pks.tolist()],
        unit=unit.astype(np.int64),
        rater=table.worker[is_counted],
        value=table.value[is_counted],
        left_out=_count_left_out(table),
        full_depth=None if full_depth_units is None else np.isin(pks, list(full_depth_units)),
        anonymous=loaders.is_anonymous(study),
    )


def _published_winners(study: Study) -> SourceJudgments:
    """Return the winners of pairs that were published without votes, as the answers of one rater."""
    pairs = CandidatePair.objects.filter(study=study, published_winner__isnull=False)
    texts = ("first__key", "second__key", "first__text", "second__text")
    columns = ("published_winner", "key", "kind", "item__name", "item__fields", *texts)
    units, winners, contents = [], [], []
    for winner, key, kind, image, fields, first_key, second_key, first_text, second_text in pairs.order_by(
        "position"
    ).values_list(*columns):
        units.append(key)
        winners.append(winner)
        contents.append(
            UnitContent(
                image,
                ids=(None, first_key, second_key),
                texts=(None, one_text(first_text), one_text(second_text)),
                kind=kind,
                document=document_in(fields),
            )
        )
    return SourceJudgments(
        name=study.slug,
        kind=kind_of(study),
        units=units,
        contents=contents,
        unit=np.arange(len(units)),
        rater=np.zeros(len(units), dtype=np.int64),
        value=np.array(winners, dtype=np.float64),
        anonymous=True,
    )


def _count_left_out(table: JudgmentTable) -> dict[str, int]:
    """Return the numbers of judgments that are not compared, by reason."""
    counts = {
        NOT_USED: int((~table.used & ~table.control).sum()),
        CONTROL_ITEMS: int(table.control.sum()),
    }
    return {why: count for why, count in counts.items() if count}


def _read_units(study: Study, unit_ids: set[int]) -> tuple[dict[int, str], dict[int, UnitContent]]:
    """Return the keys and the contents of units, each by row id of the unit."""
    units = Unit.objects.filter(study=study, control=False).order_by()
    columns = ("pk", "key", "kind", "item__name", "item__fields", "reference_id", "first_id", "second_id")
    rows = [row for row in converted_rows(units.values_list(*columns)) if row[0] in unit_ids]
    systems = _read_systems(study)
    caption_ids = {caption for _pk, _key, _kind, _image, _fields, *captions in rows for caption in captions}
    keys: dict[int | None, str | None] = {None: None}
    texts: dict[int | None, str | None] = {None: None}
    all_captions = Caption.objects.filter(dataset_id=study.dataset_id).order_by()
    for pk, key, text in all_captions.values_list("pk", "key", "text").iterator(loaders.ROWS_PER_BATCH):
        if pk in caption_ids:
            keys[pk], texts[pk] = key, one_text(text)
    names = {pk: key for pk, key, *_rest in rows}
    contents = {
        pk: UnitContent(
            image,
            ids=(keys[reference], keys[first], keys[second]),
            texts=(texts[reference], texts[first], texts[second]),
            systems=systems.get(pk, ((), ())),
            kind=kind,
            document=document_in(fields),
        )
        for pk, _key, kind, image, fields, reference, first, second in rows
    }
    return names, contents


def _read_systems(study: Study) -> dict[int, CreditedSystems]:
    """Return the names of the systems that are credited with the two captions of each unit, by row id of the unit."""
    names = dict(System.objects.of_study(study).values_list("pk", "name"))
    systems: dict[int, CreditedSystems] = {}
    for pk, credits in loaders.systems_of_units(study).items():
        if pk is not None:  # only for the type checker, since rows have ids
            # The systems that a file credits with the first caption. Units with two captions get those of their pair.
            systems[pk] = (
                tuple(sorted(names[system] for system in credited_systems(credits, ()) if system in names)),
                (),
            )
    pairs = Unit.objects.filter(study=study, pair__isnull=False).order_by()
    for pk, first, second in pairs.values_list(
        "pk", "pair__first_system__name", "pair__second_system__name"
    ).iterator(loaders.ROWS_PER_BATCH):
        systems[pk] = ((first,) if first else (), (second,) if second else ())
    return systems
