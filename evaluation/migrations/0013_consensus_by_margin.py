from django.db import migrations, models


class Migration(migrations.Migration):
    """Let one index serve look-ups of the consensus by study, and lists of units by margin."""

    dependencies = [("evaluation", "0012_move_board_snapshots"), ("judgments", "0032_words_of_pages")]

    operations = [
        migrations.RemoveIndex("consensus", "units_by_margin"),
        migrations.AlterField(
            "consensus",
            "study",
            models.ForeignKey(
                "judgments.Study", models.CASCADE, related_name="consensus", db_index=False
            ),
        ),
        migrations.AddIndex(
            "consensus", models.Index(fields=["study", "margin", "id"], name="consensus_by_margin")
        ),
    ]
