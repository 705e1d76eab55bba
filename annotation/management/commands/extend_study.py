"""Add workers or time to a running study."""

from annotation.work import operations
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    operation = operations.extend
    help = "Let more workers judge every HIT, or some, or give more time; the log says why."
    example = "manage.py extend_study triplets-50 --workers 2 --why 'the pilot was too small'"
