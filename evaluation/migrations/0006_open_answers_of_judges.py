from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0005_archives_of_deposits")]

    operations = [
        migrations.AddField(
            model_name="judgeanswer",
            name="answer",
            field=models.JSONField(
                blank=True, help_text="One that is no number, in the unit's order.", null=True
            ),
        ),
        migrations.RemoveConstraint(model_name="judgeanswer", name="an_answer_of_a_judge_has_a_value"),
        migrations.AddConstraint(
            model_name="judgeanswer",
            constraint=models.CheckConstraint(
                condition=models.Q(("state", "answered"), _negated=True)
                | models.Q(("value__isnull", False))
                | models.Q(("answer__isnull", False)),
                name="an_answer_of_a_judge_has_a_value",
            ),
        ),
    ]
