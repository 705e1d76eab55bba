"""A challenge for tests: a few images, people who submit, and the jobs done at once."""

import json
from typing import Any

from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile

from contrib.challenges.challenges import make_challenge
from contrib.challenges.models import Challenge, Submission
from contrib.challenges.submissions import SubmissionDetails, submit_caption_file
from judgments.access.dataset_roles import share_dataset
from judgments.jobs.claims import run_job
from judgments.models import Dataset, Job
from tests.evaluation.studies import make_dataset

NOUNS = ("dog", "cat", "horse", "bird", "cow", "sheep", "zebra", "bear", "goat", "fox", "hen", "duck")
SECRET = "marzipan"  # a word of every reference and of nothing else


def references(images: int = 24) -> dict[str, list[str]]:
    """Image -> references that nobody is shown."""
    return {
        str(100 + number): [
            f"a {NOUNS[number % 12]} eats {SECRET} on lawn {number}.",
            f"some {SECRET} and a {NOUNS[number % 12]} in garden {number}.",
        ]
        for number in range(images)
    }


def a_challenge(slug: str = "lawns", images: int = 24, **values: Any) -> Challenge:
    """Open, of a dataset of its own that is its members' alone."""
    dataset = Dataset.objects.filter(name=slug).first()
    if dataset is None:
        dataset = make_dataset(slug, references(images), "test")
        share_dataset(dataset=dataset, sharing="members")
    made = Challenge(
        **{
            "slug": slug,
            "title": "Lawns",
            "dataset": dataset,
            "split": "test",
            "metrics": ["cider-d", "bleu-4", "rouge-l"],
            "tokenizer": "ptb",
            **values,
        }
    )
    return make_challenge(challenge=made)


def captions(good: int, images: int = 24) -> list[dict[str, Any]]:
    """COCO results: the first ``good`` images are described well, the others badly."""
    return [
        {
            "image_id": 100 + number,
            "caption": f"a {NOUNS[number % 12]} in garden {number}" if number < good else "a thing of sorts",
        }
        for number in range(images)
    ]


def file_of(entries: Any, name: str = "results.json") -> SimpleUploadedFile:
    """As a browser uploads it."""
    content = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return SimpleUploadedFile(name, content, "application/json")


def participant(name: str = "ada") -> User:
    """An account without staff rights."""
    return User.objects.create_user(name, password="correct horse battery")


def staff(name: str, *permissions: str) -> User:
    """An account of the staff with these permissions."""
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def submit(
    challenge: Challenge, user: User, good: int, system: str = "Captioner", **about: Any
) -> Submission:
    """Captions by the service."""
    chunks = [json.dumps(captions(good, challenge.images)).encode()]
    made, _ = submit_caption_file(
        challenge=challenge,
        user=user,
        details=SubmissionDetails(system=system, team="Team", **about),
        chunks=chunks,
    )
    return made


def work_off() -> None:
    """Does the queued jobs, and those that they ask for."""
    while (job := Job.objects.filter(state=Job.State.QUEUED).order_by("pk").first()) is not None:
        run_job(job.pk)
        assert Job.objects.get(pk=job.pk).state == Job.State.DONE, Job.objects.get(pk=job.pk).error
