"""What study files may ask of Prolific; apart from its class, since designs are read before crowds are."""

from judgments.design.crowds import COMMON_REQUIREMENTS, DEVICES, LANGUAGES, QUOTAS, CrowdOffer

OFFER = CrowdOffer(
    "prolific",
    "Prolific by its API",
    COMMON_REQUIREMENTS | {LANGUAGES, DEVICES, QUOTAS},
    panel=True,
    keys=("panel.api", "crowd.screen_out_cents", "crowd.screen_outs", "crowd.demographics"),
)
