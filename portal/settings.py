"""All settings, from environment variables. `make run` and the tests set them; so does production."""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from portal.lib import env
from portal.lib.mail import mail_settings
from portal.lib.types import JSONDict

BASE_DIR = Path(__file__).resolve().parent.parent

# --- mode: production unless said otherwise; demo and test may use the local drivers ---------------
MODE = env.text("FREEHOLD_MODE", "production")
if MODE not in {"production", "demo", "test"}:
    raise ImproperlyConfigured(f"FREEHOLD_MODE is production, demo or test, not {MODE!r}.")
PRODUCTION = MODE == "production"
DEBUG = False

SECRET_KEY = env.text("SECRET_KEY")
PUBLIC_URL = env.text("PUBLIC_URL").rstrip("/")  # links in mails and to the identity provider
_public = urlsplit(PUBLIC_URL)
_issuers = [urlsplit(env.text("OIDC_ISSUER")), urlsplit(env.text("OPERATOR_ISSUER", ""))]
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", _public.hostname or "")
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS", PUBLIC_URL)
SOCKET_ORIGINS = CSRF_TRUSTED_ORIGINS  # who may open a WebSocket, in development too
INSTALLATION = env.text("FREEHOLD_INSTALLATION", "freehold")  # the mark on everything we make outside
PRODUCT_NAME = "Freehold"
TERMS_URL = env.text("TERMS_URL", "")  # where the terms stand that a founder accepts

# --- apps ------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "portal.web.apps.WebConfig",
    "jobs",
    "clusters",
    "tenants",
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django.forms",
    "channels",
    "csp",
    "drf_spectacular",
    "django_htmx",
    "template_partials",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "portal.web.static.StaticFilesMiddleware",
    "tenants.middleware.RequestIdMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "tenants.middleware.ActorMiddleware",
    "portal.web.errors.ErrorMiddleware",
]
ROOT_URLCONF = "portal.urls"
ASGI_APPLICATION = "portal.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.web.context.frame",
            ],
        },
    },
]
TEMPLATES.append(
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "NAME": "mail",  # plain text: nothing is escaped, because nothing reads it as HTML
        "DIRS": [BASE_DIR / "templates" / "mail"],
        "OPTIONS": {"autoescape": False},
    }
)
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"


