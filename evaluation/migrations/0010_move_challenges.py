"""Challenges are models of an app of their own, which keeps the tables (contrib/challenges)."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0009_move_judges")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel(name)
                for name in ("ChallengeEvent", "Standing", "SubmissionContent", "Submission", "Challenge")
            ]
        )
    ]
