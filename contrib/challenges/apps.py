"""Declare what the feature “challenges” adds to the platform."""

from django.utils.translation import gettext_lazy as _

from common.features import lazy_function
from config.features import Feature
from judgments.jobs.registry import HEAVY, INTERACTIVE, READING, JobKind


class ChallengesConfig(Feature):
    name = "contrib.challenges"
    verbose_name = "Evaluation server"
    urls = "contrib.challenges.urls"
    calls = "contrib.challenges.calls"
    pages = ("contrib.challenges.page",)
    menu = ((_("Evaluation server"), ((_("Challenges"), "trophy", "challenges.challenge"),)),)
    tables = ((_("Submissions"), "upload_file", "challenges.submission"),)
    additions = {"challenges/home.html": "home"}
    participant_scopes = {
        "submissions:read": "challenges, and your submissions to challenges",
        "submissions:write": "submit captions to challenges",
    }
    enums = {"SubmissionState": "contrib.challenges.models.Submission.State"}
    jobs = {
        "submit_captions": JobKind(
            "contrib.challenges.handlers.submit_captions",
            READING,
            _("Submission to a challenge"),
            scope="submissions",
        ),
        "score_submission": JobKind(
            "contrib.challenges.handlers.score_submission", HEAVY, scope="submissions", is_essential=True
        ),
        "rank_submissions": JobKind(
            "contrib.challenges.handlers.rank_submissions",
            INTERACTIVE,
            scope="submissions",
            is_essential=True,
        ),
    }

    def ready(self) -> None:
        super().ready()
        from judgments.models.datasets import pre_share

        # In `ready`, and not in `start`, so that references stay hidden even while the feature is off. `weak=False`,
        # because nothing else refers to the function.
        refuse = lazy_function("contrib.challenges.challenges.keep_references_hidden")
        pre_share.connect(refuse, weak=False)
