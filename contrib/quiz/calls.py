"""The URLs of the quiz below /api/."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from contrib.quiz.api import QuizAttemptResource, QuizView

router = SimpleRouter()
router.register("quiz-attempts", QuizAttemptResource, "quiz-attempts")

urlpatterns = [
    path("studies/<str:slug>/quiz/", QuizView.as_view(), name="quiz"),
    path("", include(router.urls)),
]
