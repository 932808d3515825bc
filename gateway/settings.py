"""All settings, each read from the environment once. docs/guide/configuration.md lists them for operators."""

from pathlib import Path

import django

from gateway.core.embedded import celery_url, running_urls
from gateway.core.logging import logging_config
from gateway.core.postgres.addresses import databases
from gateway.environment import parse_choice, read_environment
from gateway.processes.timetable import TIMETABLE
from gateway.settings_login import *  # noqa: F403

BASE_DIR = Path(__file__).resolve().parent.parent
env = read_environment()

# Production unless set to exactly "development", so that a missing or mistyped setting is safe.
FLORIN_ENV = env.str("FLORIN_ENV", default="production")
PRODUCTION = FLORIN_ENV != "development"
SERVICE_VERSION = "0.25.0"
VAR_DIR = Path(env.str("FLORIN_VAR", default=str(BASE_DIR / "var")))

DEBUG = False
SECRET_KEY = env.str("SECRET_KEY", default="" if PRODUCTION else "development-only")
# Earlier keys: personal links that were mailed under them keep working.
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
# Fernet keys for secrets that must be recoverable; the first encrypts, all decrypt.
ENCRYPTION_KEYS = env.list("ENCRYPTION_KEYS", default=[])

# While it exists, /readyz says that this process is about to be replaced.
DRAIN_FILE = env.str("DRAIN_FILE", default="")
# Threads per web process. Requests that wait for a chain hold none.
WEB_THREADS = env.int("WEB_THREADS", default=24)
BASE_URL = env.str("BASE_URL", default="http://127.0.0.1:8000").rstrip("/")
CHECKOUT_HOST = env.str("CHECKOUT_HOST", default=BASE_URL).rstrip("/")
LINK_HOST = env.str("LINK_HOST", default=BASE_URL).rstrip("/")
# Hosts that formerly served pages; their requests are redirected to the current one.
LEGACY_HOSTS = env.list("LEGACY_HOSTS", default=[])
# Where pages reach the stream server, if its origin differs from theirs; see docs/adr/0008.
STREAM_URL = env.str("STREAM_URL", default="").rstrip("/")
MAX_STREAMS = env.int("MAX_STREAMS", default=5_000)  # of one server; others poll
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
# Only these peers may name the client in X-Forwarded-For.
TRUSTED_PROXIES = env.list("TRUSTED_PROXIES", default=[])

INSTALLED_APPS = [
    "gateway",
    "mails",
    "accounts",
    "wallets",
    "webhooks",
    "rates",
    "settlements",
    "checkouts",
    "x402",
    "links",
    "payouts",
    "notices",
    "greenfield",
    "reports",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "allauth",
    "accounts.apps.LoginConfig",
    "allauth.mfa",
    "allauth.usersessions",
    "django.contrib.staticfiles",
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.postgres",
    "rest_framework",
    "drf_spectacular",
    "csp",
]

# Few, because each costs every request; sessions and CSRF run only where people log in.
MIDDLEWARE = [
    "gateway.core.web.request_times.RequestTimesMiddleware",
    "accounts.requests.log.ApiRequestsMiddleware",
    "gateway.core.web.middleware.ApiMiddleware",
    "gateway.core.web.middleware.PresentHostMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "gateway.core.web.middleware.PagePolicyMiddleware",
    "gateway.core.web.languages.LanguageMiddleware",
    "gateway.core.web.middleware.NoNulMiddleware",
    "gateway.core.web.signed_in.SignedInPagesMiddleware",
]

ROOT_URLCONF = "gateway.urls"
APPEND_SLASH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = 256 * 1024
FILE_UPLOAD_HANDLERS = ["gateway.core.web.uploads.CappedUploadHandler"]

# Listed by name: a search through every app would also find templates of apps that Florin has its own pages for.
ADMIN_TEMPLATES = Path(django.__file__).parent / "contrib/admin/templates"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates", ADMIN_TEMPLATES],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "gateway.core.web.languages.language_links",
                # Only the operator's pages use it, and it is evaluated lazily.
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["gateway.core.web.badges", "gateway.core.web.language_tags", "django.templatetags.i18n"],
            "libraries": {"navigation": "gateway.dashboard.navigation"},
        },
    }
]

