from django.db import migrations


class Migration(migrations.Migration):
    """Move board snapshots to the app ``contrib.dashboard``; their table stays."""

    dependencies = [("evaluation", "0011_move_deposits")]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel(name="BoardSnapshot")])
    ]
