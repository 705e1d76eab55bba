"""Pause a study."""

from annotation.work import operations
from judgments.management.operations import OperationCommand


class Command(OperationCommand):
    """Doing it twice changes nothing."""

    operation = operations.pause
    help = "Hand out nothing new of an open study; who holds a HIT goes on."
    example = "manage.py pause_study triplets-50 --why 'a caption is broken'"