_embedded = running_urls(VAR_DIR / "engines")
DATABASE_URL = env.str("DATABASE_URL", default=_embedded.database_url if _embedded else "")
# The server's own address for `LISTEN`, when a pooler in transaction mode is used.
DATABASE_DIRECT_URL = env.str("DATABASE_DIRECT_URL", default=DATABASE_URL)
# Prepared statements belong to a session. Poolers before PgBouncer 1.21 give it to the next client.
DATABASE_PREPARE = env.bool("DATABASE_PREPARE", default=True)
REDIS_URL = env.str("REDIS_URL", default=_embedded.redis_url if _embedded else "")
# A prefix of keys and a suffix of database names, for tests that share one server.
KEY_PREFIX = env.str("FLORIN_KEY_PREFIX", default="florin")
_test_suffix = env.str("FLORIN_TEST_DB_SUFFIX", default="")

# A streaming replica that reports and lists read, and the lag from which they read the primary instead.
REPLICA_URL = env.str("REPLICA_URL", default="")
REPLICA_MOST_LAG_SECONDS = env.float("REPLICA_MOST_LAG_SECONDS", default=10.0)
DATABASES = databases(DATABASE_URL, REPLICA_URL, prepare=DATABASE_PREPARE, test_suffix=_test_suffix)
DATABASE_ROUTERS = ["gateway.core.postgres.replica.Router"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = ["accounts.login.hashers.LimitedArgon2Hasher"]
# Whether strangers may sign up. If not, people join by invitation or `manage.py create_merchant`.
SIGNUP_OPEN = env.bool("SIGNUP_OPEN", default=not PRODUCTION)
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not PRODUCTION

# Whether merchants are charged fees. None: as before it existed, see `accounts.fees.service.charges_fees`.
CHARGE_FEES = parse_choice("CHARGE_FEES", env.str("CHARGE_FEES", default=""))

# No other host, subdomain or plain connection can set a `__Host-` cookie (RFC 6265bis, 4.1.3.2).
_cookie_prefix = "__Host-" if PRODUCTION else ""
SESSION_COOKIE_NAME = f"{_cookie_prefix}florin-session"
SESSION_COOKIE_SECURE = PRODUCTION
# Seconds until a login ends: in all, and without a request.
SESSION_COOKIE_AGE = env.int("SESSION_SECONDS", default=14 * 86_400)
SESSION_IDLE_SECONDS = env.int("SESSION_IDLE_SECONDS", default=86_400)
CSRF_COOKIE_NAME = f"{_cookie_prefix}florin-csrf"
CSRF_COOKIE_SECURE = PRODUCTION
# Of a till's device, which is nobody's login.
TILL_COOKIE_NAME = f"{_cookie_prefix}florin-till"

USE_TZ = True
TIME_ZONE = "UTC"

# The languages of buyers' pages, each by its own name. docs/guide/languages.md says how to add one.
USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [
    ("en", "English"),
    ("es", "Español"),
    ("pt", "Português"),
    ("fr", "Français"),
    ("de", "Deutsch"),
    ("ru", "Русский"),
    ("tr", "Türkçe"),
    ("ar", "العربية"),
    ("zh-hans", "简体中文"),
    ("hi", "हिन्दी"),
    ("id", "Bahasa Indonesia"),
    ("vi", "Tiếng Việt"),
    ("it", "Italiano"),
    ("uk", "Українська"),
    ("pl", "Polski"),
    ("ja", "日本語"),
    ("ko", "한국어"),
    ("fa", "فارسی"),
    ("th", "ไทย"),
]
# The languages of the pages where people log in, beside English: the four of the above that most people speak. Their catalogues are
# in a folder of their own: the other languages need none.
LOGIN_LANGUAGES = ("zh-hans", "es", "hi", "ar")
# The languages of the dashboard and of mails to its people, beside English.
DASHBOARD_LANGUAGES = ("zh-hans", "es", "hi")
LOCALE_PATHS = [BASE_DIR / "locale", BASE_DIR / "locale" / "login", BASE_DIR / "locale" / "dashboard"]
FORMAT_MODULE_PATH = ["gateway.formats"]

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "gateway.core.web.statics.HashedStaticFiles"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not PRODUCTION

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accounts.keys.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["gateway.core.api.wire.JsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["gateway.core.api.wire.JsonParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "gateway.core.api.wire.AlwaysJson",
    "DEFAULT_SCHEMA_CLASS": "gateway.core.api.openapi.DescribedSchema",
    "EXCEPTION_HANDLER": "gateway.core.api.views.handle_exception",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Florin API",
    "DESCRIPTION": "Accept stablecoin payments on several chains through one API.",
    "VERSION": SERVICE_VERSION,
    "LICENSE": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    "OAS_VERSION": "3.1.1",
    "SERVERS": [{"url": BASE_URL, "description": "This installation"}],
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums", "gateway.pages.api_document.finish"],
    "WEBHOOKS": "gateway.pages.api_document.WEBHOOKS",
    # Generated clients have classes of these names.
    "ENUM_SUFFIX": "",
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "CheckoutStatus": "checkouts.states.CheckoutStatus",
        "CheckoutException": "checkouts.states.CheckoutException",
        "InboxOutcome": "checkouts.states.InboxOutcome",
        "InboxReason": "checkouts.states.InboxReason",
        "InboxStatus": "checkouts.states.InboxStatus",
        "TerminalStatus": "checkouts.states.TerminalStatus",
        "TransactionOutcome": "reports.transactions.TransactionOutcome",
        "TransactionSource": "reports.transactions.TransactionSource",
        "TransactionStatus": "reports.transactions.TransactionStatus",
        "TransferState": "wallets.states.TransferState",
        "SettlementStatus": "settlements.states.SettlementStatus",
        "ChainStatus": "wallets.states.ChainStatus",
        "DeliveryStatus": "webhooks.states.DeliveryStatus",
        "EndpointHealth": "webhooks.states.EndpointHealth",
        "LinkStatus": "links.states.LinkStatus",
        "LinkType": "links.states.LinkType",
        "PayoutException": "payouts.states.PayoutException",
        "PayoutKind": "payouts.states.PayoutKind",
        "PayoutStatus": "payouts.states.PayoutStatus",
        "Scope": "gateway.core.api.scopes.Scope",
    },
}

