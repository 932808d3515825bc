from django.db import migrations, models
from django.db.models import F
from django.db.models.functions import MD5


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0002_endpoints_are_served")]

    operations = [
        migrations.RemoveConstraint(
            model_name="endpoint", name="endpoint_once_per_url"
        ),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.UniqueConstraint(
                F("merchant"), F("mode"), MD5("url"), name="endpoint_once_per_url"
            ),
        ),
    ]
