"""The address that Prolific sends notifications to."""

from django.urls import path

from contrib.prolific.views import take_notification

app_name = "prolific"
urlpatterns = [path("hooks/prolific/", take_notification, name="notifications")]