# Only one messenger's web clients may frame the hosted page.
FRAME_ANCESTORS = env.list(
    "FRAME_ANCESTORS", default=[f"https://{name}.telegram.org" for name in ("web", "webk", "webz")]
)
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "font-src": ["'self'"],
        "connect-src": ["'self'", *([STREAM_URL] if STREAM_URL else [])],
        # The Pay button of a link redirects to a checkout, and the policy follows redirects.
        "form-action": ["'self'", *{CHECKOUT_HOST} - {LINK_HOST}],
        "base-uri": ["'none'"],
        "frame-ancestors": FRAME_ANCESTORS,
    }
}
SECURE_REFERRER_POLICY = "no-referrer"
# With a public address on https, plain http is not served.
SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", default=BASE_URL.startswith("https://"))
# Asked of the web process itself, without the proxy: by it, by an orchestrator, by Prometheus.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if SECURE_SSL_REDIRECT else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.bool("SECURE_HSTS_INCLUDE_SUBDOMAINS", default=False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
SILENCED_SYSTEM_CHECKS = [
    # frame-ancestors of the policy below replaces it, and allows one messenger.
    "security.W002",
    # SIGNED_IN_MIDDLEWARE checks CSRF on the only pages that have cookies.
    "security.W003",
    # The operator decides about subdomains and browsers' preload lists.
    "security.W005",
    "security.W021",
    # SIGNED_IN_MIDDLEWARE provides sessions, logins and messages for /operator/.
    "admin.E408",
    "admin.E409",
    "admin.E410",
]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"

# The bearer token for reading metrics; without it there is no /metrics.
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")

# Seconds that a process may cache an API key; a revocation takes effect within them.
API_KEY_CACHE_SECONDS = env.float("API_KEY_CACHE_SECONDS", default=3.0)

