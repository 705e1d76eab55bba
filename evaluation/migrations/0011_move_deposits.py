from django.db import migrations


class Migration(migrations.Migration):
    """The table stays, of the app archives."""

    dependencies = [("evaluation", "0010_move_challenges")]

    operations = [migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel(name="Deposit")])]
