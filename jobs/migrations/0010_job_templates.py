"""Templates of tenants and members, in versions."""

from __future__ import annotations

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0009_notifications'),
        ('tenants', '0009_ssh_keys'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='JobTemplate',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=60, verbose_name='name')),
                ('text', models.CharField(blank=True, max_length=200, verbose_name='what it is for')),
                ('version', models.PositiveIntegerField(default=0, help_text='The newest.', verbose_name='version')),
                ('used_at', models.DateTimeField(null=True, verbose_name='last used')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('owner', models.ForeignKey(help_text='Null: of the tenant, for all its members.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='job_templates', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant', verbose_name='tenant')),
            ],
            options={
                'verbose_name': 'job template',
                'verbose_name_plural': 'job templates',
            },
        ),
        migrations.CreateModel(
            name='JobTemplateVersion',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('script', models.TextField()),
                ('fields', models.JSONField(default=dict, help_text="Texts of the form's fields, by their names.")),
                ('parameters', models.JSONField(default=list, help_text='See jobs.job_templates.parameters.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('template', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='jobs.jobtemplate')),
            ],
        ),
        migrations.AddConstraint(
            model_name='jobtemplate',
            constraint=models.UniqueConstraint(fields=('tenant', 'owner', 'name'), name='one_template_per_name', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='jobtemplateversion',
            constraint=models.UniqueConstraint(fields=('template', 'number'), name='one_version_per_number'),
        ),
    ]
