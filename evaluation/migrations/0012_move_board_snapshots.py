from django.db import migrations


class Migration(migrations.Migration):
    """The table stays, of the app dashboard."""

    dependencies = [("evaluation", "0011_move_deposits")]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel(name="BoardSnapshot")])
    ]
