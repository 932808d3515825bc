"""Looks whether the bound of 0002 holds, while attempts are written: then making them a partition reads no row."""

from django.db import migrations


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('webhooks', '0002_attempts_bound'),
    ]

    operations = [
        migrations.RunSQL(
            'ALTER TABLE webhooks_attempt VALIDATE CONSTRAINT attempt_of_first_partition',
            migrations.RunSQL.noop,
        ),
    ]
