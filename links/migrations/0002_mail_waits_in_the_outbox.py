from django.db import migrations

# What is still due goes on in the outbox, with the tries it has left.
MOVE = """
    INSERT INTO mails_outgoingmail (key, recipient, subject, text, html, tries, created_at, due_at)
    SELECT 'subscriber:' || m.id, s.email, '', '', '', m.tries, m.due_at, m.due_at
    FROM links_subscribermail m JOIN links_subscription s ON s.id = m.subscription_id
    WHERE m.due_at IS NOT NULL AND s.email <> ''
"""


class Migration(migrations.Migration):

    dependencies = [
        ("links", "0001_tables"),
        ("mails", "0001_tables"),
    ]

    operations = [
        migrations.RunSQL(MOVE, migrations.RunSQL.noop),
        migrations.RemoveIndex(model_name="subscribermail", name="subscriber_mail_due"),
        migrations.RemoveField(model_name="subscribermail", name="tries"),
        migrations.RemoveField(model_name="subscribermail", name="due_at"),
        migrations.RemoveField(model_name="subscribermail", name="sent_at"),
    ]
