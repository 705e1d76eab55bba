"""Read-only lists of consensus, analyses and scores in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from unfold.decorators import display

from evaluation.models import Analysis, Consensus, MetricScore
from judgments.access.visible_rows import visible_rows
from judgments.admin.base import ReadOnlyAdmin
from judgments.admin.columns import format_json, format_short, study_column, study_label
from judgments.admin.filters import KnownValuesFilter
from judgments.studies.designs import installed_kind_of

MAX_ANSWER_LENGTH = 160  # characters of a consensus in the list


@admin.register(Consensus)
class ConsensusAdmin(ReadOnlyAdmin):
    help = "statistics.md#consensus-quorumstatisticsaggregation"
    empty_list_text = "To fill this list, press “Compute now” on the page “Results” of a study."
    list_display = (
        "subject",
        study_column,
        "value_short",
        "share_short",
        "margin_short",
        "n",
        "tie",
        "source",
    )
    list_filter = ("tie", "source", "study")
    list_select_related = ("study", "unit__first", "pair")
    search_fields = ("=unit__key", "=pair__key")
    fields = (
        "study",
        "unit",
        "pair",
        "value_words",
        "share_short",
        "margin_short",
        "n",
        "tie",
        "votes_short",
        "source",
    )
    readonly_fields = ("value_words", "share_short", "margin_short", "votes_short")

    @display(description="value", ordering="value")
    def value_short(self, consensus: Consensus) -> str:
        return Truncator(self.value_words(consensus)).chars(MAX_ANSWER_LENGTH)

    @display(description="value")
    def value_words(self, consensus: Consensus) -> str:
        if consensus.value is None and consensus.answer and consensus.unit is not None:
            kind = installed_kind_of(consensus.study)
            return "; ".join(kind.describe_consensus(consensus.answer, unit=consensus.unit)) or "–"
        return format_short(consensus.value)

    @display(description="share", ordering="share")
    def share_short(self, consensus: Consensus) -> str:
        return format_short(consensus.share)

    @display(description="lead of the winner", ordering="margin")
    def margin_short(self, consensus: Consensus) -> str:
        return format_short(consensus.margin)

    @display(description="votes")
    def votes_short(self, consensus: Consensus) -> str:
        kind = installed_kind_of(consensus.study)
        labels = {str(choice.value): choice.text for choice in kind.choices}
        return format_json({labels.get(answer, answer): count for answer, count in consensus.votes.items()})

    @display(description="item or pair")
    def subject(self, consensus: Consensus) -> str:
        if consensus.pair:
            return f"pair {consensus.pair.key}"
        return consensus.unit.key if consensus.unit else "–"


@admin.register(Analysis)
class AnalysisAdmin(ReadOnlyAdmin):
    help = "evaluation.md"
    empty_list_text = "To create analyses, press “Compute now” on the page “Results” of a study."
    list_display = ("what", study_column, "signature", "created_at")
    list_filter = ("what", "study")
    list_select_related = ("study",)
    search_fields = ("signature", "study__name")
    fields = ("study", "what", "signature", "judgments", "settings", "data_hash", "created_at")


class MetricFilter(KnownValuesFilter):
    title, parameter_name = "metric", "metric"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        # Names are read from analyses, of which there are fewer than scores.
        rows = visible_rows(Analysis.objects.filter(what=Analysis.Kind.META_EVALUATION), request.user)
        metrics: set[str] = set()
        for names in rows.values_list("settings__metrics", flat=True):
            metrics.update(names or ())
        return [(name, name) for name in sorted(metrics)]


@admin.register(MetricScore)
class MetricScoreAdmin(ReadOnlyAdmin):
    help = "metrics.md"
    empty_list_text = "To fill this list, press “Compute now” on the page “Results” of a study."
    list_display = ("metric", "study", "subject", "first_short", "second_short")
    list_filter = (MetricFilter, "analysis__study")
    list_select_related = ("analysis__study", "pair", "unit")
    search_fields = ("=pair__key", "=unit__key")
    fields = ("metric", "subject", "first_short", "second_short")
    readonly_fields = ("subject", "first_short", "second_short")

    @display(description="study")
    def study(self, score: MetricScore) -> SafeString | str:
        return study_label(score.analysis.study)

    @display(description="score of the first candidate", ordering="first")
    def first_short(self, score: MetricScore) -> str:
        return format_short(score.first)

    @display(description="score of the second candidate", ordering="second")
    def second_short(self, score: MetricScore) -> str:
        return format_short(score.second)

    @display(description="item or pair")
    def subject(self, score: MetricScore) -> str:
        if score.pair:
            return f"pair {score.pair.key}"
        return score.unit.key if score.unit else "–"
