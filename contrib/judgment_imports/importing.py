"""Import a file of judgments as a study, or as one study for each criterion that people judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    captions_of_dataset,
    describe_scale,
    imported_design,
    mappings_by_criterion,
    open_judgments_of,
    stated_scale,
)
from contrib.judgment_imports.writing.judgments import JudgmentWriter
from contrib.judgment_imports.writing.systems import ROWS_PER_BATCH
from judgments.access.study_log import note_event
from judgments.datasets.importing.base import ImportSummary
from judgments.datasets.importing.column_mappings import remember_mapping
from judgments.importers import ColumnMapping, ImportProblem, JudgmentSource
from judgments.importers.mapped.mapped_judgments import MappedJudgments
from judgments.importers.notes import QUIRK_NOTES
from judgments.importers.records.rows import JudgmentRow
from judgments.importers.records.values import ids_by_name
from judgments.kinds import KINDS
from judgments.models import Caption, Dataset, Item, Study
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
    bad_rows: Path | None = None,
    scale: str = "",
    design: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    progress: Progress = no_progress,
) -> ImportSummary:
    """Import a file of judgments as a new study. Importing the same file again changes nothing.

    Args:
        protocol: the part of a published set (pascal-50s: triplet or pairwise), or the protocol of a table whose
            rows state none.
        mapping: which column of the file stands for which of Quorum's columns. If it names several criteria, each
            becomes a study, whose slug is ``study`` and the criterion's name.
        bad_rows: where to write refused rows, while the others are imported. Without it, a refused row prevents the
            import.
        scale: the scale of graded or slider answers, LOW:HIGH[:STEP]; "" if the file states it, or to infer it.
        design: keys of a study file for the new study, such as the weights of marked errors, or a HIT template.
        dry_run: whether to roll everything back at the end, to learn which rows are refused.
    """
    options = _SharedOptions(
        format=format,
        path=path,
        dataset=find_dataset(dataset),
        protocol=protocol,
        encoding=encoding,
        scale=scale,
        design_keys=design or {},
        dry_run=dry_run,
        progress=progress,
    )
    criteria = mappings_by_criterion(format, path, encoding=encoding, mapping=mapping)
    refused_rows = BadRows(bad_rows) if bad_rows is not None else None
    has_criteria = list(criteria) != [""]  # the only criterion of a file without criteria is ""
    if has_criteria:
        summary = _import_criteria(options, criteria, study, mapping, refused_rows)
        is_repeated = False  # some of the criteria may be new
    else:
        is_repeated = Study.objects.filter(slug=study).exists()
        summary = _import_study(options, study, mapping, refused_rows)
    if refused_rows is not None and not is_repeated:  # the first import of the file wrote the refused rows
        refused_rows.write()
    return summary


@dataclass(frozen=True, slots=True, kw_only=True)
class _SharedOptions:
    """The arguments of `import_judgments` that are the same for all criteria. ``design_keys`` is ``design``."""

    format: str
    path: Path
    dataset: Dataset
    protocol: str | None
    encoding: str | None
    scale: str
    design_keys: Mapping[str, Any]
    dry_run: bool
    progress: Progress


def _import_study(
    options: _SharedOptions, slug: str, mapping: ColumnMapping | None, refused_rows: BadRows | None
) -> ImportSummary:
    dataset = options.dataset
    items = ids_by_name(Item.objects.filter(dataset=dataset).values_list("name", "pk"))
    reference_keys = set(
        Caption.objects.filter(dataset=dataset, role=Caption.Role.REFERENCE).values_list("key", flat=True)
    )
    scale = stated_scale(options.scale, options.design_keys)

    def open_source(*, uses_former_ids: bool = False) -> JudgmentSource:
        return open_judgments_of(
            dataset,
            format=options.format,
            path=options.path,
            protocol=options.protocol,
            encoding=options.encoding,
            mapping=mapping,
            scale=scale,
            design_keys=options.design_keys,
            uses_former_ids=uses_former_ids,
        )

    source = open_source()
    if refused_rows is not None:
        refused_rows.collect(source)
    existing_study = Study.objects.filter(slug=slug).first()
    if existing_study is not None:
        _refuse_other_judgments(existing_study, source, open_source, items)
        return ImportSummary(slug, created=False, counts=_count_rows(existing_study))
    fingerprint = Fingerprint()
    try:
        with many_objects(), large_cache(), transaction.atomic():  # the first two speed up a large import
            rows = fingerprint.hash_rows(source.judgments(items, captions_of_dataset(dataset)))
            first_row = next(rows, None)  # read first, since it may state the protocol
            study_protocol = _protocol_of(source, first_row, options)
            imported_study = _create_imported_study(slug, dataset.name, study_protocol, options.design_keys)
            writer = JudgmentWriter(imported_study, dataset, items, reference_keys)
            all_rows = rows if first_row is None else chain([first_row], rows)
            _write_judgments(writer, all_rows, options.progress)
            writer.add_winners(list(fingerprint.hash_rows(source.winners(items))))
            writer.finish()
            _add_setting_to_design(writer, source)
            if not writer.judgment_count and not writer.pairs.ids:
                raise DataConflict(f"{options.path} holds no judgments; nothing was imported.")
            notes = _finish_study(writer, source, fingerprint.hexdigest(), options)
            remember_mapping(dataset, IMPORT_JOB, mapping)
            transaction.set_rollback(options.dry_run)
    except IntegrityError as error:
        raise DataConflict(
            f"{options.path} was not imported: it contradicts itself, for example by two answers of one participant "
            f"on one unit ({str(error).splitlines()[0]})."
        ) from error
    if options.dry_run:
        return ImportSummary(slug, created=False, counts={}, notes=notes)
    counts = {**_count_rows(writer.study), **writer.systems.counts()}
    return ImportSummary(slug, created=True, counts=counts, notes=notes)


def _protocol_of(source: JudgmentSource, first_row: JudgmentRow | None, options: _SharedOptions) -> str:
    protocol = source.protocol or (first_row.protocol if first_row else None) or options.protocol
    if protocol is None or protocol not in KINDS:
        raise DataConflict(
            f"{options.path} does not say of which protocol its judgments are; expected one of {', '.join(KINDS)}."
        )
    return protocol


def _add_setting_to_design(writer: JudgmentWriter, source: JudgmentSource) -> None:
    """Add the options that the answers need, such as their scale, to the study's design, without saving it."""
    for table, values in writer.kind.tables_of_setting(source.setting).items():
        writer.study.design[table] = {**writer.study.design.get(table, {}), **values}


