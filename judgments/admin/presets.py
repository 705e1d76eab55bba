"""Saved presets: everybody who may look at studies sees them, their maker renames and deletes them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from judgments.admin.base import QuorumAdmin, signed_in
from judgments.models import SavedPreset
from judgments.services.presets import delete_preset, may_change_preset, rename_preset


@admin.register(SavedPreset)
class SavedPresetAdmin(QuorumAdmin):
    """Made on a study's page "Use again", never here."""

    empty_words = "A study's page “Use again” saves its design as a preset."
    list_display = ("title", "slug", "description", "made_by", "made_at", "used")
    list_select_related = ("made_by",)
    search_fields = ("title", "slug", "description")
    fields = ("slug", "title", "description", "made_by", "made_at")
    readonly_fields = ("slug", "made_by", "made_at")
    actions = None

    @display(description="")
    def used(self, preset: SavedPreset) -> SafeString:
        """The way to a new study from it."""
        address = f"{reverse('admin:judgments_study_add')}?preset={preset.slug}"
        return format_html('<a class="q-name" href="{}">New study from it</a>', address)

    def get_queryset(self, request: HttpRequest) -> QuerySet[SavedPreset]:
        """All of them: they belong to no study."""
        return SavedPreset.objects.all()

    def has_module_permission(self, request: HttpRequest) -> bool:
        """It stands at "New study", not in the list of models."""
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may make or look at studies."""
        return request.user.has_perm("judgments.add_study") or request.user.has_perm("judgments.view_study")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """A preset is made from a study."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Its maker."""
        return self.has_view_permission(request) and (
            obj is None or may_change_preset(obj, signed_in(request))
        )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Its maker."""
        return self.has_change_permission(request, obj)

    def save_model(
        self, request: HttpRequest, obj: SavedPreset, form: forms.ModelForm[Any], change: bool
    ) -> None:
        """By the service, which looks at the row as it is now."""
        rename_preset(slug=obj.slug, title=obj.title, description=obj.description, by=signed_in(request))

    def delete_model(self, request: HttpRequest, obj: SavedPreset) -> None:
        """By the service."""
        delete_preset(slug=obj.slug, by=signed_in(request))
