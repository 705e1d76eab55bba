"""Discard a study's units, controls and HITs."""

from judgments.management.base import OperationCommand
from judgments.operations import discard


class Command(OperationCommand):
    operation = discard
    help = "Discard the HITs of a study that was never opened, to change its design."
    example = "manage.py discard_hits triplets-50"
