import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from common.features import move_content_types


class Migration(migrations.Migration):
    """The tables were made by the app annotation."""

    initial = True

    dependencies = [
        ("annotation", "0024_webhooks"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("judgments", "0031_content_of_systems"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='Webhook',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to='judgments.study')),
                        ('url', models.CharField(max_length=500)),
                        ('salt', models.CharField(max_length=64)),
                        ('submissions', models.BooleanField(default=False, help_text='Hears of submitted pages of work.')),
                        ('completions', models.BooleanField(default=False, help_text="Hears of the study's completion.")),
                        ('exclusions', models.BooleanField(default=False, help_text='Hears of excluded participants.')),
                        ('active', models.BooleanField(default=True)),
                        ('failures', models.PositiveIntegerField(default=0, help_text='Attempts in a row that failed.')),
                        ('rests_until', models.DateTimeField(blank=True, help_text='After a failure nothing is sent until then.', null=True)),
                        ('told_complete_at', models.DateTimeField(blank=True, help_text='When its completion was noted; empty while the study is not complete.', null=True)),
                        ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ],
                    options={
                        'db_table': 'annotation_webhook',
                        'ordering': ['id'],
                        'constraints': [
                            models.UniqueConstraint(fields=('study', 'url'), name='a_webhook_once_per_address'),
                            models.CheckConstraint(condition=models.Q(('submissions', True), ('completions', True), ('exclusions', True), _connector='OR'), name='a_webhook_hears_of_something'),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name='WebhookDelivery',
                    fields=[
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='webhooks.webhook')),
                        ('event', models.CharField(max_length=30)),
                        ('key', models.CharField(help_text='What happened; nothing is told twice to one webhook.', max_length=100)),
                        ('payload', models.JSONField(help_text="The message's data.")),
                        ('state', models.CharField(choices=[('waiting', 'waiting'), ('sending', 'being sent'), ('delivered', 'delivered'), ('given-up', 'not delivered')], default='waiting', max_length=9)),
                        ('attempts', models.PositiveSmallIntegerField(default=0)),
                        ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
                        ('next_at', models.DateTimeField(default=django.utils.timezone.now)),
                        ('started_at', models.DateTimeField(blank=True, null=True)),
                        ('delivered_at', models.DateTimeField(blank=True, null=True)),
                        ('status', models.PositiveSmallIntegerField(blank=True, help_text='HTTP status of the last answer.', null=True)),
                        ('problem', models.CharField(blank=True, help_text='Why the last attempt failed.', max_length=300)),
                    ],
                    options={
                        'db_table': 'annotation_webhookdelivery',
                        'verbose_name_plural': 'webhook deliveries',
                        'ordering': ['-made_at', 'id'],
                        'indexes': [
                            models.Index(models.F('next_at'), condition=models.Q(('state__in', ['waiting', 'sending'])), name='deliveries_to_send'),
                            models.Index(fields=['webhook', '-made_at'], name='deliveries_of_a_webhook'),
                            models.Index(fields=['made_at'], name='deliveries_by_age'),
                        ],
                        'constraints': [
                            models.UniqueConstraint(fields=('webhook', 'key'), name='an_event_once_per_webhook'),
                            models.CheckConstraint(condition=models.Q(models.Q(('delivered_at__isnull', False), ('state', 'delivered')), models.Q(models.Q(('state', 'delivered'), _negated=True), ('delivered_at__isnull', True)), _connector='OR'), name='delivered_has_a_time'),
                            models.CheckConstraint(condition=models.Q(models.Q(('state', 'sending'), _negated=True), ('started_at__isnull', False), _connector='OR'), name='sending_has_begun'),
                        ],
                    },
                ),
            ]
        ),
        move_content_types("webhook", "webhookdelivery", before="annotation", after="webhooks"),
    ]
