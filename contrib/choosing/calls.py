"""The addresses of choosing below /api/."""

from contrib.choosing.operations import choice_savings, select_items, weigh_back
from judgments.api.resources import operation_path

urlpatterns = [operation_path(declared) for declared in (select_items, weigh_back, choice_savings)]
