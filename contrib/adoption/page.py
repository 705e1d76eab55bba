"""The button "Adopt captions" of a closed study of caption writing."""

from contrib.adoption.operations import adopt
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.step_form import add_operation


def _can_be_adopted(study: Study) -> bool:
    has_captions = KINDS[study.protocol].writes_captions and not study.simulated
    return has_captions and study.state == Study.State.CLOSED


add_operation(adopt, label="Adopt captions", fields=(), has_button=_can_be_adopted)
