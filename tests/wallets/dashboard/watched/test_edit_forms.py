"""What people type about watched wallets: tags on lines or with commas, and which chains there are."""

from wallets.dashboard.watched.edit import EditForm, WatchForm
from wallets.models.watched import MOST_TAGS
from wallets.networks import chains


def test_tags_stand_on_lines_or_between_commas() -> None:
    form = EditForm({"label": "  Payroll ", "tags": "eu, cold\r\n\r\nEU,vault"})
    assert form.is_valid(), form.errors
    assert form.cleaned_data == {"label": "Payroll", "tags": ["eu", "cold", "vault"]}


def test_too_many_tags_are_told_beside_the_field() -> None:
    form = EditForm({"tags": ",".join(f"n{number}" for number in range(MOST_TAGS + 1))})
    assert not form.is_valid()
    assert form.errors == {"tags": [f"A wallet has {MOST_TAGS} tags at most."]}


def test_every_chain_is_offered_and_no_other() -> None:
    form = WatchForm({"chain": "dogecoin", "address": "x"})
    assert list(form.errors) == ["chain"]
    names = [name for name, _ in form.fields["chain"].choices]  # type: ignore[attr-defined]
    assert names == list(chains())
