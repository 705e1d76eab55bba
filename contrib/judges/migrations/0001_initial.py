import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import judgments.models.datasets
from common.features import move_content_types


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("contenttypes", "0002_remove_content_type_name"),
        ("evaluation", "0009_move_judges"),
        ("judgments", "0031_content_of_systems"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='Judge',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='judges', to='judgments.study')),
                        ('name', models.CharField(max_length=80)),
                        ('source', models.CharField(choices=[('model', 'a model'), ('crowd', 'another crowd')], default='model', max_length=5)),
                        ('model', models.CharField(blank=True, help_text='What the endpoint calls it.', max_length=200)),
                        ('own_systems', models.JSONField(blank=True, default=list, help_text='Names of systems of its family, which it may favour.')),
                        ('prompt', models.TextField(blank=True, help_text='What stood before each item; empty where imported.')),
                        ('options', models.JSONField(blank=True, default=dict, help_text='How it was asked: endpoint, temperature, longest reply, prices.')),
                        ('fingerprint', models.CharField(blank=True, help_text='SHA-256 of imported answers.', max_length=64)),
                        ('budget', models.PositiveBigIntegerField(default=0, help_text='Millionths that may be spent.')),
                        ('spent', models.PositiveBigIntegerField(default=0)),
                        ('reserved', models.PositiveBigIntegerField(default=0, help_text='Of calls in progress, at their most.')),
                        ('made_by', models.ForeignKey(blank=True, help_text='Empty where a command did it.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ],
                    options={
                        'db_table': 'evaluation_judge',
                        'ordering': ['study_id', 'name'],
                        'constraints': [models.UniqueConstraint(fields=('study', 'name'), name='judge_name_once_per_study'), models.CheckConstraint(condition=models.Q(('spent__lte', django.db.models.expressions.CombinedExpression(models.F('budget'), '-', models.F('reserved')))), name='a_judge_stays_within_its_budget')],
                    },
                ),
                migrations.CreateModel(
                    name='JudgeAnswer',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('judge', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='answers', to='judges.judge')),
                        ('unit', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.unit', verbose_name='item')),
                        ('rater', models.CharField(blank=True, help_text='Who of another crowd; empty for a model.', max_length=80, verbose_name='participant')),
                        ('swapped', models.BooleanField(default=False, help_text='Whether the second candidate was shown first.')),
                        ('state', models.CharField(choices=[('waiting', 'not asked yet'), ('asked', 'asked, no reply yet'), ('answered', 'answered'), ('failed', 'without a usable answer')], default='waiting', max_length=8)),
                        ('value', judgments.models.datasets.NumberField(blank=True, help_text="In the item's order.", null=True)),
                        ('answer', models.JSONField(blank=True, help_text="One that is no number, in the item's order.", null=True)),
                        ('reply', models.TextField(blank=True, help_text='What the model wrote.')),
                        ('answered_by', models.CharField(blank=True, help_text='The model, as its reply names it.', max_length=200)),
                        ('request', models.CharField(blank=True, help_text='SHA-256 of what was sent.', max_length=64)),
                        ('cached', models.BooleanField(default=False, help_text='An earlier reply to the same request was used.')),
                        ('attempts', models.PositiveSmallIntegerField(default=0)),
                        ('reserved', models.PositiveBigIntegerField(default=0)),
                        ('cost', models.PositiveBigIntegerField(default=0, help_text='Millionths, of all attempts.')),
                        ('asked_at', models.DateTimeField(blank=True, null=True)),
                        ('answered_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'db_table': 'evaluation_judgeanswer',
                        'ordering': ['id'],
                        'indexes': [models.Index(fields=['judge', 'state', 'id'], name='answers_of_a_judge_by_state'), models.Index(condition=models.Q(('state', 'answered')), fields=['request'], name='answers_by_request')],
                        'constraints': [models.UniqueConstraint(fields=('judge', 'unit', 'rater', 'swapped'), name='a_judge_answers_a_unit_once_an_order'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'answered'), _negated=True), ('value__isnull', False), ('answer__isnull', False), _connector='OR'), name='an_answer_of_a_judge_has_a_value')],
                    },
                ),
            ]
        ),
        move_content_types("judge", "judgeanswer", before="evaluation", after="judges"),
    ]
