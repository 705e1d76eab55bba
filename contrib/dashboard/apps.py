"""What the dashboard adds to the platform."""

from common.features import loaded_when_called
from config.features import Feature

JOB_KIND = "board"


class DashboardConfig(Feature):
    name = "contrib.dashboard"
    pages = ("contrib.dashboard.views",)
    calls = "contrib.dashboard.calls"

    def start(self) -> None:
        from judgments.jobs import INTERACTIVE, register

        register(JOB_KIND, "contrib.dashboard.handlers.board", queue=INTERACTIVE, scope="reports")

    def connect_erasing(self) -> None:
        from annotation.models.people import person_erased
        from judgments.models.studies import QUIET_JOBS, pages_discarded

        QUIET_JOBS.add(JOB_KIND)  # of which some may still wait once the feature is off
        forget = loaded_when_called("contrib.dashboard.snapshot.forget_snapshot")
        for signal in (pages_discarded, person_erased):
            signal.connect(forget, weak=False)
