"""URLs of the evaluation server's pages."""

from django.urls import include, path, re_path
from django.views.generic import RedirectView

from contrib.challenges import views

app_name = "challenges"

pages = [
    path("", views.list_challenges, name="challenges"),
    path("account/sign-in/", views.SignIn.as_view(), name="sign-in"),
    path("account/sign-out/", views.sign_out, name="sign-out"),
    path("<slug:slug>/", views.show_challenge, name="challenge"),
    path("<slug:slug>/submit/", views.submit_to_challenge, name="submit"),
    path("<slug:slug>/own/", views.own_submissions, name="own"),
    path("<slug:slug>/token/", views.make_token, name="token"),
    path("<slug:slug>/own/<int:pk>/show/", views.set_submission_visibility, name="show"),
    path("<slug:slug>/own/jobs/<int:pk>/cancel/", views.cancel_submission_job, name="cancel"),
]

urlpatterns = [
    path("challenges/", include(pages)),
    # old addresses of the admin's lists, from when the models were in the app `evaluation`
    re_path(
        r"^admin/evaluation/(?P<page>(?:challenge|submission)/.*)$",
        RedirectView.as_view(url="/admin/challenges/%(page)s", query_string=True),
    ),
]