def _finish_study(
    writer: JudgmentWriter, source: JudgmentSource, digest: str, options: _SharedOptions
) -> list[str]:
    """Store the design, the fingerprint and the notes of the study, and log the import. Return the notes."""
    notes = source.notes.sentences()
    has_inferred_scale = source.setting and not source.states_scale
    if (options.dry_run or has_inferred_scale) and (sentence := describe_scale(source)):
        notes.append(sentence)
    Study.objects.filter(pk=writer.study.pk).update(
        design=writer.study.design, fingerprint=digest, simulated=writer.simulated, notes={"sentences": notes}
    )
    event_sentence = (
        f"{with_noun(writer.judgment_count, 'judgment')} came from a file of the format {options.format}."
    )
    note_event(study=writer.study, what="imported", sentence=event_sentence, format=options.format)
    return notes


def _refuse_other_judgments(
    study: Study,
    source: JudgmentSource,
    open_source: Callable[..., JudgmentSource],
    items: Mapping[str, int],
) -> None:
    """Raise DataConflict if the study is not visible to the acting person, or has other judgments or another scale.

    A file whose columns are mapped has no ids of units, so these are derived. It is compared twice: with the ids as
    they are derived now, and as earlier releases derived them, which may have imported the study.

    Args:
        open_source: a function that opens the file again, with the argument ``uses_former_ids``.
    """
    user, slug = acting_person(), study.slug
    if user is not None and not Study.objects.visible_to(user).filter(pk=study.pk).exists():
        raise DataConflict(f"There is a study {slug!r} already; choose another name.")
    sources = [source]
    if isinstance(source, MappedJudgments):
        source_with_former_ids = open_source(uses_former_ids=True)
        source_with_former_ids.row_problems.on_bad_row = source.row_problems.on_bad_row
        sources.append(source_with_former_ids)
    if study.source != Study.Source.IMPORTED or not _has_judgments_of(study, sources, items):
        raise DataConflict(f"There is a study {slug!r} with other judgments; choose another name.")
    kind = KINDS[study.protocol]
    if kind.scale and kind.setting(design_of(study)) != source.setting:
        raise DataConflict(f"There is a study {slug!r} with another scale; choose another name.")


