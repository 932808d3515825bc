"""Whether buyers may try again by themselves."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds the switch, off."""

    dependencies = [("accounts", "0002_audit_is_append_only")]
    operations = [
        migrations.AddField(
            model_name="merchant",
            name="buyers_may_retry",
            field=models.BooleanField(default=False),
        )
    ]
