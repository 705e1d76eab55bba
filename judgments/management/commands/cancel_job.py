"""Cancel a job."""

from judgments.jobs import cancel_job
from judgments.management.base import JobCommand
from judgments.models import Job


class Command(JobCommand):
    help = "Cancel a job that waits or runs. A running one stops at its next report of progress."
    example = "manage.py cancel_job 12"
    done = "Job {job.pk} ({job.kind}) is cancelled."

    def change(self, job: Job) -> None:
        cancel_job(job)
