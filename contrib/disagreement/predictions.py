"""Read, store and remove predictions of soft labels: distributions of people's answers that a model predicts."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext_noop
from rest_framework import serializers

from common.amounts import with_noun
from common.errors import DataConflict
from common.incoming.json_documents import load_json
from common.parameters import FileText, Parameters
from contrib.disagreement.soft_labels import check_soft_labels
from evaluation.data.judgment_sets.records import Units
from evaluation.errors import EvaluationError
from evaluation.models import Prediction
from judgments.access.study_log import note_event
from judgments.importers.textio import read_lines
from judgments.models import Study, Unit
from judgments.operations import Outcome, find_row, operation
from judgments.studies.designs import kind_of
from quorum.numeric.arrays import Floats, Ints, places_in
from quorum.statistics.disagreement import SoftLabels

ZERO_SHARE_PROBLEM = "gives 0 to what somebody answered; expected more, as its cost is infinite."
COST_IS_INFINITE = gettext_noop(
    "the prediction gives probability 0 to an answer that was given, so the cross-entropy is infinite"
)

# how much a sum of shares may differ from 1, since shares may be rounded to three digits
SUM_TOLERANCE = 2e-3


def read_predictions(path: Path, units: Units, positions: Ints, soft: SoftLabels) -> Floats:
    """Return the (U, L) predicted shares of L labels for the U units of ``soft``; nan for units missing in the file.

    ``positions`` are the (U,) indices of these units in ``units``.

    Raises:
        ImportProblem: the file cannot be read.
        EvaluationError: a line is invalid.
    """
    keys = units.key.to_pylist()
    index_by_unit = {keys[position]: index for index, position in enumerate(positions.tolist())}
    predicted_shares = np.full(soft.shares.shape, np.nan)
    lines = (line for _, line in read_lines(path, newline=""))
    for place, unit, shares in read_distributions(lines, f"{path}, line ", set(keys), soft.labels.tolist()):
        if unit not in index_by_unit:
            continue  # no answer to this unit is used
        if (shares[soft.shares[index_by_unit[unit]] > 0] == 0).any():
            raise EvaluationError(f"{place} {ZERO_SHARE_PROBLEM}")
        predicted_shares[index_by_unit[unit]] = shares
    if np.isnan(predicted_shares).all():
        raise EvaluationError(f"{path} predicts no judged unit of the study.")
    return predicted_shares


def read_distributions(
    lines: Iterable[str], source: str, units: set[str], possible_answers: Sequence[float]
) -> Iterator[tuple[str, str, Floats]]:
    """Yield the place, the unit's key and the (L,) shares of L answers that each line states.

    A line is ``{"unit": "KEY", "distribution": {"1": 0.3, "2": 0.7}}``. Messages name a place: ``soft.jsonl, line 3``.

    Args:
        source: the beginning of a place, to which the line number is appended.
        units: keys of the study's units.
        possible_answers: the L possible answers, as numbers.

    Raises:
        EvaluationError: a line is invalid.
    """
    labels = [f"{value:g}" for value in possible_answers]
    units_read: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"{source}{number}"
        try:
            row = load_json(line)
            unit = row["unit"]
            share_by_label = {str(label): float(share) for label, share in row["distribution"].items()}
            unit_exists = unit in units  # TypeError if it is a list or an object
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
            raise EvaluationError(
                f'{place} cannot be read; expected such as {{"unit": "...", "distribution": {{"1": 0.3, "2": 0.7}}}}.'
            ) from None
        if not unit_exists:
            raise EvaluationError(f"{place} names unit {unit!r:.60}, which the study does not have.")
        if unknown_labels := set(share_by_label) - set(labels):
            raise EvaluationError(
                f"{place} has answer {min(unknown_labels)!r:.60}; expected {', '.join(labels)}."
            )
        shares = np.array([share_by_label.get(label, 0.0) for label in labels])
        total = shares.sum()
        # The comparison is also false for nan.
        if not ((shares >= 0).all() and abs(total - 1) <= SUM_TOLERANCE):
            raise EvaluationError(f"{place} adds up to {total:g}; expected shares from 0 whose sum is 1.")
        if unit in units_read:
            raise EvaluationError(f"{place} tells unit {unit!r} again.")
        units_read.add(unit)
        yield place, unit, shares / total


def store_predictions(*, study: Study, name: str, lines: Iterable[str], by: User | None = None) -> str:
    """Store the distributions in JSON lines, all or none; return a sentence about what was stored.

    Storing the same lines again changes nothing. Every answer must have a share above 0, since somebody may give it
    later.

    Args:
        lines: the JSON lines with their line ends.

    Raises:
        EvaluationError: a line is invalid.
        DataConflict: other distributions are stored under the name.
    """
    digest = hashlib.sha256()

    def hashed_lines() -> Iterator[str]:
        for line in lines:
            digest.update(line.replace("\r\n", "\n").encode())  # forms send \r\n
            yield line

    units = dict(Unit.objects.filter(study=study, control=False).values_list("key", "pk"))
    labels = list(kind_of(study).outcomes)
    unit_ids: list[int] = []
    distributions: list[Floats] = []
    for place, unit, shares in read_distributions(hashed_lines(), "Line ", set(units), labels):
        if not shares.all():
            raise EvaluationError(
                f"{place} gives 0 to an answer; expected more, as its cost would be infinite."
            )
        unit_ids.append(units[unit])
        distributions.append(shares)
    if not distributions:
        raise EvaluationError("The file predicts no unit; expected JSON lines with unit and distribution.")
    sha256 = digest.hexdigest()
    with transaction.atomic():
        # Simultaneous imports wait for each other, so that the second one finds what the first one stored.
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        old_prediction = Prediction.objects.filter(study=study, name=name).first()
        if old_prediction is not None and old_prediction.sha256 == sha256:
            return f"{name}: the same predictions were there already; nothing changed."
        if old_prediction is not None:
            raise DataConflict(
                f"This study has other predictions of {name!r}; expected another name, or remove them first."
            )
        Prediction.objects.create(
            study=study,
            name=name,
            units=np.array(unit_ids, dtype="<i8").tobytes(),
            shares=np.array(distributions, dtype="<f8").tobytes(),
            known=len(distributions),
            sha256=sha256,
            imported_by=by,
        )
        sentence = f"Predictions of {name!r} were imported: {with_noun(len(distributions), 'unit')}."
        note_event(study=study, what="predictions-imported", sentence=sentence, by=by)
    return sentence


def imported_predictions(study: Study, units: Ints) -> dict[str, Floats]:
    """Return each model's (U, L) predicted shares of L labels, by name; nan without a prediction.

    ``units`` are the (U,) row ids of the units. Models that predict none of them are left out.
    """
    predictions = {}
    for prediction in Prediction.objects.filter(study=study).order_by("name"):
        indices = places_in(np.frombuffer(prediction.units, dtype="<i8"), units)
        shares = np.frombuffer(prediction.shares, dtype="<f8").reshape(prediction.known, -1)
        is_predicted = indices >= 0  # the index of a unit without a prediction is -1
        if is_predicted.any():
            predictions[prediction.name] = np.where(is_predicted[:, np.newaxis], shares[indices], np.nan)
    return predictions


class PredictionsNameRequest(Parameters):
    name = serializers.CharField(
        max_length=80, label="Name of the model", help_text="What it is called in tables, such as soft-net-1."
    )


class ImportPredictionsRequest(PredictionsNameRequest):
    """The distributions of people's answers that a model predicts."""

    predictions = FileText(
        label="Distributions",
        help_text="JSON lines with unit and distribution, as the export soft-labels has them.",
    )


@operation("import-predictions", "Import predicted distributions", parameters=ImportPredictionsRequest)
def import_predictions(*, study: Study, by: User | None, name: str, predictions: str) -> Outcome:
    """Store the distributions that a model predicts, to compare them with people's answers.

    Repeating changes nothing.
    """
    check_soft_labels(study)
    lines = io.StringIO(predictions, newline="")
    return Outcome(store_predictions(study=study, name=name, lines=lines, by=by))


@operation("remove-predictions", "Remove predicted distributions", row="prediction")
def remove_predictions(*, study: Study, by: User | None, prediction: str) -> Outcome:
    """Remove the distributions of a model."""
    row = find_row(Prediction.objects.filter(study=study), prediction)
    sentence = f"Predictions of {row.name!r} were removed."
    note_event(study=study, what="predictions-removed", sentence=sentence, by=by)
    row.delete()
    return Outcome(sentence)
