"""What people chose, their devices, a merchant's chats, and how far facts were told."""

from functools import partial

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Merchant, User
from accounts.states import Mode
from gateway.core.ids import new_id
from notices.states import How, Kind, Service, Way
from webhooks.models import Endpoint

NAME_LENGTH = 80


class Choice(models.Model):
    """How a person is told of a kind, where they chose it. `notices.states.usual` is what others get."""

    user = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+")
    mode = models.CharField(max_length=4, choices=Mode)
    kind = models.CharField(max_length=8, choices=Kind)
    way = models.CharField(max_length=4, choices=Way)
    how = models.CharField(max_length=7, choices=How)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "merchant", "mode", "kind", "way"], name="notice_chosen_once"),
            models.CheckConstraint(condition=Q(how__in=How.values), name="notice_how_known"),
            models.CheckConstraint(condition=~Q(way=Way.PUSH, how=How.DAILY), name="notice_push_is_at_once"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} by {self.way}: {self.how}"


class Device(models.Model):
    """A browser of a person that shows a merchant's notices. The endpoint's secret has its address and keys."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(new_id, "ntd"))
    user = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+")
    # SHA-256 of the address: a browser that subscribes again is the same device.
    digest = models.BinaryField(max_length=32)
    # The browser and system, as far as they say what they are.
    name = models.CharField(max_length=NAME_LENGTH)
    endpoint = models.OneToOneField(Endpoint, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "merchant", "digest"], name="notice_device_once")]

    def __str__(self) -> str:
        return self.name


class Chat(models.Model):
    """A chat that is told of a merchant's kinds in one mode. The endpoint's secret has its address."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(new_id, "ntc"))
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+")
    mode = models.CharField(max_length=4, choices=Mode)
    service = models.CharField(max_length=8, choices=Service)
    name = models.CharField(max_length=NAME_LENGTH)
    kinds = ArrayField(models.CharField(max_length=8, choices=Kind))
    endpoint = models.OneToOneField(Endpoint, models.PROTECT, related_name="+")
    added_by = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(service__in=Service.values), name="notice_service_known")]

    def __str__(self) -> str:
        return self.name


class Pass(models.Model):
    """Up to when the facts of a kind were told. Its lock keeps passes from looking at once; constraints keep them from telling twice."""

    name = models.CharField(max_length=8, primary_key=True)
    told_until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} until {self.told_until:%Y-%m-%d %H:%M:%S}"
