"""A worker that is killed while it writes a release leaves none; another makes it."""

import json
from collections.abc import Callable

from tests.installations import Installation

KILLED = """
import json, os
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import connections
from django.utils import timezone

from evaluation.models import Release
from evaluation.reports.releases.verification import verify_bundle
from evaluation.data.releases.storage import release_file
from judgments.jobs import Run, enqueue, run_job, sweep_jobs
from judgments.models import Job
from tests.evaluation.studies import StudyOf, make_dataset

made = StudyOf(make_dataset("toy", {"a.jpg": ["a dog"]}), "pairwise", controls={"per_hit": 0})
hit = made.hit("h", [made.unit("u", pair=made.pair("p", "a.jpg", "a", "b"))])
made.answer(hit, "ada", [1])
terms = {"version": "1.0", "licence": "CC0-1.0", "texts": True, "comments": False, "title": "", "citation": ""}
job = enqueue(kind="release", args={"study": made.study.slug, **terms})
folder = Path(settings.EXPORT_ROOT)
connections.close_all()
child = os.fork()
if child == 0:
    def killed(run, share, words=""):
        if share >= 0.6:
            os.kill(os.getpid(), 9)
    Run.progress = killed
    run_job(job.pk)
    os._exit(0)
ended = os.waitpid(child, 0)[1]
bundles = lambda: len(list(folder.glob("*.zip")))
told = {"ended": ended, "bundles": bundles(), "releases": Release.objects.count()}
long_ago = timezone.now() - timedelta(seconds=settings.JOB_STALE_SECONDS + 1)
Job.objects.update(heartbeat=long_ago)
swept = sweep_jobs()
run_job(job.pk)
told |= {"requeued": list(swept.requeued) == [job.pk], "state": Job.objects.get().state, "then": bundles()}
told |= {"left": [path.name for path in folder.glob(".*")]}
told |= {"differences": verify_bundle(release_file(Release.objects.get())).count}
print("TOLD", json.dumps(told))
"""


def test_a_killed_worker_leaves_no_release(installation_on: Callable[[str], Installation]) -> None:
    out = installation_on("sqlite").python(KILLED)
    assert json.loads(out.partition("TOLD ")[2]) == {
        "ended": 9, "bundles": 0, "releases": 0, "requeued": True, "state": "done", "then": 1, "left": [],
        "differences": 0,
    }  # fmt: skip
