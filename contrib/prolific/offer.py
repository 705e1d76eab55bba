"""What study files may ask of Prolific.

This has a module of its own: designs need it before the models, on which the backend depends, are loaded.
"""

from judgments.design.crowds import COMMON_REQUIREMENTS, DEVICES, LANGUAGES, QUOTAS, CrowdOffer

OFFER = CrowdOffer(
    name="prolific",
    label="Use Prolific's API",
    requirements=COMMON_REQUIREMENTS | {LANGUAGES, DEVICES, QUOTAS},
    panel=True,
    keys=("panel.api", "crowd.screen_out_cents", "crowd.screen_outs", "crowd.demographics"),
)
