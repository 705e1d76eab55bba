"""What happens inside the installation under test: a study is made, people work, a requester decides, rows are told.

Each function prints one line of JSON; they run in processes of their own, on the installation's database.
"""

import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db.models import Count

from annotation.crowds.opening import begin_opening
from annotation.crowds.sync.schedule import queue_sync
from annotation.models import Assignment, Budget, CrowdCall, CrowdSession, Judgment, LedgerEntry, Publication
from annotation.money import ledger
from annotation.money.payments import decide_session, pay_bonus
from evaluation.data.integrity import check_integrity
from evaluation.models import Analysis
from judgments.access.tokens import SCOPES, create_token
from judgments.cached_figures import request_figures
from judgments.jobs.queues import enqueue
from judgments.models import HIT, Caption, Dataset, Item, Job, Study
from tests.annotation.casting import make_study
from tests.chaos.run import BONUS, HOSTILE, REWARD, SLUG, UPLOADER, WANTED
from tests.crowd import audit
from tests.judgments import job_kinds  # noqa: F401 - registers them
from tests.studies import hand_in
from tests.studies import make_study as make_triplets


def make_local() -> None:
    """A study of people who come here by themselves."""
    study = make_triplets(
        "triplet", units_per_hit=3, judgments_per_unit=WANTED, controls={"per_hit": 0},
        sampling={"pairs": {"HC": 12, "HI": 12}, "references": 2},
    )  # fmt: skip
    tell({"slug": study.slug, "hits": study.hits.count()})


def make(hits: int, people: int) -> None:
    """A study of ``hits`` HITs with one unit each, open, nothing of it published yet."""
    dataset = Dataset.objects.create(
        name="shapes", source_format="jsonl", fingerprint="0" * 64, sharing="installation"
    )
    images = hits // 4 + 20  # more pairs than HITs
    for number in range(images):
        split = "dev" if number >= images - 2 else "test"
        item = Item.objects.create(
            dataset=dataset,
            name=f"{number}.jpg",
            position=number,
            split=split,
            url=f"https://p.example/{number}",
        )
        Caption.objects.bulk_create(
            Caption(
                dataset=dataset, item=item, key=f"{number}-{index}", text=f"Shape {number} seen {index}.",
                role="reference", position=index,
            )
            for index in range(6)
        )  # fmt: skip
    study = make_study(
        dataset,
        opened=False,
        question="Which is closer?",
        judgments_per_unit=people,
        units_per_hit=1,
        controls={"per_hit": 0},
        sampling={"pairs": {"HI": hits}, "references": 1},
        crowd={
            "backend": "mturk", "reward_cents": REWARD, "budget_cents": hits * people * 30 + 100,
            "approve_after_hours": 0,
        },
    )  # fmt: skip
    begin_opening(study=study)
    tell({"hits": HIT.objects.filter(study=study).count()})


def decide(seed: int) -> None:
    """Most are approved, some rejected, some get a bonus; the rest is left to the crowd's clock."""
    rng, said = random.Random(seed), Counter[str]()
    sessions = CrowdSession.objects.filter(status="submitted", confirmed=True)
    for session in sessions.select_related("study", "worker", "publication").order_by("pk"):
        what = rng.random()
        if what < 0.8:
            decide_session(session=session, approve=True)
            said["approved"] += 1
        elif what < 0.9:
            decide_session(session=session, approve=False, why="Too quick.")
            said["rejected"] += 1
        if what < 0.15:
            pay_bonus(session=session, cents=BONUS, why="Thank you.")
            said["bonus"] += 1
    tell(dict(said))


def make_watched() -> None:
    """A finished study and a draft, with the key of an account that asks for jobs about them."""
    study, draft = make_triplets("graded"), make_triplets("pairwise", opened=False)
    for number in range(6):
        hand_in(study, f"watched-{number}")
    user = User.objects.create_superuser("asker")
    _, key = create_token(user=user, name="chaos", scopes=list(SCOPES))
    tell({"slug": study.slug, "draft": draft.slug, "key": key})


def make_uploaders(names: list[str]) -> None:
    """Accounts that sign in with their name as password."""
    tell({name: User.objects.create_superuser(name, password=name).pk for name in names})


def ask(parts: int) -> None:
    """Jobs that no call asks for: one in parts, which web servers do not know, figures, a sync."""
    enqueue(kind="add-in-parts", args={"parts": parts})
    request_figures(Study.objects.get(slug=SLUG), ["progress"])
    queue_sync(study=Study.objects.get(slug=SLUG))


