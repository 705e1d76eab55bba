"""Send what webhooks are to hear."""

from typing import Any

from annotation.webhooks.webhooks import send_webhooks
from judgments.management.base import QuorumCommand


class Command(QuorumCommand):
    """What the background worker does every few seconds."""

    help = "Send now what is due to webhooks; the background worker does so by itself."
    example = "manage.py send_webhooks"

    def handle(self, *args: Any, **options: Any) -> None:
        delivered = send_webhooks()
        self.say(f"{delivered:,} message{'' if delivered == 1 else 's'} delivered.")
