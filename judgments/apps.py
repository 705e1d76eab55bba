"""What is asked."""

from django.apps import AppConfig


class JudgmentsConfig(AppConfig):
    """Datasets, studies, units, HITs, and the jobs that make them."""

    name = "judgments"
    verbose_name = "Judgments"
