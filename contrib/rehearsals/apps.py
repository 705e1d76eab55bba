"""Declare what the feature “rehearsals” adds to the platform."""

from django.utils.translation import gettext_lazy as _

from config.features import Feature
from judgments.jobs.registry import HEAVY, JobKind


class RehearsalsConfig(Feature):
    name = "contrib.rehearsals"
    rehearsals = (
        "contrib.rehearsals.answers.pairs.PairRehearsal",
        "contrib.rehearsals.answers.pairs.TripletRehearsal",
        "contrib.rehearsals.answers.ratings.RelevanceRehearsal",
        "contrib.rehearsals.answers.ratings.ScaleRehearsal",
        "contrib.rehearsals.answers.captions.CaptionRehearsal",
        "contrib.rehearsals.answers.keywords.KeywordRehearsal",
        "contrib.rehearsals.answers.links.GroundingRehearsal",
    )
    pages = ("contrib.rehearsals.page", "contrib.rehearsals.checklist")
    calls = "contrib.rehearsals.calls"
    commands = {
        "Studies": {
            "study rehearse": (
                "rehearse",
                "a simulated crowd answers",
                "contrib.rehearsals.management.Rehearse",
            )
        }
    }
    additions = {
        "evaluation/parts/design_saving.html": "design-saving",
        "evaluation/parts/design_launch.html": "design-launch",
    }
    jobs = {
        "rehearse": JobKind(
            "contrib.rehearsals.handlers.rehearse",
            HEAVY,
            _("Rehearsal"),
            result_labels={
                "hits": _("pages of work completed"),
                "returned": _("pages of work returned"),
                "hours": _("simulated hours of work"),
                "recovered": _("share of right answers that the consensus found"),
                "undecided": _("items with a tie"),
                "controls_careful": _("share of check questions that careful participants answered right"),
                "controls_spammers": _("share of check questions that spammers answered right"),
            },
            percent_entries=frozenset({"recovered", "undecided", "controls_careful", "controls_spammers"}),
        ),
    }