def _write_judgments(writer: JudgmentWriter, rows: Iterable[JudgmentRow], progress: Progress) -> None:
    for batch_number, batch in enumerate(batched(rows, ROWS_PER_BATCH), start=1):
        writer.add(batch)
        # the number of rows is unknown, so the share approaches 1
        progress(1 - 1 / (batch_number + 1), with_noun(writer.judgment_count, "judgment"))


def _import_criteria(
    options: _SharedOptions,
    criteria: Mapping[str, ColumnMapping | None],
    study: str,
    mapping: ColumnMapping | None,
    refused_rows: BadRows | None,
) -> ImportSummary:
    """Import the answers to each criterion as a study of its own. The notes of each study name all of them.

    Args:
        criteria: the mapping that reads the answers to each criterion, by name of the criterion.
        study: the first part of the studies' slugs.
        mapping: the mapping of all criteria, which is remembered for the next import.
    """
    slugs = {name: f"{study}-{slugify(name) or number}" for number, name in enumerate(criteria, start=1)}
    if len(set(slugs.values())) < len(slugs):
        raise DataConflict(
            f"Two criteria of {', '.join(slugs)} would have the same name as a study; rename one."
        )
    sentence = QUIRK_NOTES["criteria"].format(detail=", ".join(slugs.values()))
    summary_of_all = ImportSummary(", ".join(slugs.values()), created=False, counts={}, notes=[sentence])
    with transaction.atomic():
        for name, criterion_mapping in criteria.items():
            summary = _import_study(options, slugs[name], criterion_mapping, refused_rows)
            summary_of_all = replace(summary_of_all, created=summary_of_all.created or summary.created)
            counts = {f"{noun}, {name}": count for noun, count in summary.counts.items()}
            summary_of_all.counts.update(counts)
            summary_of_all.notes.extend(f"{name}: {note}" for note in summary.notes)
            if summary.created:
                criterion_study = find_study(slugs[name])
                criterion_study.notes |= {"criteria": slugs}
                criterion_study.save(update_fields=["notes"])
        remember_mapping(options.dataset, IMPORT_JOB, mapping)
        transaction.set_rollback(options.dry_run)
    return summary_of_all


def _has_judgments_of(study: Study, sources: Sequence[JudgmentSource], items: Mapping[str, int]) -> bool:
    """Return whether a source has the study's judgments. The sources read the same file in different ways.

    Raises:
        ImportProblem: the first source refuses the file, and no other has these judgments.
    """
    refusal = None
    for source in sources:
        captions = captions_of_dataset(study.dataset)
        try:
            digest = fingerprint_of(source.judgments(items, captions), source.winners(items))
        except ImportProblem as problem:
            if source is sources[0]:
                refusal = problem
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


def _create_imported_study(slug: str, dataset: str, protocol: str, design_keys: Mapping[str, Any]) -> Study:
    try:
        design = imported_design(slug, dataset, protocol, design_keys, slug=slug)
    except DesignError as error:
        if design_keys:  # the error may be about these
            raise
        raise DataConflict(f"The study cannot be called {slug!r}: {error}") from None
    study = create_study(design=design, user=acting_person())
    now = timezone.now()
    study.state, study.source = Study.State.CLOSED, Study.Source.IMPORTED
    study.generated_at = study.opened_at = study.closed_at = now
    study.save()
    return study
