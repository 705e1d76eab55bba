"""Close a study."""

from annotation.crowds import operations
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    operation = operations.close
    help = "Offer no more work of a study."
    example = "manage.py close_study triplets-50"
