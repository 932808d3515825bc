"""Changes of a person's password and address, each in one transaction with its audit entry.

The library commits each by itself. A process that died a moment later would leave a change that no entry tells of, and
that nobody is told of by mail.
"""

from allauth.account import views
from allauth.account.decorators import reauthentication_required
from django.db import transaction

change_password = transaction.atomic(views.password_change)
set_password = transaction.atomic(views.password_set)
reset_password = transaction.atomic(views.password_reset_from_key)
# The library asks for no proof here, and whoever changes the address can have the password reset.
change_email = reauthentication_required(app="allauth.account")(
    transaction.atomic(views.email)
)
# An address is changed once its code is typed.
confirm_email = transaction.atomic(views.email_verification_sent)
