"""Commands about API tokens and background jobs."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any, ClassVar

from django.contrib.auth.models import User
from django.utils import timezone

from common.commands import QuorumCommand, positive_number
from common.errors import ObjectNotFound
from judgments.access.tokens import SCOPES, create_token
from judgments.jobs import claims, sweep
from judgments.jobs.queues import cancel_job, retry_job
from judgments.models import Job
from judgments.studies.studies import find_study

MAX_TOKEN_DAYS = 36_500  # a hundred years


class CreateToken(QuorumCommand):
    help = "Make a token for the HTTP interface and print its key, once (docs/api.md)."
    example = "manage.py create_token grace 'nightly export' --scopes studies:read,exports:write --days 90"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user")
        parser.add_argument("name", help="what it is for")
        parser.add_argument(
            "--scopes",
            default=",".join(SCOPES),
            metavar="LIST",
            help=f"what it opens, of {', '.join(SCOPES)}; all unless told",
        )
        parser.add_argument(
            "--studies", default="", metavar="LIST", help="the only studies that it opens; all unless told"
        )
        parser.add_argument("--days", type=int, help="how long it is good; for ever unless told")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise ObjectNotFound(f"There is no account {options['user']!r}.")
        days: int | None = options["days"]
        expires_at = None
        if days is not None:
            expires_at = timezone.now() + timedelta(days=min(max(days, 0), MAX_TOKEN_DAYS))
        _, key = create_token(
            user=user,
            name=options["name"],
            scopes=[scope for scope in options["scopes"].split(",") if scope],
            studies=[find_study(slug) for slug in options["studies"].split(",") if slug],
            expires_at=expires_at,
        )
        self.say(key)


class RunJobs(QuorumCommand):
    help = (
        "Does every waiting job, also those that a dead worker left, and ends. A running worker does the "
        "same automatically; this is for a server without one."
    )
    example = "manage.py run_jobs"

    def handle(self, *args: Any, **options: Any) -> None:
        sweep.requeue_lost_jobs()
        for job in Job.objects.due():
            if claims.run_job(job.pk):
                self.stdout.write(f"{job.kind} {job.pk}: done")
            else:
                job.refresh_from_db()
                self.stdout.write(f"{job.kind} {job.pk}: {job.state} {job.error}".rstrip())


class JobCommand(QuorumCommand):
    """A command that changes the job that the first argument names, and then prints ``confirmation``."""

    confirmation: ClassVar[str]

    def change(self, job: Job) -> None:
        raise NotImplementedError

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job", type=positive_number, help="its number, as its page and /api/jobs/ say it")

    def handle(self, *args: Any, **options: Any) -> None:
        job = Job.objects.filter(pk=options["job"]).first()
        if job is None:
            raise ObjectNotFound(f"There is no job {options['job']}.")
        self.change(job)
        self.say(self.confirmation.format(job=job))


class CancelJob(JobCommand):
    help = "Cancel a job that waits or runs. A running one stops within five seconds."
    example = "manage.py cancel_job 12"
    confirmation = "Job {job.pk} ({job.kind}) is cancelled."

    def change(self, job: Job) -> None:
        cancel_job(job)


class RetryJob(JobCommand):
    help = "Let a job that failed or was cancelled wait for its turn again."
    example = "manage.py retry_job 12"
    confirmation = "Job {job.pk} ({job.kind}) waits for its turn again."

    def change(self, job: Job) -> None:
        retry_job(job)
