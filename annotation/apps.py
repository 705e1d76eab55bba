"""The annotation app."""

from typing import Any

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = "Annotation"

    def ready(self) -> None:
        from django.conf import settings

        from judgments.jobs import register, schedule
        from judgments.studies.discarding import pages_discarded, pages_in_use

        pages_in_use.connect(_describe_taken_work)
        pages_discarded.connect(_forget_consent)
        schedule(
            "annotation.crowds.sync.sync_what_is_due", every=lambda: max(1, settings.CROWD_SYNC_SECONDS // 2)
        )
        schedule("annotation.webhooks.webhooks.send_webhooks", every=lambda: max(1, settings.WEBHOOK_SECONDS))
        register("import_judgments", "annotation.handlers.import_judgments", scope="judgments")
        register("sync_crowd", "annotation.handlers.sync_crowd", scope="money", patient=True)
        schedule("annotation.privacy.retention.end_what_is_over", every=lambda: 3600)
        register("end_retention", "annotation.handlers.end_retention", scope="workers")
        register("finish_erasure", "annotation.handlers.finish_erasure", scope="workers")


def _describe_taken_work(**about: Any) -> str:
    from annotation.work.extending import describe_taken_work

    return describe_taken_work(about["study"])


def _forget_consent(**about: Any) -> None:
    from annotation.privacy.consent import forget_unread_consent

    forget_unread_consent(about["study"])
