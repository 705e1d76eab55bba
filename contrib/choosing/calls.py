"""The URLs of choosing items below /api/."""

from contrib.choosing.operations import choose_items, start_savings_estimate, start_weighing
from judgments.api.operations import operation_path

urlpatterns = [
    operation_path(declared) for declared in (choose_items, start_weighing, start_savings_estimate)
]
