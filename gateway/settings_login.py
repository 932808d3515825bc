"""Login settings that are the same everywhere; gateway.settings has those read from the environment."""

# Middleware for /account/, /dashboard/ and /operator/ only, in this order; see gateway.core.web.signed_in.
SIGNED_IN_MIDDLEWARE = [
    "accounts.login.guard.AccountThrottleMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "gateway.dashboard.languages.PersonsLanguageMiddleware",
    "accounts.login.sessions.SessionLimitsMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]

AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_URL = "/account/login/"
LOGIN_REDIRECT_URL = "/dashboard/"
_validators = "django.contrib.auth.password_validation."
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": _validators + "UserAttributeSimilarityValidator", "OPTIONS": {"user_attributes": ["email", "name"]}},
    {"NAME": _validators + "MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": _validators + "CommonPasswordValidator"},
]

ACCOUNT_ADAPTER = "accounts.login.adapter.LoginAdapter"
ACCOUNT_FORMS = {
    "login": "accounts.login.forms.LoginForm",
    "signup": "accounts.login.forms.SignupForm",
    "confirm_email_verification_code": "accounts.login.forms.ConfirmEmailForm",
    "change_email": "accounts.login.forms.ChangeEmailForm",
    "reauthenticate": "accounts.login.forms.PasswordAgainForm",
    "change_password": "accounts.login.forms.ChangePasswordForm",
    "set_password": "accounts.login.forms.SetPasswordForm",
    "reset_password": "accounts.login.forms.ResetPasswordForm",
    "reset_password_from_key": "accounts.login.forms.ResetPasswordKeyForm",
}
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_ENABLED = True
ACCOUNT_EMAIL_VERIFICATION_SUPPORTS_RESEND = True
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_REAUTHENTICATION_TIMEOUT = 600
# A mailed code is no method: who reads the mail can reset the password, and must not pass the second factor by that.
ACCOUNT_REAUTHENTICATION_METHODS = ("password", "mfa")
# Lifetime of a reset link in seconds; the mail states one hour.
PASSWORD_RESET_TIMEOUT = 3600
ACCOUNT_LOGOUT_REDIRECT_URL = LOGIN_URL
# Our rows (accounts.login.guard) and Valkey count attempts. Allauth's counters are in a cache: parallel requests evade them
# or overwrite them.
ACCOUNT_RATE_LIMITS = False

MFA_RATE_LIMITS = False
MFA_ADAPTER = "accounts.login.adapter.MfaAdapter"
MFA_FORMS = {
    "authenticate": "accounts.login.forms.AuthenticateForm",
    "reauthenticate": "accounts.login.forms.ReauthenticateForm",
    "activate_totp": "accounts.login.forms.ActivateTotpForm",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_ISSUER = "Florin"
# The previous code is accepted too: `accounts.login.factors` ensures that each is used once.
MFA_TOTP_TOLERANCE = 1

SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "accounts.dashboard.refusals.forged"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
