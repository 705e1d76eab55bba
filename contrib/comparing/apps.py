"""Declare what the feature “comparing” adds to the platform: comparisons of metrics, studies, files and releases."""

from config.features import Feature


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

    def start(self) -> None:
        from judgments.jobs.registry import INTERACTIVE, register

        register(
            "compare_metrics",
            "contrib.comparing.handlers.compare_metrics_of_study",
            queue=INTERACTIVE,
            scope="reports",
        )
        register(
            "compare_releases",
            "contrib.comparing.handlers.compare_releases_of_study",
            queue=INTERACTIVE,
            scope="exports",
        )