WEBHOOK_SIGNATURE_HEADER = env.str("WEBHOOK_SIGNATURE_HEADER", default="X-Service-Signature")
# Months of attempts are dropped once all of them are older.
WEBHOOK_ATTEMPT_DAYS = env.int("WEBHOOK_ATTEMPT_DAYS", default=30)
# For development only: lets webhooks go to this machine. A system check refuses it in production.
WEBHOOK_ALLOW_LOOPBACK = env.bool("WEBHOOK_ALLOW_LOOPBACK", default=False)

# The push services of browsers, by host, subdomains included: of Chrome, Firefox, Safari, Edge.
PUSH_SERVICES = env.list(
    "PUSH_SERVICES", default=["fcm.googleapis.com", "push.services.mozilla.com", "push.apple.com", "notify.windows.com"]
)
# Where Telegram's bots are asked: its own server, or yours.
TELEGRAM_API_URL = env.str("TELEGRAM_API_URL", default="https://api.telegram.org").rstrip("/")

EMAIL_HOST = env.str("EMAIL_HOST", default="")  # without one, mail is printed
_mailer = "smtp" if EMAIL_HOST else "console"
EMAIL_BACKEND = f"django.core.mail.backends.{_mailer}.EmailBackend"
EMAIL_PORT = env.int("EMAIL_PORT", default=587)
EMAIL_HOST_USER = env.str("EMAIL_HOST_USER", default="")
EMAIL_HOST_PASSWORD = env.str("EMAIL_HOST_PASSWORD", default="")
EMAIL_USE_TLS = env.bool("EMAIL_USE_TLS", default=True)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="florin@localhost")
# Functions that return a mail's texts when it is sent, by the prefix of its key; `mails` does not know its callers.
MAIL_WRITERS = {
    "receipt": "checkouts.page.receipts.receipt_words",
    "page": "checkouts.page.mailing.page_words",
    "claim": "payouts.lifecycle.mails.claim_words",
    "subscriber": "links.subscriptions.service.subscriber_words",
    "notice": "notices.mails.notice_words",
    "digest": "notices.mails.digest_words",
}

# Every type of event. `webhooks` stores finished bodies and does not define types.
# Each endpoint receives these, unless it is a listed one that chose others.
WEBHOOK_CLASSIC_TYPES = [
    "checkout.completed",
    "checkout.expired",
    "checkout.underpaid",
    "checkout.reversed",
    "checkout.restored",
    "x402.payment.reversed",
    "x402.payment.returned",
    "gateway.restored",
]
# Only listed endpoints that chose one of these receive it, and it is written only for them. They are published as `OptInEvent`.
WEBHOOK_OPT_IN_TYPES = [
    "checkout.processing",
    "checkout.transfer_confirmed",
    "inbox.opened",
    "inbox.closed",
    *(
        f"{kind}.{what}"
        for kind in ("refund", "payout")
        for what in ("claimed", "approved", "paid", "reversed", "ended")
    ),
    "system.disrupted",
    "system.recovered",
]
WEBHOOK_EVENT_TYPES = [*WEBHOOK_CLASSIC_TYPES, *WEBHOOK_OPT_IN_TYPES]

# Who receives the first receives the others too: they take back or repeat what it says.
WEBHOOK_EVENTS_IMPLIED = {
    "checkout.completed": ["checkout.reversed", "checkout.restored"],
    "system.disrupted": ["system.recovered"],
}

