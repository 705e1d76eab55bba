"""The URLs of the quiz's pages."""

from django.urls import path

from contrib.quiz import views

app_name = "quiz"

urlpatterns = [
    path("s/<slug:slug>/quiz/", views.show_quiz_step, name="quiz"),
    path("s/<slug:slug>/quiz/start/", views.start_quiz, name="start"),
    path("s/<slug:slug>/quiz/<int:number>/answer/", views.answer_quiz_step, name="answer"),
    path("s/<slug:slug>/quiz/<int:number>/<int:position>/picture/", views.quiz_picture, name="picture"),
]
