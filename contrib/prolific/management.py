"""The command that subscribes this server to Prolific's notifications."""

from typing import Any

from annotation.crowds.base import CrowdProblem
from common.commands import QuorumCommand
from common.errors import QuorumError
from common.features import feature_settings
from contrib.prolific.notifications import subscribe_to_events


class SubscribeProlific(QuorumCommand):
    help = (
        "Let Prolific call this server when a submission or a study changed; print the secret that signs it."
    )
    example = "manage.py subscribe_prolific"
    named_errors = (QuorumError, CrowdProblem)

    def handle(self, *args: Any, **options: Any) -> None:
        secret, events = subscribe_to_events()
        self.say(f"Subscribed to {', '.join(events)}." if events else "Everything was subscribed to before.")
        if secret != feature_settings.PROLIFIC_HOOK_SECRET:
            self.say(f"Set this and restart: PROLIFIC_HOOK_SECRET={secret}")
