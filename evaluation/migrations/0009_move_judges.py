from django.db import migrations


class Migration(migrations.Migration):
    """Judges and their answers are of the app ``contrib.judges``; their tables stay."""

    dependencies = [("evaluation", "0008_move_registrations")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel("JudgeAnswer"), migrations.DeleteModel("Judge")]
        )
    ]
