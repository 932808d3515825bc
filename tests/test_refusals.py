"""What the dashboard refuses is a message of its catalogues: only the API's own rules, and what no team meets, are in English alone."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from django.urls import get_resolver
from django.utils import translation

from accounts.errors import InvitationError
from gateway.core.api.errors import ConflictError, GatewayError, InvalidRequestError, RateLimitError
from gateway.core.web.form_errors import in_words, words_of
from payouts.errors import PayoutStateError
from payouts.states import PayoutKind, PayoutStatus
from tests import catalogues
from tests.tree import python_sources, relative

# Every template and module is read for its messages, by the worker that does it for test_languages.
pytestmark = pytest.mark.xdist_group("languages")

MARKS: Final = {"_", "gettext", "gettext_noop", "pgettext", "pgettext_noop", "gettext_lazy", "pgettext_lazy"}
APPS: Final = (
    *("accounts/", "checkouts/", "gateway/dashboard/", "links/", "notices/", "payouts/", "rates/", "settlements/"),
    *("wallets/", "webhooks/"),
)
# Whose refusals no page of the dashboard shows, by the beginning or the end of their files' names.
OF_OTHERS: Final = (
    "accounts/keys/authentication.py",
    "accounts/keys/idempotency.py",
    "accounts/login/",
    "accounts/waitlist/",
    # Buyers' pages and the till say theirs by the code.
    "checkouts/gas_free/",
    "checkouts/options.py",
    "checkouts/page/",
    "checkouts/rescue/",
    "checkouts/reservations.py",
    "checkouts/till/service.py",
    "links/page/",
    "payouts/lifecycle/payers.py",
    "payouts/page/",
    # The dashboard's script reads the code.
    "payouts/batches/authorizations.py",
    "payouts/batches/transactions.py",
    "wallets/chains/",
)
# Parameters of the API.
OF_THE_API: Final = ("api.py", "selectors.py", "queries.py", "serializers.py")
# Rules of the API, which name its parameters; and what a page that works cannot ask for.
IN_ENGLISH: Final = {
    "f'domain {problem}'",
    "f'{param} must not be longer than {_LENGTHS[param]} characters.'",
    "f'{param} must be one line of visible characters.'",
    "f'{param} must be a colour such as #2440d8.'",
    "'The same order_ref is being created elsewhere; try again.' if quote is None else _SAME_CENT",
    "_NO_KEY",
    "_PEOPLES",
    "f'There is no receipt {jti}.'",
    "f'There is no test checkout {checkout.public_id}.'",
    "_UNQUOTED.format(*newest, currency)",
    "f'At most {MOST_CHOICES} choices.'",
    "f'amount must be more than zero, and at most {MOST}.'",
    "f'chain must be one of {known}.'",
    "'A claim lasts from an hour to 365 days.'",
    "'This outflow is not final, or not yours.'",
    "'This outflow pays another payout.'",
    "'There is no such checkout.'",
    "'There is no such payment.'",
    "'There is no such payment to you.'",
    "'This transaction paid you several times: give the position.'",
    '"This doesn\'t look like a transaction hash."',
    "'There is no such chain.'",
    "'This token is not accepted there.'",
    "'tx_hash must be 0x and 64 hexadecimal digits.'",
    "'There is no such webhook endpoint here.'",
    "'People change the default endpoint, in the dashboard under Webhooks.'",
    # What a chain's rules say of an address.
    "f'The address {error}'",
    "f'On {chain} machines pay a forwarder to your receiving wallet; there is nothing to set.'",
    "f'There is no chain {name[:16]!r}.'",
}


def errors() -> set[str]:
    """The names of all errors with an answer for the client."""
    # Loads every view, and what it raises.
    assert get_resolver().url_patterns
    found = [GatewayError]
    for kind in found:
        found += kind.__subclasses__()
    return {kind.__name__ for kind in found}


def is_plain(node: ast.AST) -> bool:
    """Whether a text stands in an expression, formed or not."""
    return any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in ast.walk(node))


def is_marked(node: ast.AST) -> bool:
    """Whether a message stands in an expression."""
    return any(isinstance(one, ast.Call) and getattr(one.func, "id", "") in MARKS for one in ast.walk(node))


def plain_names(tree: ast.Module) -> set[str]:
    """The constants of a module that are texts and no messages."""
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and is_plain(node.value) and not is_marked(node.value)
    }


def unmarked(tree: ast.Module, known: set[str]) -> Iterator[str]:
    """What a module raises errors with that no catalogue can translate."""
    names = plain_names(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", "") not in known or not node.args:
            continue
        said = node.args[0]
        is_named = any(isinstance(one, ast.Name) and one.id in names for one in ast.walk(said))
        if is_named or (is_plain(said) and not is_marked(said)):
            yield ast.unparse(said)


def sources() -> list[Path]:
    """The modules that the dashboard calls."""
    files = ((path, relative(path)) for path in python_sources())
    return [
        path
        for path, name in files
        if name.startswith(APPS)
        and not name.startswith(OF_OTHERS)
        and not name.endswith(OF_THE_API)
        and "/management/" not in name
    ]


def test_every_refusal_of_the_dashboard_is_a_message() -> None:
    known = errors()
    assert {"ConflictError", "TeamError", "PayoutStateError", "MailLimitError"} <= known
    found = {path: said for path in sources() if (said := {*unmarked(ast.parse(path.read_text()), known)})}
    left = {relative(path): said - IN_ENGLISH for path, said in found.items() if said - IN_ENGLISH}
    assert left == {}
    # None of these is kept for a refusal that is gone.
    assert IN_ENGLISH - set().union(*found.values()) == set()


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("raise ConflictError('No.')", 1),
        ("raise ConflictError(f'No {name}.')", 1),
        ("raise ConflictError('No.' if some else other)", 1),
        ("_NO = 'No.'\nraise ConflictError(_NO)", 1),
        ("_NO: Final = 'No {}.'\nraise ConflictError(_NO.format(name))", 1),
        ("raise ConflictError(gettext_noop('No.'))", 0),
        ("raise ConflictError(pgettext_noop('team', 'No {name}.'), values={'name': name})", 0),
        ("_NO: Final = gettext_noop('No.')\nraise ConflictError(_NO)", 0),
        ("raise OddError('No.')", 0),
    ],
)
def test_a_refusal_without_a_mark_is_found(source: str, count: int) -> None:
    assert len([*unmarked(ast.parse(source), {"ConflictError"})]) == count


def marked_in(source: str) -> Iterator[tuple[str | None, str]]:
    """The context and the text of each message that a module names."""
    for node in ast.walk(ast.parse(source)):
        name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
        texts = [one.value for one in node.args if isinstance(one, ast.Constant)] if isinstance(node, ast.Call) else []
        if name in MARKS and len(texts) == (2 if name.startswith("p") else 1):
            yield (str(texts[0]), str(texts[1])) if name.startswith("p") else (None, str(texts[0]))


def test_the_reader_of_messages_finds_all_that_are_named() -> None:
    """Babel skips a call inside another call's call: such a message would be in no catalogue."""
    kept = {
        (message.context, message.id if isinstance(message.id, str) else message.id[0])
        for readers in catalogues.ALL
        for message in catalogues.used_messages(readers)
        if message.id
    }
    lost: dict[str, Any] = {}
    for path in python_sources():
        name = relative(path)
        if name.startswith((*APPS, "gateway/", "mails/", "reports/", "x402/")) and (
            missing := {*marked_in(path.read_text())} - kept
        ):
            lost[name] = missing
    assert lost == {}


