"""Show on the home page how many disputed units of a study wait for their adjudicators."""

from annotation.models import Adjudication
from judgments.access.rights import Right
from judgments.studies.home_page import Need, add_needs

add_needs(
    Need(
        name="disputes",
        page="disputes",
        labels=("one dispute is waiting for its adjudicator", "disputes are waiting for their adjudicators"),
        rows=lambda: Adjudication.objects.filter(state=Adjudication.State.WAITING),
        button="See disputes",
        right=Right.REVIEW,
    ),
    before="controls_used_up",
)
