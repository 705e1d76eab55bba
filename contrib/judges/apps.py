"""Declare what the feature “judges” adds, such as commands of `quorum`, each with its name for `manage.py`."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from common.environment import Environment
from common.features import lazy_function
from config.features import Feature
from judgments.jobs.registry import HEAVY, JobKind


class JudgesConfig(Feature):
    name = "contrib.judges"
    questions = ("LLM as a judge", "can a model judge")
    pages = ("contrib.judges.views",)
    calls = "contrib.judges.calls"
    enums = {"JudgeSource": "contrib.judges.models.Judge.Source"}
    report_sections = ("contrib.judges.results.findings.judges_section",)
    other_answers = ("contrib.judges.stored_answers.answers_of_judges",)  # not people's
    commands = {
        "Results": {
            "judge import": (
                "import_judge",
                "a model's or another crowd's answers",
                "contrib.judges.management.ImportJudge",
            ),
            "judge ask": (
                "ask_judge",
                "a language model answers, within a budget",
                "contrib.judges.management.AskJudge",
            ),
            "judge remove": (
                "remove_judge",
                "a judge and its answers are deleted",
                "contrib.judges.management.RemoveJudge",
            ),
            "judge compare": (
                "compare_judges",
                "may a judge replace a person, and what would people say?",
                "contrib.judges.management.CompareJudges",
            ),
        }
    }
    jobs = {
        "ask_judge": JobKind("contrib.judges.handlers.ask_judge", HEAVY, _("Asking a model")),
        "compare_judges": JobKind(
            "contrib.judges.handlers.compare_judges",
            HEAVY,
            _("Comparison of judges with people"),
            scope="reports",
        ),
    }

    @classmethod
    def settings(cls, env: Environment) -> dict[str, Any]:
        return {
            "JUDGE_API_URL": env.str("JUDGE_API_URL", default=""),
            "JUDGE_API_KEY": env.str("JUDGE_API_KEY", default=""),
            "JUDGE_BACKOFF_SECONDS": env.float("JUDGE_BACKOFF_SECONDS", default=0.5),
        }

    def connect_always(self) -> None:
        from judgments.models.studies import reasons_against_discarding

        # judges' answers prevent discarding pages of work, even if the feature is off
        reasons_against_discarding.connect(
            lazy_function("contrib.judges.stored_answers.reason_against_discarding"), weak=False
        )
