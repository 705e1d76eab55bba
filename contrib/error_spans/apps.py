"""Declare what the feature “error_spans” adds to the platform: a kind of judgment, and its results."""

from config.features import Feature


class ErrorSpansConfig(Feature):
    name = "contrib.error_spans"
    questions = ("MQM", "ESA", "mark errors in a translation")
    kinds = ("contrib.error_spans.kind.spans.SpanAnnotation",)
    rehearsals = ("contrib.error_spans.kind.rehearsal.SpanRehearsal",)
    presets = ("kocmi-2024-esa", "freitag-2021-mqm")
    formats = ("contrib.error_spans.formats.SPANS",)
    pages = ("contrib.error_spans.views",)
    calls = "contrib.error_spans.calls"
    standings = ("contrib.error_spans.results.segments.standings_of_study",)  # of systems
    figure_sections = {"spans": "contrib.error_spans.report.span_agreement_section"}  # by figure
    report_sections = ("contrib.error_spans.report.marked_systems_section",)
    # By section and by words of `quorum`: the name for `manage.py`, what the command gives, and its operation or class.
    commands = {
        "Results": {
            "errors": (
                "error_spans",
                "scores of systems by marked errors",
                "contrib.error_spans.management.ErrorSpans",
            )
        }
    }