def test_a_refusal_with_values_is_said_in_the_readers_language() -> None:
    error = PayoutStateError(PayoutStateError.UNCANCELLABLE, PayoutKind.REFUND, PayoutStatus.PAID)
    assert error.message == "This refund is paid and can no longer be cancelled."
    assert words_of(error) == error.message
    with translation.override("es"):
        assert words_of(error) == "Este reembolso está pagado y ya no se puede cancelar."
        assert words_of(RateLimitError(7)) == "Demasiadas solicitudes. Inténtelo de nuevo en 7 segundos."
        # The API's answer is in English whoever asks.
        assert error.body()["error"]["message"] == error.message


def test_a_value_that_a_person_typed_stays_as_it_is() -> None:
    error = ConflictError("{name} is already in the team.", values={"name": "{secret} %(x)s"})
    assert error.message == "{secret} %(x)s is already in the team."
    with translation.override("es"):
        assert words_of(error) == "Florin no aceptó esto: {secret} %(x)s is already in the team."


def test_only_what_the_apis_rules_say_is_quoted_as_its_words() -> None:
    with translation.override("es"):
        assert words_of(ConflictError("Odd.")) == "Florin no aceptó esto: Odd."
        assert words_of(InvalidRequestError("amount is odd.")) == "Florin no aceptó esto. La API dice: amount is odd."
        assert in_words("Odd.") == "Florin no aceptó esto: Odd."
    assert words_of(ConflictError("Odd.")) == in_words("Odd.") == "Odd."


@pytest.mark.parametrize("code", catalogues.languages(catalogues.PEOPLE))
def test_what_became_of_an_invitation_is_said_in_each_language_of_logins(code: str) -> None:
    with translation.override(code):
        for message in (InvitationError.OVER, InvitationError.NOT_YOURS):
            assert translation.gettext(message) != message
