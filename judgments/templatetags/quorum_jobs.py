"""Jobs in words."""

from __future__ import annotations

from django import template

from judgments.jobs_in_words import work_in_words

register = template.Library()
register.filter("work_in_words", work_in_words)
