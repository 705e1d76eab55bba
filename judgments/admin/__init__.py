"""The designer's pages in the admin, and the rows behind them to look at."""

from judgments.admin import accounts, datasets, jobs, rows, studies, study_design, study_hits

__all__ = ["accounts", "datasets", "jobs", "rows", "studies", "study_design", "study_hits"]
