"""Do the waiting jobs in the foreground, for an installation without a worker."""

from typing import Any

from common.commands import QuorumCommand
from judgments import jobs
from judgments.models import Job


class Command(QuorumCommand):
    help = (
        "Does every waiting job, also those that a dead worker left, and ends. A running worker does the "
        "same by itself; this is for a server without one."
    )
    example = "manage.py run_jobs"

    def handle(self, *args: Any, **options: Any) -> None:
        jobs.sweep_jobs()
        for job in Job.objects.due():
            if jobs.run_job(job.pk):
                self.stdout.write(f"{job.kind} {job.pk}: done")
            else:
                job.refresh_from_db()
                self.stdout.write(f"{job.kind} {job.pk}: {job.state} {job.error}".rstrip())
