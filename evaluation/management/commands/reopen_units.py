"""Ask for more votes on units."""

from evaluation.planning.follow_up import operations
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    operation = operations.reopen
    help = "Ask for more votes on units of an open study; the log says why."
    example = (
        "manage.py reopen_units triplets-50 --need tied --votes 2 --why 'two of three votes were invalidated'"
    )
