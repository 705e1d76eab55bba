"""Resume a study."""

from annotation.work import operations
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    operation = operations.resume
    help = "Hand out work of a paused study again, here and at its crowd."
    example = "manage.py resume_study triplets-50 --why 'the caption is mended'"
