"""Checks of stored quizzes, for the command check_integrity."""

from collections.abc import Iterator

from annotation.models import QuizAttempt
from judgments.models import Unit


def quiz_answers_match_their_items() -> Iterator[str]:
    """Yield a message for each attempt whose answers or result do not match its items."""
    rows = QuizAttempt.objects.values_list("study__slug", "pk", "items", "answers", "right", "finished_at")
    for slug, pk, items, answers, right_count, finished_at in rows.order_by("pk").iterator():
        positions = {str(position) for position in range(1, len(items) + 1)}
        if not set(answers) <= positions or (finished_at is not None and set(answers) != positions):
            yield f"Study {slug}: quiz attempt {pk} asks {len(items)} things and holds {len(answers)} answers."
        if right_count is not None and right_count > len(items):
            yield f"Study {slug}: quiz attempt {pk} has {right_count} of {len(items)} right."


def quiz_items_are_in_no_hit() -> Iterator[str]:
    """Yield a message for each quiz item that is in a HIT. Whoever passed the quiz knows the answers to its items."""
    units = Unit.objects.filter(control_kind=Unit.ControlKind.QUIZ, places__isnull=False).distinct()
    for slug, key in units.values_list("study__slug", "key").iterator():
        yield f"Study {slug}: quiz item {key} is in a HIT."
