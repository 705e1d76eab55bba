"""The command that sends the due messages of webhooks."""

from typing import Any

from common.commands import QuorumCommand
from contrib.webhooks.delivery import send_webhooks


class SendWebhooks(QuorumCommand):
    help = "Send now what is due to webhooks; the background worker does so automatically."
    example = "manage.py send_webhooks"

    def handle(self, *args: Any, **options: Any) -> None:
        count = send_webhooks()
        self.say(f"{count:,} message{'' if count == 1 else 's'} delivered.")
