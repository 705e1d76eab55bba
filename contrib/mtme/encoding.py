"""Export an archive of files in the folder layout of mt-metrics-eval, which the module ``folder`` shows.

A first stage adds up people's answers to each unit, and a second scores each system by metrics. When both are done, the
folder is written from their results and packed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from django.db.models import F

from annotation.snapshots import Snapshot
from common.files import HashedFile
from contrib.mtme.cells import UnitCells, cells_of_captions, cells_of_options, cells_of_pairs
from contrib.mtme.folder import write_mtme_folder, zip_folder
from contrib.mtme.judged_systems import JudgedSystems, collect_systems, judged_items
from contrib.mtme.references import SegmentReferences
from evaluation.data.export.encodings import Encoding, ExportWork, Stage
from evaluation.errors import ExportError
from judgments.kinds.base import Kind
from judgments.models import Study, System
from judgments.studies.designs import kind_of

CELLS_SUFFIX, SCORES_SUFFIX = "cells", "scores"  # suffixes of the parts of the two stages


class MtmeEncoding(Encoding):
    """The encoding of an archive with one folder, named after the study.

    A part of the first stage has four float64 for each ``Cell``: system, segment, total, votes. One of the second has
    a JSON line for each system: ``{"system": ROW_ID, "corpus": {METRIC: SCORE}, "images": {METRIC: [SCORE, ...]}}``.
    Counts: "references" are the most of any segment, "scored" cells with votes, "left_out" answers about no system.
    """

    counts = dict.fromkeys(("systems", "segments", "references", "scored", "left_out"), 0)
    tallies = True  # the first stage adds all judgments to the export's signature

    def __init__(self) -> None:
        self._empty_table: JudgedSystems | None = None  # None once the parts of the first stage are read
        self._table_and_references: tuple[JudgedSystems, SegmentReferences] | None = None

    def prepare(self, study: Study, moment: Snapshot) -> dict[str, Any]:
        """Return the systems and the number of segments as of now, since systems may be imported during the export."""
        systems = System.objects.of_study(study).captioners().order_by("name", "pk")
        return {
            "systems": list(systems.values_list("pk", flat=True)),
            "segments": judged_items(study).count(),
        }

    def stages(self, work: ExportWork) -> Sequence[Stage]:
        systems = System.objects.filter(pk__in=work.preparation["systems"]).annotate(position=F("pk"))
        scoring_stage = Stage(
            SCORES_SUFFIX,
            pieces=lambda study: systems,  # a stage orders pieces by `position`
            pieces_noun="systems",
            units_per_piece=max(1, work.preparation["segments"]),  # a system takes as long as so many units
        )
        return Stage(CELLS_SUFFIX), scoring_stage

    def load(self, work: ExportWork) -> None:
        if work.stage:  # the second stage
            self._read_parts(work)
        else:
            self._empty_table = collect_systems(work.study, work.preparation["systems"])

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        if work.stage:
            self._write_scores(work, file)
        else:
            self._write_cells(work, file)

    def _write_cells(self, work: ExportWork, file: HashedFile) -> None:
        assert self._empty_table is not None
        decisions, kind = work.moment.decisions, kind_of(work.study)
        make_cells = _cells_function(kind)
        for _unit_ids, included_answers in work.answers():
            # A decision of an adjudicator replaces the answers to its unit.
            answers = {
                unit: [decisions[unit]] * len(unit_answers) if unit in decisions else unit_answers
                for unit, unit_answers in included_answers.items()
            }
            # An answer with marks has one part, which is called "": the number on which agreement is measured.
            if kind.is_open and not kind.names_best:
                answers = {
                    unit: [kind.aggregation.codes(None, answer)[""] for answer in unit_answers]
                    for unit, unit_answers in answers.items()
                }
            cells, omitted_count = make_cells(self._empty_table, answers)
            file.write(np.array(cells, dtype=np.float64).tobytes())
            work.counts["left_out"] += omitted_count

    def _write_scores(self, work: ExportWork, file: HashedFile) -> None:
        table, references = self._read_parts(work)
        for pk in work.pieces:
            if pk in table.systems and references.has_texts:
                file.write_text(f"{json.dumps({'system': pk, **references.scores(table, pk)})}\n")

    def _read_parts(self, work: ExportWork) -> tuple[JudgedSystems, SegmentReferences]:
        """Return the table with the answers of all parts of the first stage, and the references of its segments."""
        if self._table_and_references is None:
            table = self._empty_table or collect_systems(work.study, work.preparation["systems"])
            for path in sorted(work.folder.glob(f"*.{CELLS_SUFFIX}")):
                cells = np.fromfile(path, dtype=np.float64).reshape(-1, 4)
                indices = cells[:, 0].astype(np.int64), cells[:, 1].astype(np.int64)
                np.add.at(table.total, indices, cells[:, 2])
                np.add.at(table.votes, indices, cells[:, 3])
            self._empty_table = None
            judged_table = table.without_unjudged()
            if not judged_table.votes.any():
                raise ExportError(
                    f"No caption of a system has an answer that counts in study {work.study.slug!r}."
                )
            self._table_and_references = judged_table, SegmentReferences.for_study(work.study, judged_table)
        return self._table_and_references

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        score_files = list(parts)
        table, references = self._read_parts(work)
        parent = work.folder / "folder"
        # It exists if an earlier run was stopped while it joined parts.
        shutil.rmtree(parent, ignore_errors=True)
        max_references = write_mtme_folder(parent / work.study.slug, work, table, references, score_files)
        zip_folder(parent, file)
        work.counts |= {
            "systems": len(table.systems),
            "segments": len(table.segments),
            "references": max_references if references.has_texts else 0,
            "scored": int((table.votes > 0).sum()),
        }


def _cells_function(kind: Kind) -> Callable[[JudgedSystems, Mapping[int, Sequence[Any]]], UnitCells]:
    if kind.compares_pairs:
        return cells_of_pairs
    return cells_of_options if kind.names_best else cells_of_captions