# Writes the body of a delivery to a plugin for BTCPay Server, from what the sender claimed; None if there is nothing to tell.
WEBHOOK_BTCPAY_BODY = "greenfield.events.body_of"
# Returns the kind of shop that knows a checkout as its plugin's invoice; "" for other checkouts, which do not know the plugins' API.
CHECKOUT_SHOP = "greenfield.selectors.shop_of"
# Each returns which expired checkouts were paid by another attempt: of a payment link, of a shop's order. Checkouts know neither.
CHECKOUT_ATTEMPTS = ["links.selectors.paid_by_another_attempt", "greenfield.selectors.paid_by_another_invoice"]
# Writes the object of a test event.
WEBHOOK_SAMPLE = "checkouts.payloads.sample_payload"
# Reads the objects of inbox events by their keys; what opens and closes items does not know the API.
INBOX_OBJECTS = "checkouts.inbox.serializers.objects_by_key"
# Returns the refunds of transfers by their keys, for the timeline of a checkout, which does not know payouts.
CHECKOUT_REFUNDS = "payouts.selectors.refunds_of"
# Returns the checkouts of a payment link by their keys, for their list, which does not know links.
CHECKOUTS_OF_LINK = "links.selectors.checkouts_of_link"
# Reads the object of a refund's or payout's event, by its key.
PAYOUT_OBJECT = "payouts.selectors.event_object"

# Each app's part of a merchant's export: functions of the merchant that return files.
DATA_EXPORTS = [
    "accounts.export.tables",
    "wallets.export.tables",
    "checkouts.export.tables",
    "links.export.tables",
    "payouts.export.tables",
    "webhooks.export.tables",
    "notices.export.tables",
    "greenfield.export.tables",
    "accounts.waitlist.export.tables",
    "settlements.export.tables",
    "x402.export.tables",
]

# mainnet, testnet or local, for all chains unless CHAIN_<NAME>_NETWORK says otherwise; see wallets.chains.registry.
CHAIN_NETWORK = env.str("CHAIN_NETWORK", default="mainnet")
CHAIN_SETTINGS = {
    name.removeprefix("CHAIN_"): value
    for name, value in env.ENVIRON.items()
    if name.startswith("CHAIN_") and name != "CHAIN_NETWORK"
}
CHAIN_POLL_SECONDS = env.float("CHAIN_POLL_SECONDS", default=1.0)
# Whether a receiving wallet of exact amounts needs a signature always, or only if it may be in use (docs/adr/0018).
REQUIRE_WALLET_PROOF = env.bool("REQUIRE_WALLET_PROOF", default=False)
# The wallet apps that the page offers on phones, in this order (wallets.chains.wallet_apps); None: each chain's own.
WALLET_LINKS = env.list("WALLET_LINKS") if "WALLET_LINKS" in env.ENVIRON else None
# A bridge of TON Connect through which pages reach wallet apps (wallets.chains.ton.relay), and the wallets behind an address that is
# not their own. Empty: pages reach no other host.
TON_CONNECT_RELAY = env.str("TON_CONNECT_RELAY", default="")
TON_CONNECT_RELAY_WALLETS = env.list("TON_CONNECT_RELAY_WALLETS", default=[])
# How often a chain or account without expected payments is read, to find late money.
CHAIN_IDLE_SECONDS = env.float("CHAIN_IDLE_SECONDS", default=60.0)
# How often the last hour of a chain is compared across its sources; 0 turns that off.
RECONCILE_SECONDS = env.float("RECONCILE_SECONDS", default=300.0)
# How far back the movements of a new watched wallet are read; 0 reads none.
WALLET_HISTORY_DAYS = env.int("WALLET_HISTORY_DAYS", default=30)
# How long payouts of a cancelled batch stay locked where nothing ends what was handed out: a list in a drawer can be paid.
PAYOUT_COOLING_HOURS = env.int("PAYOUT_COOLING_HOURS", default=24)
# For this long after a checkout expired unpaid, payments near its price are doubtful; 0 turns that off (docs/adr/0005).
RIVAL_MINUTES = env.int("RIVAL_MINUTES", default=30)
# Names of Celery tasks to start after transfers were written, so that wallets does not depend on their apps.
TRANSFER_CONSUMERS = ["checkouts.attribute_transfers", "x402.follow_transfers"]
# The same for movements of watched wallets that payouts are expected to leave or reach.
MOVEMENT_CONSUMERS = ["payouts.follow"]
# Hours for which an exact amount stays reserved after its checkout ended: usually, and when amounts near the price run
# short. Late money must not match another buyer's checkout. A system check refuses less than a day.
EXACT_AMOUNT_HOLD_HOURS = env.int("EXACT_AMOUNT_HOLD_HOURS", default=72)
EXACT_AMOUNT_SHORT_HOLD_HOURS = env.int("EXACT_AMOUNT_SHORT_HOLD_HOURS", default=24)