def jobs() -> None:
    """What every job came to but those of hostile files; syncs of the crowd go on."""
    ended = Job.objects.exclude(state__in=["queued", "running"]).exclude(created_by__username=HOSTILE)
    done = ended.filter(state=Job.State.DONE)
    of_files = ended.filter(created_by__username=UPLOADER)
    imports = of_files.filter(kind="import_dataset")
    datasets = dict(
        Dataset.objects.filter(name__startswith=UPLOADER)
        .annotate(captions_count=Count("captions"))
        .values_list("name", "captions_count")
    )
    # Of an import whose acknowledgement was lost and that was asked for again, the second finds the name taken.
    repeated = [job.pk for job in imports.exclude(state=Job.State.DONE) if job.args["name"] in datasets]
    files = [
        Path(settings.EXPORT_ROOT) / str((job.result or {})["file"]) for job in done.filter(kind="export")
    ]
    copies, aggregated = (
        {job.args["study"] for job in done.filter(kind=kind)} for kind in ("rehearse", "aggregate")
    )
    added = Group.objects.filter(name__contains=" added ").values_list("name", flat=True)
    tell(
        {
            "done": Counter(done.values_list("kind", flat=True)),
            "failed": sorted(
                f"{job}: {job.error}" for job in ended.exclude(state=Job.State.DONE).exclude(pk__in=repeated)
            ),
            "datasets": datasets,
            "latest_start": max(
                (job.started_at - job.created_at).total_seconds() for job in of_files if job.started_at
            ),
            "slowest": max(
                (job.finished_at - job.created_at).total_seconds() for job in ended if job.finished_at
            ),
            "in_parts": sorted(
                str(pk) for pk in done.filter(kind="add-in-parts").values_list("pk", flat=True)
            ),
            "added": sorted(name.split()[0] for name in added),
            "sums": sorted({int(name.split()[2]) for name in added}),
            "exports": sorted(path.name for path in files),
            "files": sorted(
                path.name
                for path in Path(settings.EXPORT_ROOT).glob("[!.]*")
                if not path.name.endswith(".manifest.json")
            ),
            "contents": len({path.read_bytes() for path in files}),
            "rehearsals": Analysis.objects.filter(what="rehearsal", study__slug__in=copies).count(),
            "answers": sorted(
                {Judgment.objects.filter(assignment__study__slug=slug).count() for slug in copies}
            ),
            "aggregations": Analysis.objects.filter(what="aggregation", study__slug__in=aggregated).count(),
        }
    )


def rows() -> None:
    """All that is to agree with what the crowd holds."""
    budget = Budget.objects.get()
    sessions = CrowdSession.objects.select_related("publication", "worker")
    per_page = Assignment.objects.filter(study__slug=SLUG).annotate(n=Count("judgments"))
    tell(
        {
            "calls": Counter(CrowdCall.objects.values_list("state", flat=True)),
            "problems": sorted(
                set(CrowdCall.objects.exclude(state="done").values_list("problem", flat=True))
            )[:5],
            "publications": dict(Publication.objects.values_list("token", "external_id")),
            "states": Counter(Publication.objects.values_list("state", flat=True)),
            "sessions": [
                [
                    one.publication.external_id,
                    one.external_id,
                    one.worker.name,
                    one.status,
                    one.confirmed,
                    one.booked,
                ]
                for one in sessions
            ],
            "assignments": Counter(f"{state} {n}" for state, n in per_page.values_list("state", "n")),
            "judgments": Judgment.objects.filter(assignment__study__slug=SLUG).count(),
            "budget": [budget.reserved_cents, budget.spent_cents],
            "ledger": ledger.ledger_sums(budget),
            "kept": ledger.reserved_cents(budget),
            "jobs": sorted(set(Job.objects.filter(state="failed").values_list("error", flat=True))),
            "rewards": LedgerEntry.objects.filter(what="reward").count(),
            "bonuses": LedgerEntry.objects.filter(what="bonus").count(),
            "integrity": check_integrity().problems[:5],
        }
    )


def local(slug: str) -> None:
    """What was handed in here."""
    tell(audit(slug))


def tell(what: dict[str, Any]) -> None:
    """The one line."""
    sys.stdout.write(json.dumps(what) + "\n")
