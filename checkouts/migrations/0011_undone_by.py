"""Who undid a decision about an inbox item. Of those undone before, the audit log alone tells."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("checkouts", "0010_inbox_lists"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            "inboxdecision",
            "undone_by",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            "inboxdecision",
            models.CheckConstraint(
                condition=models.Q(
                    ("undone_by", None),
                    ("undone_at__isnull", False),
                    _connector="OR",
                ),
                name="inbox_decision_undone_by",
            ),
        ),
    ]
