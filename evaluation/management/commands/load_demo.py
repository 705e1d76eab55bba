"""Load the demo."""

from typing import Any

from common.commands import QuorumCommand, progress_bar
from evaluation.demo import load_demo


class Command(QuorumCommand):
    help = "Load the demo: 35 photographs, two systems, four open studies and a finished, simulated one."
    example = "manage.py load_demo"

    def handle(self, *args: Any, **options: Any) -> None:
        with progress_bar() as progress:
            studies = load_demo(progress=progress)
        for study in studies:
            note = " (simulated)" if study.simulated else ""
            self.say(f"{study.slug}: {study.state}{note}")
