from django.db import migrations


class Migration(migrations.Migration):
    """Move judges and their answers to the app ``contrib.judges``; their tables stay."""

    dependencies = [("evaluation", "0008_move_registrations")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel("JudgeAnswer"), migrations.DeleteModel("Judge")]
        )
    ]
