"""The list of saved presets."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from unfold.decorators import display

from judgments.admin.base import QuorumAdmin, signed_in
from judgments.design.saved_presets import delete_preset, may_change_preset, rename_preset
from judgments.models import SavedPreset, Study


@admin.register(SavedPreset)
class SavedPresetAdmin(QuorumAdmin):
    """Saved presets; a study's page "Use again" makes new ones."""

    help = "designing.md#use-again"
    empty_list_text = "To save a design as a preset, open the page “Use again” of a study."
    filled_by = Study  # the button of the empty list leads to the page that adds a study
    list_display = ("title", "slug", "description", "made_by", "made_at", "new_study_link")
    list_select_related = ("made_by",)
    search_fields = ("title", "slug", "description")
    fields = ("slug", "title", "description", "made_by", "made_at")
    readonly_fields = ("slug", "made_by", "made_at")
    actions = None

    @display(description="next step")
    def new_study_link(self, preset: SavedPreset) -> SafeString:
        address = f"{reverse('admin:judgments_study_add')}?preset={preset.slug}"
        return format_html(
            '<a class="q-name" href="{}">{}</a>', address, gettext("New study from this preset")
        )

    def get_queryset(self, request: HttpRequest) -> QuerySet[SavedPreset]:
        return SavedPreset.objects.all()  # whoever saved them

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("judgments.add_study") or request.user.has_perm("judgments.view_study")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_view_permission(request) and (
            obj is None or may_change_preset(obj, signed_in(request))
        )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_change_permission(request, obj)

    def save_model(
        self, request: HttpRequest, obj: SavedPreset, form: forms.ModelForm[Any], change: bool
    ) -> None:
        rename_preset(slug=obj.slug, title=obj.title, description=obj.description, by=signed_in(request))

    def delete_model(self, request: HttpRequest, obj: SavedPreset) -> None:
        delete_preset(slug=obj.slug, by=signed_in(request))
