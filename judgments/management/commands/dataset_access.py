"""Say who may read a dataset."""

from argparse import ArgumentParser
from typing import Any

from common.commands import QuorumCommand
from judgments.datasets.operations import OPERATIONS
from judgments.management.base import add_parameters, as_text
from judgments.studies.studies import find_dataset


class Command(QuorumCommand):
    help = "Share a dataset, give and take roles in it, and publish its systems (docs/roles.md)."
    example = "manage.py dataset_access my-photos share --sharing installation"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dataset")
        ways = parser.add_subparsers(dest="operation", required=True, metavar="OPERATION")
        for name, operation in OPERATIONS.items():
            add_parameters(ways.add_parser(name, help=operation.summary), operation.parameters())

    def handle(self, *args: Any, **options: Any) -> None:
        operation = OPERATIONS[options["operation"]]
        dataset = find_dataset(options["dataset"])
        values = operation.parameters.read(as_text(operation.parameters(), options))
        self.say(operation.carry_out(dataset=dataset, by=None, **values))
