"""Declare what the feature “dashboard” adds to the platform: a page, a call and a job."""

from django.utils.translation import gettext_lazy as _

from common.features import lazy_function
from config.features import Feature
from judgments.jobs.registry import INTERACTIVE, JobKind


class DashboardConfig(Feature):
    name = "contrib.dashboard"
    pages = ("contrib.dashboard.views",)
    calls = "contrib.dashboard.calls"
    additions = {"evaluation/parts/launch_next.html": "launch-next"}
    jobs = {
        "board": JobKind(
            "contrib.dashboard.handlers.make_snapshot",
            INTERACTIVE,
            _("Results for the dashboard"),
            scope="reports",
            is_automatic=True,
        ),
    }

    def connect_always(self) -> None:  # also if the feature is off now, since stored snapshots remain
        from annotation.models.privacy import person_erased
        from judgments.models.studies import pages_discarded

        forget = lazy_function("contrib.dashboard.snapshot.forget_snapshot")
        for signal in (pages_discarded, person_erased):
            signal.connect(forget, weak=False)  # nothing else keeps the function
