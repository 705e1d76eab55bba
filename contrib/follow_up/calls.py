"""The URLs of follow-up studies below /api/."""

from django.urls import path

from contrib.follow_up.api import FollowUpDraftView, KnownItemResource
from contrib.follow_up.batches import more_items, next_batch
from judgments.api.operations import operation_path

urlpatterns = [
    operation_path(next_batch, FollowUpDraftView),
    operation_path(more_items, FollowUpDraftView),
    path(
        "studies/<str:slug>/known-items/",
        KnownItemResource.as_view({"get": "list", "post": "create"}),
        name="known-items",
    ),
]
