"""Readable names of Django's permissions: “Studies: add” instead of “judgments | study | Can add study”."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Permission
from django.db.models import ManyToManyField
from django.forms import ModelMultipleChoiceField
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

VERBS = {
    "add": gettext_lazy("add"),
    "change": gettext_lazy("change"),
    "delete": gettext_lazy("delete"),
    "view": gettext_lazy("view"),
}


class PermissionsField(ModelMultipleChoiceField):
    def label_from_instance(self, permission: Permission) -> str:
        model, verb = permission.content_type.model_class(), permission.codename.partition("_")[0]
        if model is None or verb not in VERBS:  # a removed model, or a custom permission
            return permission.name
        return f"{capfirst(model._meta.verbose_name_plural)}: {VERBS[verb]}"


class PermissionNamesAdmin(ModelAdmin):
    """An admin class whose form shows readable names of permissions; for accounts and groups."""

    def formfield_for_manytomany(
        self, db_field: ManyToManyField[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelMultipleChoiceField | None:
        if db_field.related_model is Permission:
            kwargs["form_class"] = PermissionsField
        return super().formfield_for_manytomany(db_field, request, **kwargs)
