"""Declare what the feature “quiz” adds to the platform."""

from config.features import Feature


class QuizConfig(Feature):
    name = "contrib.quiz"
    questions = ("quiz", "qualification test", "screening")
    urls = "contrib.quiz.urls"
    calls = "contrib.quiz.calls"
    pages = ("contrib.quiz.page",)
    quiz_presets = ("contrib.quiz.questions.ENGLISH",)
    quiz_items = ("contrib.quiz.items.divide_for_items",)
    quiz_backends = ("contrib.quiz.backend.Quizzes",)
    framed_pages = ("quiz:quiz", "quiz:start", "quiz:answer", "quiz:picture")
    integrity_checks = (
        "contrib.quiz.integrity.quiz_answers_match_their_items",
        "contrib.quiz.integrity.quiz_items_are_in_no_hit",
    )
