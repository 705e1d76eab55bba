from django.db import migrations, models


class Migration(migrations.Migration):
    """Labels are reworded; no table is changed."""

    dependencies = [
        ('archives', '0001_initial'),
    ]

    operations = [
        migrations.AlterField(
            model_name='deposit',
            name='state',
            field=models.CharField(choices=[('started', 'not created yet'), ('creating', 'being created'), ('filling', 'files are being sent'), ('draft', 'a draft that only its owners see'), ('public', 'public'), ('gone', 'the draft was deleted at the archive')], default='started', max_length=8),
        ),
    ]
