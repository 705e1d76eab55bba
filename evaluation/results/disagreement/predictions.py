"""A model's own distributions of people's answers, from a file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from rest_framework import serializers

from common.amounts import counted
from common.errors import DataConflict
from common.incoming import load_json
from common.parameters import FileText, Parameters
from evaluation.data.export.formats.soft_labels import has_soft_labels
from evaluation.data.judgment_sets.records import MOST_VALUES, Units
from evaluation.errors import EvaluationError
from evaluation.models import Prediction
from evaluation.numeric.arrays import Floats, Ints, places_in
from evaluation.statistics.disagreement import SoftLabels
from judgments.models import Study, Unit
from judgments.studies.log import note_event
from judgments.studies.studies import kind_of
from judgments.study_operations import Outcome, operation, row_of

FAR_FROM_ONE = 2e-3  # by which shares that are told in three digits may miss it
INFINITE = "gives 0 to what somebody answered; expected more, as its cost is infinite."


def check_soft_labels(study: Study) -> None:
    """Raise EvaluationError where answers are no few labels."""
    if not has_soft_labels(study):
        raise EvaluationError(
            _(
                "Study %(slug)r (%(protocol)s) has no soft labels; expected answers of at most %(most)s values."
            )
            % {"slug": study.slug, "protocol": study.protocol, "most": MOST_VALUES}
        )


def read_predictions(path: Path, units: Units, positions: Ints, soft: SoftLabels) -> Floats:
    """Return (U, L) predicted shares of each label, nan for units that the file leaves out. Raise EvaluationError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise EvaluationError(f"{path} cannot be read; expected JSON lines in UTF-8.") from None
    keys = units.key.to_pylist()
    judged = {keys[position]: number for number, position in enumerate(positions.tolist())}
    predicted = np.full(soft.shares.shape, np.nan)
    for where, unit, shares in _read_lines(text, f"{path}, line ", set(keys), soft.labels.tolist()):
        if unit not in judged:
            continue  # nobody's answer counts
        if (shares[soft.shares[judged[unit]] > 0] == 0).any():
            raise EvaluationError(f"{where} {INFINITE}")
        predicted[judged[unit]] = shares
    if np.isnan(predicted).all():
        raise EvaluationError(f"{path} predicts no judged unit of the study.")
    return predicted


def _read_lines(
    text: str, source: str, units: set[str], values: Sequence[float]
) -> Iterator[tuple[str, str, Floats]]:
    labels = [f"{value:g}" for value in values]
    seen: set[str] = set()
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{source}{number}"
        try:
            row = load_json(line)
            unit = row["unit"]
            by_label = {str(label): float(share) for label, share in row["distribution"].items()}
            known = unit in units
        except (ValueError, LookupError, TypeError, AttributeError):
            raise EvaluationError(
                f'{where} cannot be read; expected such as {{"unit": "...", "distribution": {{"1": 0.3, "2": 0.7}}}}.'
            ) from None
        if not known:
            raise EvaluationError(f"{where} names unit {unit!r}, which the study does not have.")
        if wrong := set(by_label) - set(labels):
            raise EvaluationError(f"{where} has answer {min(wrong)!r}; expected {', '.join(labels)}.")
        shares = np.array([by_label.get(label, 0.0) for label in labels])
        total = shares.sum()
        if not ((shares >= 0).all() and abs(total - 1) <= FAR_FROM_ONE):  # false for nan, too
            raise EvaluationError(f"{where} adds up to {total:g}; expected shares from 0 whose sum is 1.")
        if unit in seen:
            raise EvaluationError(f"{where} tells unit {unit!r} again.")
        seen.add(unit)
        yield where, unit, shares / total


def store_predictions(*, study: Study, name: str, predictions: str, by: User | None = None) -> str:
    """Store the distributions of JSON lines, all or none, and return what was done; the same again changes nothing.

    Every answer has a share above 0, as somebody may give it later.

    Raises:
        EvaluationError: a line is wrong. DataConflict: the name has other distributions.
    """
    predictions = predictions.replace("\r\n", "\n")  # as a form sends them
    sha256 = hashlib.sha256(predictions.encode()).hexdigest()
    units = dict(Unit.objects.filter(study=study, control=False).values_list("key", "pk"))
    labels = list(kind_of(study).outcomes)
    numbers, rows = [], []
    for where, unit, shares in _read_lines(predictions, "Line ", set(units), labels):
        if not shares.all():
            raise EvaluationError(
                f"{where} gives 0 to an answer; expected more, as its cost would be infinite."
            )
        numbers.append(units[unit])
        rows.append(shares)
    if not rows:
        raise EvaluationError("The file predicts no unit; expected JSON lines with unit and distribution.")
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        stored = Prediction.objects.filter(study=study, name=name).first()
        if stored is not None and stored.sha256 == sha256:
            return f"{name}: the same predictions were there already; nothing changed."
        if stored is not None:
            raise DataConflict(
                f"This study has other predictions of {name!r}; expected another name, or remove them first."
            )
        Prediction.objects.create(
            study=study,
            name=name,
            units=np.array(numbers, dtype="<i8").tobytes(),
            shares=np.array(rows, dtype="<f8").tobytes(),
            known=len(rows),
            sha256=sha256,
            imported_by=by,
        )
        sentence = f"Predictions of {name!r} were imported: {counted(len(rows), 'unit')}."
        note_event(study=study, what="predictions-imported", sentence=sentence, by=by)
    return sentence


def imported_predictions(study: Study, units: Ints) -> dict[str, Floats]:
    """Return name -> (U, L) shares for the units with these row ids, nan where none is told."""
    predictions = {}
    for prediction in Prediction.objects.filter(study=study).order_by("name"):
        at = places_in(np.frombuffer(prediction.units, dtype="<i8"), units)
        shares = np.frombuffer(prediction.shares, dtype="<f8").reshape(prediction.known, -1)
        if (at >= 0).any():
            predictions[prediction.name] = np.where((at >= 0)[:, np.newaxis], shares[at], np.nan)
    return predictions


class PredictionsName(Parameters):
    name = serializers.CharField(
        max_length=80,
        label="Name of the model",
        help_text="What it is called in tables, such as soft-net-1.",
    )


class ImportPredictionsRequest(PredictionsName):
    """A model's own distributions of people's answers."""

    predictions = FileText(
        label="Distributions",
        help_text="JSON lines with unit and distribution, as the export soft-labels has them.",
    )


@operation("import-predictions", "Import predicted distributions", parameters=ImportPredictionsRequest)
def import_predictions(*, study: Study, by: User | None, name: str, predictions: str) -> Outcome:
    """Store a model's distributions, to be held against people's. The same again changes nothing."""
    check_soft_labels(study)
    return Outcome(store_predictions(study=study, name=name, predictions=predictions, by=by))


@operation("remove-predictions", "Remove predicted distributions", row="prediction")
def remove_predictions(*, study: Study, by: User | None, prediction: str) -> Outcome:
    """Remove a model's distributions."""
    row = row_of(Prediction.objects.filter(study=study), prediction)
    sentence = f"Predictions of {row.name!r} were removed."
    note_event(study=study, what="predictions-removed", sentence=sentence, by=by)
    row.delete()
    return Outcome(sentence)
