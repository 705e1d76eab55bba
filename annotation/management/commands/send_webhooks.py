"""Send due webhook messages."""

from typing import Any

from annotation.webhooks.webhooks import send_webhooks
from common.commands import QuorumCommand


class Command(QuorumCommand):
    help = "Send now what is due to webhooks; the background worker does so by itself."
    example = "manage.py send_webhooks"

    def handle(self, *args: Any, **options: Any) -> None:
        delivered = send_webhooks()
        self.say(f"{delivered:,} message{'' if delivered == 1 else 's'} delivered.")
