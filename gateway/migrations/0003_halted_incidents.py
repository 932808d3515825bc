from django.db import migrations, models


class Migration(migrations.Migration):
    """An incident's words tell a chain that contradicted itself from one that could not be read."""

    stage = "expand"

    dependencies = [("gateway", "0002_incidents")]

    operations = [
        migrations.AddField(
            model_name="incident", name="halted", field=models.BooleanField(db_default=False, default=False)
        )
    ]
