"""Import a file of judgments as a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone, translation
from django.utils.text import slugify

from annotation.models import Judgment
from common.amounts import with_noun
from common.audit import acting_person
from common.errors import DataConflict, DesignError
from common.rows.batches import batched
from common.rows.fingerprints import Fingerprint, fingerprint_of
from common.rows.loads import large_cache, many_objects
from contrib.judgment_imports.bad_rows import BadRows
from contrib.judgment_imports.columns import IMPORT_JOB
from contrib.judgment_imports.reading import (
    by_criterion,
    captions_of_dataset,
    imported_design,
    open_judgments_of,
    stated_scale,
    words_of_scale,
)
from contrib.judgment_imports.writing.judgments import JudgmentWriter
from contrib.judgment_imports.writing.systems import ROWS_PER_BATCH
from judgments.access.study_log import note_event
from judgments.datasets.importing import ImportSummary, remember_mapping
from judgments.importers import ColumnMapping, ImportProblem, JudgmentSource
from judgments.importers.mapped_judgments import MappedJudgments
from judgments.importers.records.rows import JudgmentRow
from judgments.importers.records.values import by_name
from judgments.importers.textio import QUIRK_NOTES
from judgments.kinds import KINDS
from judgments.models import Caption, Item, Study
from judgments.studies.designs import design_of
from judgments.studies.generation.progress import Progress, no_progress
from judgments.studies.studies import create_study, find_dataset, find_study


@translation.override("en")
def import_judgments(
    *,
    format: str,
    path: Path,
    dataset: str,
    study: str,
    protocol: str | None = None,
    encoding: str | None = None,
    mapping: ColumnMapping | None = None,
    bad_rows: Path | BadRows | None = None,
    scale: str = "",
    design: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    progress: Progress = no_progress,
) -> ImportSummary:
    """Import a file of judgments as a new study. Importing the same file again changes nothing.

    Args:
        protocol: the part of a published set (pascal-50s: triplet or pairwise), or the protocol of a table whose
            rows state none.
        mapping: the columns of the file for Quorum's columns. Each of several criteria becomes a study, named
            `study` plus the criterion.
        bad_rows: where to write refused rows, while the others are imported. Without it, a refused row prevents the
            import.
        scale: the scale of graded or slider answers, LOW:HIGH[:STEP]. Without it, the file states the scale, or it
            is inferred.
        design: study-file keys for the new study, such as the weights of marked errors, or a HIT template.
        dry_run: whether to roll everything back at the end, to learn which rows are refused.
    """
    material = find_dataset(dataset)
    criteria = by_criterion(format, path, encoding=encoding, mapping=mapping)
    if list(criteria) != [""]:
        return _import_criteria(
            criteria, format=format, path=path, dataset=dataset, study=study, protocol=protocol, encoding=encoding,
            mapping=mapping, bad_rows=bad_rows, scale=scale, design=design, dry_run=dry_run, progress=progress,
        )  # fmt: skip
    items = by_name(Item.objects.filter(dataset=material).values_list("name", "pk"))
    references = set(
        Caption.objects.filter(dataset=material, role=Caption.Role.REFERENCE).values_list("key", flat=True)
    )
    keys = design or {}
    scale = stated_scale(scale, keys)
    opened = partial(open_judgments_of, material, format, path, protocol, encoding, mapping, scale, keys)
    source = opened()
    left_out = BadRows(bad_rows) if isinstance(bad_rows, Path) else bad_rows
    if left_out is not None:
        left_out.collect(source)
    existing = Study.objects.filter(slug=study).first()
    if existing is not None:
        _refuse_other_judgments(existing, source, opened, items)
        return ImportSummary(study, False, _count_rows(existing))
    fingerprint = Fingerprint()
    try:
        with many_objects(), large_cache(), transaction.atomic():
            rows = fingerprint.hash_rows(source.judgments(items, captions_of_dataset(material)))
            first = next(rows, None)
            chosen = source.protocol or (first.protocol if first else None) or protocol
            if chosen is None or chosen not in KINDS:
                raise DataConflict(
                    f"{path} does not say of which protocol its judgments are; expected one of {', '.join(KINDS)}."
                )
            new = _create_imported_study(study, dataset, chosen, keys)
            writer = JudgmentWriter(new, material, items, references)
            _write_judgments(writer, chain(() if first is None else (first,), rows), progress)
            writer.add_winners(list(fingerprint.hash_rows(source.winners(items))))
            writer.finish()
            for table, values in writer.kind.tables_of_setting(source.setting).items():
                writer.study.design[table] = {**writer.study.design.get(table, {}), **values}
            if not writer.judgments and not writer.pairs.ids:
                raise DataConflict(f"{path} holds no judgments; nothing was imported.")
            notes = source.notes.sentences()
            if dry_run or (source.setting and not source.states_scale):
                notes += filter(None, [words_of_scale(source)])
            Study.objects.filter(pk=writer.study.pk).update(
                design=writer.study.design,
                fingerprint=fingerprint.hexdigest(),
                simulated=writer.simulated,
                notes={"sentences": notes},
            )
            remember_mapping(material, IMPORT_JOB, mapping)
            sentence = f"{with_noun(writer.judgments, 'judgment')} came from a file of the format {format}."
            note_event(study=writer.study, what="imported", sentence=sentence, format=format)
            transaction.set_rollback(dry_run)
    except IntegrityError as error:
        raise DataConflict(
            f"{path} was not imported: it contradicts itself, for example by two answers of one participant on one "
            f"unit ({str(error).splitlines()[0]})."
        ) from error
    if left_out is not None and left_out is not bad_rows:
        left_out.write()
    if dry_run:
        return ImportSummary(study, False, {}, notes)
    counts = {**_count_rows(writer.study), **writer.systems.counts()}
    return ImportSummary(study, True, counts, notes)


def _refuse_other_judgments(
    existing: Study, source: JudgmentSource, opened: Callable[..., JudgmentSource], items: Mapping[str, int]
) -> None:
    """Raise DataConflict if the study is another person's, or has other judgments or another scale."""
    user, slug = acting_person(), existing.slug
    if user is not None and not Study.objects.visible_to(user).filter(pk=existing.pk).exists():
        raise DataConflict(f"There is a study {slug!r} already; choose another name.")
    readings = [source]
    if isinstance(source, MappedJudgments):
        readings.append(opened(as_before=True))
        readings[1].refusals.bad_rows = source.refusals.bad_rows
    if existing.source != Study.Source.IMPORTED or not _gives_judgments_of(existing, readings, items):
        raise DataConflict(f"There is a study {slug!r} with other judgments; choose another name.")
    kind = KINDS[existing.protocol]
    if kind.scale and kind.setting(design_of(existing)) != source.setting:
        raise DataConflict(f"There is a study {slug!r} with another scale; choose another name.")


