"""Open a study and publish it at its crowd."""

from annotation.crowds import operations
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    operation = operations.open_to_workers
    help = "Let workers into a study."
    example = "manage.py open_study triplets-50"
