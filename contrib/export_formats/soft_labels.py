"""Export soft labels, the distribution of people's answers to each unit, with its entropy."""

from __future__ import annotations

from typing import Any

from common.files import HashedFile
from evaluation.data.export.encodings import Encoding, ExportWork, write_line
from judgments.design.numbers import number_text
from judgments.models import Unit
from judgments.studies.designs import kind_of
from quorum.statistics.disagreement import soft_labels

ENTROPY_CORRECTION = "miller-madow"  # needs one unit alone, so each part of the file can be written alone


class SoftLabelLines(Encoding):
    tallies = True  # ``work.answers`` adds each judgment to ``work.tally``, for the signature
    counts = {"lines": 0, "left_out": 0}

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        kind = kind_of(work.study)
        labels = kind.outcomes
        for unit_ids, answers in work.answers():
            rows = Unit.objects.filter(pk__in=unit_ids, control=False).order_by("position", "pk")
            batch_units = rows.select_related("item", "reference", "first", "second")
            units = [unit for unit in batch_units if answers.get(unit.pk)]
            work.counts["left_out"] += len(batch_units) - len(units)
            if not units:
                continue
            unit_indexes: list[int] = []  # for each answer, the position of its unit
            values: list[Any] = []
            for index, unit in enumerate(units):
                unit_indexes += [index] * len(answers[unit.pk])
                values += [kind.outcome_of(answer) for answer in answers[unit.pk]]
            plain_labels = soft_labels(unit_indexes, values, labels=labels, correction="none")
            corrected_labels = soft_labels(unit_indexes, values, labels=labels, correction=ENTROPY_CORRECTION)
            names = [number_text(label) for label in labels]
            for index, unit in enumerate(units):
                has_entropy = plain_labels.judgments[index] > 1  # the entropy of one answer is always 0
                write_line(
                    file,
                    {
                        "unit": unit.key,
                        "image": unit.item.name,
                        "reference": unit.reference.key if unit.reference else None,
                        "first": unit.first.key if unit.first else None,
                        "second": unit.second.key if unit.second else None,
                        "n": int(plain_labels.judgments[index]),
                        "votes": dict(zip(names, plain_labels.counts[index].tolist(), strict=True)),
                        "distribution": dict(zip(names, plain_labels.shares[index].tolist(), strict=True)),
                        "entropy": float(plain_labels.entropy[index]) if has_entropy else None,
                        "entropy_corrected": float(corrected_labels.entropy[index]) if has_entropy else None,
                    },
                )
                work.counts["lines"] += 1