# Currencies that prices may be in beside USD (ISO 4217); without any, every other one is refused.
PRICE_CURRENCIES = env.list("PRICE_CURRENCIES", default=[])
# Where rates come from, the first preferred: kraken, coinbase, bitstamp, bitpay, ecb (which only bounds the others),
# `fixed:EUR=1.09;GBP=1.27`, or a server of yours as `url:https://…` that answers {"EUR": "1.0883"}.
RATE_SOURCES = env.list(
    "RATE_SOURCES", default=["kraken", "coinbase", "bitstamp", "bitpay", "ecb"] if PRICE_CURRENCIES else []
)
# `Name: value` of a header that such a server needs.
RATE_URL_HEADER = env.str("RATE_URL_HEADER", default="")
# How far two sources may be apart, as a share, and how old a rate may be.
RATE_AGREEMENT = env.str("RATE_AGREEMENT", default="0.01")
RATE_MOST_AGE_SECONDS = env.int("RATE_MOST_AGE_SECONDS", default=180)
# Whether a rate that no second source confirms may be used.
RATE_SINGLE_SOURCE = env.bool("RATE_SINGLE_SOURCE", default=False)
# The longest time to pay a checkout whose price was converted.
RATE_HOLD_SECONDS = env.int("RATE_HOLD_SECONDS", default=3_600)
# Whether tokens below 0.98 USD are left out of new checkouts. None: where sources are named.
DEPEG_GUARD = parse_choice("DEPEG_GUARD", env.str("DEPEG_GUARD", default=""))

# Private keys (hex) that only pay for gas on the chains with forwarders. Without one, merchants flush from their own
# wallets, and the public x402 standard is not offered there.
GAS_KEYS = env.list("GAS_KEYS", default=[])
# Secret keys (64 bytes in base58) of accounts that pay the network for machines' signed payments on Solana.
GAS_KEYS_SOLANA = env.list("GAS_KEYS_SOLANA", default=[])
# By chain, as `base=10,polygon=2000`: the highest gas price in gwei; a day's spending limit and the low-balance alert, in
# the chain's own coin. The chain's facts (wallets.chains) give the defaults.
GAS_MAX_GWEI = env.dict("GAS_MAX_GWEI", default={})
GAS_DAILY_COINS = env.dict("GAS_DAILY_COINS", default={})
GAS_LOW_COINS = env.dict("GAS_LOW_COINS", default={})
# The share of a chain's daily gas that may be used for what others signed for one merchant.
GAS_MERCHANT_SHARE = env.str("GAS_MERCHANT_SHARE", default="0.5")
# Chains on which buyers' payments are sent by our gas accounts, so that buyers pay no network fee; and by chain the lowest price
# in USD for which that is done. The chain's facts give the defaults.
GAS_FREE = env.list("GAS_FREE", default=[])
GAS_FREE_LEAST_USD = env.dict("GAS_FREE_LEAST_USD", default={})

# Factories whose wallets machines' payments may deploy on EVM chains (ERC-6492), at our gas account's cost.
X402_WALLET_FACTORIES = env.list("X402_WALLET_FACTORIES", default=[])

# The assumed price of a coin in USD, to compare gas with the moved amount: no price feed is used.
GAS_COIN_USD = env.dict("GAS_COIN_USD", default={})
# The highest cost of a sweep, as a share of the amount it moves.
SWEEP_MOST_COST = env.str("SWEEP_MOST_COST", default="0.02")

CELERY_BROKER_URL = celery_url(REDIS_URL)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_TIME_LIMIT = 60
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 120,
    "global_keyprefix": f"{KEY_PREFIX}:",
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_DEFAULT_QUEUE = "florin"
CELERY_BEAT_SCHEDULE = TIMETABLE
CELERY_BEAT_SCHEDULER = "gateway.beat:SteadyScheduler"

LOGGING_CONFIG = None
LOGGING = logging_config(json_lines=PRODUCTION)
