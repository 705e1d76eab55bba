"""Open a study."""

from annotation.crowds import operations
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    """Publishes to the study's crowd; opening an open study changes nothing."""

    operation = operations.open_to_workers
    help = "Let workers into a study."
    example = "manage.py open_study triplets-50"
