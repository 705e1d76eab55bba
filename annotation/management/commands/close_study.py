"""Close a study."""

from annotation.crowds import operations
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    """Workers who hold a HIT may still submit it; closing a closed study changes nothing."""

    operation = operations.close
    help = "Offer no more work of a study."
    example = "manage.py close_study triplets-50"
