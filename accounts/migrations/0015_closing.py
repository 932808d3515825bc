"""When a merchant account was closed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds the moment, empty."""

    dependencies = [("accounts", "0014_fees_in_micro_usd")]
    operations = [
        migrations.AddField(
            model_name="merchant",
            name="closed_at",
            field=models.DateTimeField(null=True),
        )
    ]
