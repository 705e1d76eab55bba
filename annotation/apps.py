"""The configuration of the annotation app: its pages of the admin, signals, scheduled tasks and kinds of job."""

from typing import Any

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from judgments.jobs.registry import CROWD, INTERACTIVE, JobKind, register, schedule

MINUTE_SECONDS = 60

PATH = "annotation.handlers"  # of the functions that run jobs


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = "Annotation"
    pages = (
        "annotation.admin.needs",
        "annotation.admin.tables",
        "annotation.crowds.views.lists",
        "annotation.crowds.views.page",
        "annotation.crowds.panel.page",
        "annotation.launch.views.checks",
        "annotation.launch.views.page",
        "annotation.money.views.cost",
        "annotation.money.views.limits",
        "annotation.privacy.views.page",
        "annotation.quality.controls_page",
        "annotation.quality.rules_page",
        "annotation.quality.work_page",
        "annotation.quality.cases.page",
        "annotation.work.page",
    )

    jobs = {
        "sync_crowd": JobKind(f"{PATH}.sync_crowd", CROWD, _("Comparison with the crowd"), scope="money"),
        "end_retention": JobKind(
            f"{PATH}.end_retention",
            INTERACTIVE,
            _("Removal of participants' identities"),
            "workers",
            is_essential=True,
        ),
        "finish_erasure": JobKind(
            f"{PATH}.finish_erasure",
            INTERACTIVE,
            _("Removal of files that name an erased participant"),
            scope="workers",
            is_essential=True,
        ),
    }

    def ready(self) -> None:
        from django.conf import settings

        from judgments.models.studies import pages_discarded, reasons_against_discarding

        reasons_against_discarding.connect(_describe_taken_work)
        pages_discarded.connect(_forget_consent)
        schedule(
            "annotation.crowds.sync.schedule.queue_due_syncs",
            # twice as often as studies are due, so that none is late by a whole interval
            every=lambda: max(1, settings.CROWD_SYNC_SECONDS // 2),
            queue=CROWD,
        )
        schedule("annotation.privacy.retention.enqueue_expired_retentions", every=lambda: 60 * MINUTE_SECONDS)
        schedule("annotation.work.seats.forget_addresses", every=lambda: 5 * MINUTE_SECONDS)
        register(self.jobs)


def _describe_taken_work(**signal_arguments: Any) -> str:
    from annotation.work.taken_work import describe_taken_work

    return describe_taken_work(signal_arguments["study"])


def _forget_consent(**signal_arguments: Any) -> None:
    from annotation.privacy.consent import delete_unread_versions

    delete_unread_versions(signal_arguments["study"])
