"""What the lists of this app can be narrowed by."""

from __future__ import annotations

import django_filters as filters

from annotation.models import Assignment, Judgment, Worker
from judgments.api.filters import Filters, TrueOrFalse, study_filter


class WorkerFilters(Filters):
    """Of workers; ``study`` gives those who took part."""

    study = study_filter(field_name="participations__study")

    class Meta:
        model = Worker
        fields = ["study", "name", "source", "anonymous"]


class AssignmentFilters(Filters):
    """Of assignments."""

    study = study_filter()
    hit = filters.CharFilter(field_name="hit__key")
    worker = filters.CharFilter(field_name="worker__name")

    class Meta:
        model = Assignment
        fields = ["study", "hit", "worker", "state", "simulated"]


class JudgmentFilters(Filters):
    """Of judgments."""

    study = study_filter(field_name="assignment__study")
    unit = filters.CharFilter(field_name="unit__key")
    hit = filters.CharFilter(field_name="assignment__hit__key")
    worker = filters.CharFilter(field_name="assignment__worker__name")
    control = TrueOrFalse(field_name="unit__control")
    simulated = TrueOrFalse(field_name="assignment__simulated")

    class Meta:
        model = Judgment
        fields = ["study", "unit", "hit", "worker", "assignment", "value", "control", "simulated"]
