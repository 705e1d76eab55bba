"""Declare what the feature “webhooks” adds to the platform."""

from typing import Any

from common.environment import Environment
from common.features import lazy_function
from config.features import Feature


class WebhooksConfig(Feature):
    name = "contrib.webhooks"
    pages = ("contrib.webhooks.page",)
    calls = "contrib.webhooks.calls"
    commands = {
        "The installation": {
            "server webhooks": (
                "send_webhooks",
                "send now what waits",
                "contrib.webhooks.management.SendWebhooks",
            )
        }
    }
    scopes = {
        "webhooks:read": "webhooks and their messages",
        "webhooks:write": "add, test, enable, disable and remove webhooks, and change their secrets",
    }
    queues = {"webhooks": ("webhooks.WebhookDelivery", "made_at")}  # /health/metrics counts these rows

    @classmethod
    def settings(cls, env: Environment) -> dict[str, Any]:
        return {
            # seconds between two rounds of sending
            "WEBHOOK_SECONDS": env.int("WEBHOOK_SECONDS", default=5),
            "WEBHOOK_LOG_DAYS": env.int("WEBHOOK_LOG_DAYS", default=30),
            # Designers enter the addresses. Allow this only if designers may reach this server's own network.
            "WEBHOOK_PRIVATE": env.bool("WEBHOOK_PRIVATE", default=False),
        }

    def start(self) -> None:
        from annotation.models.assignments import assignment_submitted, submission_annotations
        from annotation.models.quality import worker_excluded
        from common.features import feature_settings
        from contrib.webhooks.models import HEARS_OF_SUBMISSIONS, Webhook
        from judgments.jobs.registry import CROWD, schedule

        # An annotation of each submitted assignment, with which `note_submission` needs no query of its own.
        submission_annotations[HEARS_OF_SUBMISSIONS] = Webhook.hears_of_submissions()
        assignment_submitted.connect(lazy_function("contrib.webhooks.events.note_submission"), weak=False)
        worker_excluded.connect(lazy_function("contrib.webhooks.events.note_exclusion"), weak=False)
        schedule(
            "contrib.webhooks.delivery.send_webhooks",
            every=lambda: max(1, feature_settings.WEBHOOK_SECONDS),
            queue=CROWD,
        )

    def connect_always(self) -> None:
        from annotation.models.privacy import identifying_word_wanted, person_erased

        # Even if the feature is off, erasing a person replaces this pseudonym, too, in what is stored.
        pseudonym = lazy_function("contrib.webhooks.events.pseudonym_for_webhook")
        identifying_word_wanted.connect(pseudonym, weak=False)
        person_erased.connect(lazy_function("contrib.webhooks.events.forget_people"), weak=False)
