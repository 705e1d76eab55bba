"""Pause a study."""

from annotation.work import operations
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    operation = operations.pause
    help = "Stop claims of an open study; workers who hold a HIT may finish it."
    example = "manage.py pause_study triplets-50 --why 'a caption is broken'"
