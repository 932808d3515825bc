"""Whether payments of a round price ask for expired rivals."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds the switch, off."""

    dependencies = [("accounts", "0012_fee_corrections")]
    operations = [
        migrations.AddField(
            model_name="merchant",
            name="round_price_rivals",
            field=models.BooleanField(db_default=False, default=False),
        )
    ]
