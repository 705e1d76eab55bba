"""A crowd of people at the computers of a laboratory.

They open the address of the study, and the experimenter pays them.
"""

from annotation.crowds.base import LocalBackend
from common.errors import WrongState
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from quorum_laboratory.offer import OFFER


class LaboratoryBackend(LocalBackend):
    name = OFFER.name
    title = "the laboratory"

    def refuse(self, study: Study, design: StudyDesign) -> None:
        if design.crowd.reward_cents:
            raise WrongState(
                f"crowd.reward_cents is {design.crowd.reward_cents}, and people of a laboratory are paid at the desk; "
                "expected 0."
            )

    def describe_entrance(self, study: Study) -> str:
        return f"Open /s/{study.slug}/ on each computer of the laboratory."
