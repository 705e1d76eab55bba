import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from common.features import move_content_types


class Migration(migrations.Migration):
    """The table was made by the app evaluation."""

    initial = True

    dependencies = [
        ("evaluation", "0011_move_deposits"),
        ("contenttypes", "0002_remove_content_type_name"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='Deposit',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('archive', models.CharField(db_column='place', choices=[('zenodo', 'Zenodo'), ('huggingface', 'Hugging Face')], max_length=11)),
                        ('host', models.CharField(help_text='Such as zenodo.org or sandbox.zenodo.org.', max_length=200)),
                        ('repository', models.CharField(blank=True, help_text='At Hugging Face: whose, and its name.', max_length=200)),
                        ('mark', models.UUIDField(default=uuid.uuid4, editable=False, help_text='Stands in the record, by which it is found again.')),
                        ('state', models.CharField(choices=[('started', 'not created yet'), ('creating', 'being created'), ('filling', 'files are being sent'), ('draft', 'a draft that only its owners see'), ('public', 'public'), ('gone', 'the draft was deleted at the archive')], default='started', max_length=8)),
                        ('remote', models.CharField(blank=True, help_text="The record's id, or the commit's.", max_length=100)),
                        ('doi', models.CharField(blank=True, max_length=200)),
                        ('address', models.URLField(blank=True, max_length=500)),
                        ('statements', models.JSONField(db_column='given', blank=True, default=dict, help_text='Creators, keywords, papers, and what was said of rights.')),
                        ('sent', models.JSONField(blank=True, default=list, help_text='Names, sizes and SHA-256 of the files.')),
                        ('asked_at', models.DateTimeField(blank=True, help_text='When its creation was last asked for.', null=True)),
                        ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
                        ('finished_at', models.DateTimeField(blank=True, null=True)),
                        ('made_by', models.ForeignKey(blank=True, help_text='Empty where a command did it.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('release', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deposits', to='evaluation.release')),
                    ],
                    options={
                        'db_table': 'evaluation_deposit',
                        'ordering': ['id'],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'gone'), _negated=True), fields=('release', 'host'), name='a_release_is_at_a_host_once'), models.UniqueConstraint(fields=('mark',), name='a_deposit_has_its_own_mark'), models.CheckConstraint(condition=models.Q(('state__in', ['started', 'creating', 'gone']), models.Q(('remote', ''), _negated=True), models.Q(('repository', ''), _negated=True), _connector='OR'), name='a_deposit_says_where_it_is')],
                    },
                ),
            ]
        ),
        move_content_types("deposit", before="evaluation", after="archives"),
    ]
