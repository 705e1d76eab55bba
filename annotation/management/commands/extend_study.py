"""More workers for a study than its design says, or more time for who holds a HIT."""

from annotation.work import operations
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    """The budget is checked first: all or nothing."""

    operation = operations.extend
    help = "Let more workers judge every HIT, or some, or give more time; the log says why."
    example = "manage.py extend_study triplets-50 --workers 2 --why 'the pilot was too small'"
