"""Who may cancel a job, and who may have it done again."""

from __future__ import annotations

from django.contrib.auth.models import User

from judgments.access.datasets import has_role
from judgments.access.roles import Right, has_right
from judgments.models import Dataset, Job, Study
from judgments.models.jobs import IMPORTS_STUDY
from judgments.study_operations import operation_of


def may_cancel(user: User, job: Job) -> bool:
    """Return whether a person who sees the job asked for it, or may change the study or dataset it is about."""
    if user.is_superuser or (user.is_active and job.created_by_id == user.pk):
        return True
    study, dataset = _study_of(job), Dataset.objects.filter(name=job.args.get("dataset", "")).first()
    if study is not None:
        return has_right(user, Right.CHANGE, study)
    return dataset is not None and has_role(user, dataset, "editor")


def may_retry(user: User, job: Job) -> bool:
    """Return whether they may cancel it, and could still ask for it: roles change meanwhile."""
    if user.is_superuser or not may_cancel(user, job):
        return user.is_superuser
    study, operation = _study_of(job), operation_of(job.kind)
    if study is not None and not has_right(user, operation.right if operation else Right.CHANGE, study):
        return False
    pilots = {job.args.get("pilot", "")} - {""}
    datasets = {job.args.get("dataset", ""), *job.args.get("others", ())} - {""}
    seen = Study.objects.visible_to(user).filter(slug__in=pilots)
    read = Dataset.objects.visible_to(user).filter(name__in=datasets)
    return seen.count() == len(pilots) and read.count() == len(datasets)


def _study_of(job: Job) -> Study | None:
    if job.kind == IMPORTS_STUDY:  # a study of this name is another one
        return None
    return Study.objects.filter(slug=job.args.get("study", "")).first()
