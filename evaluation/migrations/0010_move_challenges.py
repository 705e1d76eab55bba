"""Move challenges to the app ``contrib.challenges``; their tables stay."""

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