# --- PostgreSQL and Redis --------------------------------------------------------------------------
def _database(url: str) -> JSONDict:
    """Settings from postgresql://user:password@host:port/name?host=/socket/folder&sslmode=..."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgresql", "postgres"}:
        raise ImproperlyConfigured("DATABASE_URL must start with postgresql://: it is the one database.")
    options = {name: values[0] for name, values in parse_qs(parts.query).items()}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "CONN_HEALTH_CHECKS": True,  # a restart of PostgreSQL leaves dead connections in the pool
        "OPTIONS": {**options, "pool": {"min_size": 1, "max_size": env.number("DATABASE_POOL", 12)}}
        if MODE != "test"
        else options,
    }


DATABASES = {"default": _database(env.text("DATABASE_URL"))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.text("REDIS_URL")
REDIS_PREFIX = env.text("REDIS_PREFIX", "freehold")
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": REDIS_PREFIX,
    }
}
CHANNEL_LAYERS = {
    "default": {
        # By subscription: one connection a process. The other layer's queues in Redis hold 100 messages for
        # a process and drop the rest (when 200 topics changed at once, sockets waited in vain). Here a
        # message is lost only with the connection, and every page asks by itself within 30 s.
        "BACKEND": "tenants.live.layer.Layer",
        "CONFIG": {
            "hosts": [{"address": REDIS_URL, "health_check_interval": 20}],
            "prefix": f"{REDIS_PREFIX}.live",
        },
    }
}

# --- Celery: tasks are hints with ids; a beat scan of what is due is the truth ---------------------
CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://")
CELERY_BROKER_TRANSPORT_OPTIONS = {"global_keyprefix": f"{REDIS_PREFIX}.celery.", "visibility_timeout": 3600}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_TIME_LIMIT = 60
CELERY_TASK_SOFT_TIME_LIMIT = 50
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BEAT_SCHEDULE = {
    "clear-sessions": {"task": "tenants.clear_sessions", "schedule": 3600.0, "options": {"expires": 7200}},
    "send-mail": {"task": "tenants.send_outbox", "schedule": 5.0, "options": {"expires": 15}},
    "cancel-jobs-of-leavers": {"task": "jobs.cancel_due", "schedule": 30.0, "options": {"expires": 60}},
    "follow-kubeconfigs": {"task": "clusters.follow_kube_due", "schedule": 5.0, "options": {"expires": 10}},
    "learn-sites": {"task": "clusters.learn_sites", "schedule": 60.0, "options": {"expires": 120}},
    "look-at-workloads": {
        "task": "clusters.look_at_workloads_due",
        "schedule": 5.0,
        "options": {"expires": 10},
    },
    "read-history": {"task": "jobs.read_history_due", "schedule": 10.0, "options": {"expires": 20}},
    "set-limits": {"task": "jobs.set_limits_due", "schedule": 10.0, "options": {"expires": 20}},
    "tell-of-jobs": {"task": "jobs.tell_by_mail", "schedule": 15.0, "options": {"expires": 30}},
    "prune-samples": {"task": "clusters.prune_samples", "schedule": 3600.0, "options": {"expires": 7200}},
    "reconcile-what-is-due": {"task": "clusters.reconcile_due", "schedule": 2.0, "options": {"expires": 10}},
}

# --- who people are --------------------------------------------------------------------------------
AUTH_USER_MODEL = "tenants.User"
AUTHENTICATION_BACKENDS = ["tenants.signin.backend.IdentityBackend"]
LOGIN_URL = "signin"
OIDC = {
    "issuer": env.text("OIDC_ISSUER"),  # exactly as the provider writes it, a last slash included
    "client_id": env.text("OIDC_CLIENT_ID"),
    "client_secret": env.text("OIDC_CLIENT_SECRET", ""),
    "scopes": env.text("OIDC_SCOPES", "openid email profile"),
}
# Issuers whose `email_verified: true` is believed when an invitation is accepted.
OIDC_TRUSTED_ISSUERS = env.words("OIDC_TRUSTED_ISSUERS", OIDC["issuer"])
# Only people with a verified address of these domains may sign in; empty: everyone whom the issuer knows.
OIDC_ALLOWED_DOMAINS = env.words("OIDC_ALLOWED_DOMAINS")
# Operators: everyone of one issuer, or named people as issuer|subject. Never a membership.
OPERATOR_ISSUER = env.text("OPERATOR_ISSUER", "")
if OPERATOR_ISSUER and OIDC["issuer"] == OPERATOR_ISSUER:
    raise ImproperlyConfigured("OPERATOR_ISSUER is the customers' OIDC_ISSUER: all would be operators.")
OPERATOR_OIDC = {
    **OIDC,
    "issuer": OPERATOR_ISSUER,
    "client_id": env.text("OPERATOR_CLIENT_ID", OIDC["client_id"]),
    "client_secret": env.text("OPERATOR_CLIENT_SECRET", ""),
}
OPERATOR_EMAILS = env.words("OPERATOR_EMAILS")
OPERATORS = [tuple(entry.split("|", 1)) for entry in env.words("OPERATORS")]

SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"  # the identity provider sends people back by a link
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "portal.web.errors.csrf_failure"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

# --- mail: empty address of a server: mails are stored and not sent (the demo shows them at /demo/mailbox/)
MAIL = mail_settings(env.text("EMAIL_URL", ""))
MAIL_IS_SENT = bool(MAIL)
EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
EMAIL_HOST, EMAIL_PORT = MAIL.get("host", ""), MAIL.get("port", 0)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = MAIL.get("user", ""), MAIL.get("password", "")
EMAIL_USE_SSL, EMAIL_USE_TLS = MAIL.get("ssl", False), MAIL.get("starttls", False)
EMAIL_TIMEOUT = 15
DEFAULT_FROM_EMAIL = env.text("MAIL_FROM", f"{PRODUCT_NAME} <no-reply@{_public.hostname}>")

# --- transport -------------------------------------------------------------------------------------
HTTPS = _public.scheme == "https"
if PRODUCTION and not HTTPS:
    raise ImproperlyConfigured("PUBLIC_URL must start with https:// in production.")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^health/"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
if env.flag("BEHIND_PROXY"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        # signing out is a form whose answer leads to the provider, and browsers check that too
        "form-action": [SELF, *(f"{url.scheme}://{url.netloc}" for url in _issuers if url.netloc)],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "manifest-src": [SELF],
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024  # a script of 1 MiB, typed or uploaded, and its form
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

# --- the REST API: tokens only, JSON only, every error as problem details --------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["tenants.api.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["tenants.api.parsing.JsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "tenants.api.parsing.JsonOnly",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_METADATA_CLASS": None,
    "EXCEPTION_HANDLER": "tenants.api.problems.handle",
    "COERCE_DECIMAL_TO_STRING": True,
    "UNICODE_JSON": True,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Freehold API",
    "VERSION": "v1",
    "DESCRIPTION": "Everything that the portal's pages do, for programs. Each request carries an API token, "
    "which is made in the portal and opens one tenant. Lists come in pages: follow `next`. Errors are "
    "problem details (RFC 9457). Not here, as it takes a person in a browser: signing in, founding a tenant, "
    "accepting an invitation, making tokens.",
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "SORT_OPERATIONS": False,
    "ENUM_NAME_OVERRIDES": {
        "RoleEnum": "tenants.models.people.Role",
        "StackEnum": "clusters.models.Stack",
        "OrderKindEnum": "clusters.models.OrderKind",
        "OrderStateEnum": "clusters.models.OrderState",
        "PhaseEnum": "clusters.models.Phase",
        "StepStatusEnum": "clusters.models.StepStatus",
        "KubeRoleEnum": "clusters.models.KubeRole",
        "KubeconfigStateEnum": "clusters.api.kubeconfigs.STATES",
        "JobStateEnum": "jobs.models.JobState",
        "InvitationStateEnum": "tenants.api.invitations.INVITATION_STATES",
        "OutputStateEnum": "jobs.api.output.STATES",
        "SubmissionStateEnum": "jobs.models.SubmissionState",
    },
}

# --- static files, language, time ------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = Path(env.text("STATIC_ROOT", str(BASE_DIR / "staticfiles")))
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if MODE == "test"
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_AUTOREFRESH = WHITENOISE_USE_FINDERS = MODE == "test"  # tests collect nothing
LANGUAGE_CODE = "en"  # of workers, the audit trail and whoever asks for a language that is not here
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_AGE = 365 * 86400
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SECURE = HTTPS
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

# --- the local drivers (demo and test only) --------------------------------------------------------
DATA_FOLDER = Path(env.text("FREEHOLD_DATA", "/var/lib/freehold/none"))
OUTPUT_SOCKET = Path(env.text("FREEHOLD_OUTPUT_SOCKET", str(DATA_FOLDER / "state" / "output.sock")))
LOCAL_PORTS = env.text("FREEHOLD_LOCAL_PORTS", "21000-29999")
# Unix uids of the local driver: a range of the installation's own, so that two on one machine do not meet.
LOCAL_UID_BASE = env.number(
    "FREEHOLD_UID_BASE", 200_000 + int(hashlib.sha256(str(DATA_FOLDER).encode()).hexdigest()[:4], 16) * 1000
)

# --- logs ------------------------------------------------------------------------------------------
LOGGING_CONFIG = "portal.logs.configure"
LOGGING: JSONDict = {"level": env.text("LOG_LEVEL", "INFO")}
