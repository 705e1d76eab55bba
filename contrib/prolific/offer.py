"""The settings of study files that are available for Prolific.

They have a module of their own, since designs need them before the models are loaded, on which the backend depends.
"""

from judgments.design.crowds import COMMON_REQUIREMENTS, DEVICES, LANGUAGES, QUOTAS, CrowdOffer

OFFER = CrowdOffer(
    name="prolific",
    label="Use Prolific's API",
    requirements=COMMON_REQUIREMENTS | {LANGUAGES, DEVICES, QUOTAS},
    panel=True,
    keys=("panel.api", "crowd.screen_out_cents", "crowd.screen_outs", "crowd.demographics"),
)
