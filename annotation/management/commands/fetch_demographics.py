"""Fetch demographics from Prolific."""

from annotation.crowds.operations import demographics
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    help = "Fetch what the design names in crowd.demographics from Prolific, for the export demographics."
    operation = demographics
    example = "manage.py fetch_demographics triplets-50"
