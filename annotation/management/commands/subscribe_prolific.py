"""Subscribe to Prolific's webhooks."""

from typing import Any

from django.conf import settings

from annotation.crowds.base import CrowdProblem
from annotation.crowds.prolific.notifications import subscribe
from common.errors import QuorumError
from judgments.management.base import QuorumCommand


class Command(QuorumCommand):
    help = (
        "Let Prolific call this server when a submission or a study changed; print the secret that signs it."
    )
    example = "manage.py subscribe_prolific"
    named_errors = (QuorumError, CrowdProblem)

    def handle(self, *args: Any, **options: Any) -> None:
        secret, new = subscribe()
        self.say(f"Subscribed to {', '.join(new)}." if new else "Everything was subscribed to before.")
        if secret != settings.PROLIFIC_HOOK_SECRET:
            self.say(f"Set this and restart: PROLIFIC_HOOK_SECRET={secret}")
