"""Accounts and groups in the style of the other pages."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from judgments.admin.base import PER_PAGE, BoundedChoices, BoundedPaginator

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class AccountAdmin(UserAdmin, ModelAdmin):
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_fullwidth = True
    list_per_page = PER_PAGE
    paginator = BoundedPaginator
    show_full_result_count = False
    filter_horizontal = ()  # the two lists of Django's script have barriers for screen readers
    list_filter = ("is_staff", "is_superuser", "is_active", ("groups", BoundedChoices))


@admin.register(Group)
class AccountGroupAdmin(GroupAdmin, ModelAdmin):
    list_fullwidth = True
    list_per_page = PER_PAGE
    paginator = BoundedPaginator
    show_full_result_count = False
