"""The settings that study files may have for Prolific.

They are in a module of their own, since designs are read first.
"""

from judgments.design.crowds import COMMON_REQUIREMENTS, DEVICES, LANGUAGES, QUOTAS, CrowdOffer

OFFER = CrowdOffer(
    "prolific",
    "Use Prolific's API",
    COMMON_REQUIREMENTS | {LANGUAGES, DEVICES, QUOTAS},
    panel=True,
    keys=("panel.api", "crowd.screen_out_cents", "crowd.screen_outs", "crowd.demographics"),
)
