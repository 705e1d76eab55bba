"""Queue a failed or cancelled job again."""

from judgments.jobs import retry_job
from judgments.management.base import JobCommand
from judgments.models import Job


class Command(JobCommand):
    help = "Let a job that failed or was cancelled wait for its turn again."
    example = "manage.py retry_job 12"
    done = "Job {job.pk} ({job.kind}) waits for its turn again."

    def change(self, job: Job) -> None:
        retry_job(job)
