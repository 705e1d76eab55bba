"""Declare what the feature “comparing” adds to the platform: comparisons of metrics, studies, files and releases."""

from django.utils.translation import gettext_lazy as _

from config.features import Feature
from judgments.jobs.registry import INTERACTIVE, JobKind


class ComparingConfig(Feature):
    name = "contrib.comparing"
    pages = ("contrib.comparing.views", "contrib.comparing.release_page")
    calls = "contrib.comparing.calls"
    agreement_extensions = ("contrib.comparing.agreement.SourceComparison",)  # options of `agreement`
    # By section and by words of `quorum`: the name for `manage.py`, what the command gives, and its operation or class.
    commands = {
        "Results": {
            "metrics compare": (
                "compare_metrics",
                "by how much one agrees with people better than another",
                "contrib.comparing.management.CompareMetrics",
            )
        },
        "Files, without a database": {
            "compare": (
                "compare_releases",
                "what changed between two bundles",
                "contrib.comparing.management.CompareReleases",
            )
        },
    }
    jobs = {
        "compare_metrics": JobKind(
            "contrib.comparing.handlers.compare_metrics_of_study",
            INTERACTIVE,
            _("Comparison of two metrics"),
            scope="reports",
        ),
        "compare_releases": JobKind(
            "contrib.comparing.handlers.compare_releases_of_study",
            INTERACTIVE,
            _("Comparison of releases"),
            scope="exports",
        ),
    }