def _write_judgments(writer: JudgmentWriter, rows: Iterable[JudgmentRow], progress: Progress) -> None:
    for number, batch in enumerate(batched(rows, ROWS_PER_BATCH)):
        writer.add(batch)
        progress(1 - 1 / (number + 2), with_noun(writer.judgments, "judgment"))


def _import_criteria(
    criteria: Mapping[str, ColumnMapping | None],
    *,
    study: str,
    mapping: ColumnMapping | None,
    bad_rows: Path | BadRows | None,
    **values: Any,
) -> ImportSummary:
    """Import the answers to each criterion as a study of its own.

    The notes of each study name all of these studies.
    """
    left_out = BadRows(bad_rows) if isinstance(bad_rows, Path) else None
    slugs = {name: f"{study}-{slugify(name) or number}" for number, name in enumerate(criteria, start=1)}
    if len(set(slugs.values())) < len(slugs):
        raise DataConflict(
            f"Two criteria of {', '.join(slugs)} would have the same name as a study; rename one."
        )
    sentence = QUIRK_NOTES["criteria"].format(detail=", ".join(slugs.values()))
    whole = ImportSummary(", ".join(slugs.values()), False, {}, [sentence])
    with transaction.atomic():
        for name, how in criteria.items():
            summary = import_judgments(study=slugs[name], mapping=how, bad_rows=left_out, **values)
            whole = replace(whole, created=whole.created or summary.created)
            whole.counts.update({f"{what}, {name}": count for what, count in summary.counts.items()})
            whole.notes.extend(f"{name}: {note}" for note in summary.notes)
            if summary.created:
                row = find_study(slugs[name])
                row.notes |= {"criteria": slugs}
                row.save(update_fields=["notes"])
        remember_mapping(find_dataset(values["dataset"]), IMPORT_JOB, mapping)
        transaction.set_rollback(values["dry_run"])
    if left_out is not None:
        left_out.write()
    return whole


def _gives_judgments_of(study: Study, readings: Sequence[JudgmentSource], items: Mapping[str, int]) -> bool:
    """Return whether one of several readings of a file gives the study's judgments.

    Raises:
        ImportProblem: the first reading is refused, and no other gives these judgments.
    """
    refusal = None
    for reading in readings:
        captions = captions_of_dataset(study.dataset)
        try:
            digest = fingerprint_of(reading.judgments(items, captions), reading.winners(items))
        except ImportProblem as problem:
            refusal = problem if reading is readings[0] else refusal
        else:
            if digest == study.fingerprint:
                return True
    if refusal is not None:
        raise refusal
    return False


def _count_rows(study: Study) -> dict[str, int]:
    return {
        "units": study.units.count(),
        "judgments": Judgment.objects.of_study(study).count(),
        "candidate pairs": study.pairs.count(),
        "published winners": study.pairs.exclude(published_winner=None).count(),
    }


def _create_imported_study(slug: str, dataset: str, protocol: str, keys: Mapping[str, Any]) -> Study:
    try:
        design = imported_design(slug, dataset, protocol, keys, slug=slug)
    except DesignError as error:
        if keys:
            raise
        raise DataConflict(f"The study cannot be called {slug!r}: {error}") from None
    study = create_study(design=design, user=acting_person())
    now = timezone.now()
    study.state, study.source = Study.State.CLOSED, Study.Source.IMPORTED
    study.generated_at = study.opened_at = study.closed_at = now
    study.save()
    return study
