"""Changes of a person's password and address, each in one transaction with its audit entry.

The library alone commits a change first. If the process then died, the change would have no entry and no mail.
"""

from allauth.account import views
from allauth.account.decorators import reauthentication_required
from django.db import transaction

change_password = transaction.atomic(views.password_change)
set_password = transaction.atomic(views.password_set)
reset_password = transaction.atomic(views.password_reset_from_key)
# The library needs no reauthentication here, but a new address can reset the password.
change_email = reauthentication_required(app="allauth.account")(transaction.atomic(views.email))
# An address is changed once its code is entered.
confirm_email = transaction.atomic(views.email_verification_sent)
