"""Declare what the feature “challenges” adds to the platform."""

from django.utils.translation import gettext_lazy as _

from common.features import lazy_function
from config.features import Feature


class ChallengesConfig(Feature):
    name = "contrib.challenges"
    verbose_name = "Evaluation server"
    urls = "contrib.challenges.urls"
    calls = "contrib.challenges.calls"
    pages = ("contrib.challenges.page",)
    menu = ((_("Evaluation server"), ((_("Challenges"), "trophy", "challenges.challenge"),)),)
    tables = ((_("Submissions"), "upload_file", "challenges.submission"),)
    home_parts = ("challenges/home.html",)
    participant_scopes = {
        "submissions:read": "challenges, and your submissions to challenges",
        "submissions:write": "submit captions to challenges",
    }
    enums = {"SubmissionState": "contrib.challenges.models.Submission.State"}

    def ready(self) -> None:
        super().ready()
        from judgments.models.datasets import pre_share

        # In `ready`, and not in `start`, so that references stay hidden even while the feature is off. `weak=False`,
        # because nothing else refers to the function.
        refuse = lazy_function("contrib.challenges.challenges.keep_references_hidden")
        pre_share.connect(refuse, weak=False)

    def start(self) -> None:
        from judgments.jobs.registry import HEAVY, INTERACTIVE, READING, register

        for kind, queue, is_essential in (  # essential jobs cannot be cancelled
            ("submit_captions", READING, False),
            ("score_submission", HEAVY, True),
            ("rank_submissions", INTERACTIVE, True),
        ):
            path = f"contrib.challenges.handlers.{kind}"
            register(kind, path, queue=queue, scope="submissions", is_essential=is_essential)
