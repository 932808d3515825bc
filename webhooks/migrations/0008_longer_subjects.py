"""Makes room for the ids of inbox items in events: longer ones need no new rows, so the table is not read."""

from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('webhooks', '0007_listed_endpoints_found'),
    ]

    operations = [
        migrations.AlterField(
            model_name='event',
            name='subject_id',
            field=models.CharField(max_length=60),
        ),
    ]
