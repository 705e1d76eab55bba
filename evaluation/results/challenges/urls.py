"""Addresses of the evaluation server."""

from django.urls import path

from evaluation.results.challenges import views

app_name = "evaluation"
urlpatterns = [
    path("", views.challenges, name="challenges"),
    path("account/sign-in/", views.SignIn.as_view(), name="sign-in"),
    path("account/sign-out/", views.sign_out, name="sign-out"),
    path("<slug:slug>/", views.challenge, name="challenge"),
    path("<slug:slug>/submit/", views.submit, name="submit"),
    path("<slug:slug>/own/", views.own_submissions, name="own"),
    path("<slug:slug>/own/<int:pk>/show/", views.show_one_submission, name="show"),
    path("<slug:slug>/own/jobs/<int:pk>/cancel/", views.cancel_one_job, name="cancel"),
]
