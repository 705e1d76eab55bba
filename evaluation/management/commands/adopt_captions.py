"""Make workers' captions part of the dataset."""

from evaluation.planning.follow_up import operations
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    operation = operations.adopt
    help = (
        "Make the used captions of a closed study of caption writing references of its dataset, or with --system the "
        "outputs of a system, which later studies judge. Nobody is asked to judge a caption of their own. Doing it "
        "again changes nothing."
    )
    example = "manage.py adopt_captions street-captions"
