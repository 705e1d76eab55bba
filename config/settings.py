"""All settings, from the environment or `.env` (docs/install.md lists the variables)."""

import os
from dataclasses import fields
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.core.exceptions import ImproperlyConfigured
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

from common.environment import DEFAULT_LIMITS, Environment, IncomingLimits
from config.features import active_features, all_features, feature_names_in, with_middleware
from config.installation import data_folder, load_secret_key
from config.observing.logs import LOG_FORMATS, LOG_LEVELS

BASE_DIR = Path(__file__).resolve().parent.parent

env = Environment()
env.read_env(env.str("ENV_FILE", default=str(BASE_DIR / ".env")))  # the environment overrides the file

# Active features (docs/install.md#features): all if the variable is not set, none if it is empty. `env` does not
# distinguish these two cases.
CONTRIB_APPS = feature_names_in(os.environ.get("CONTRIB_APPS"))
FEATURES = active_features(CONTRIB_APPS)
for _name, _feature in all_features().items():
    if _name in FEATURES:
        globals().update(_feature.settings(env))
    else:
        _feature.check_absence(env)  # raises an error if a setting needs the feature

# Folders. The umask makes new files readable only by their owner, since SQLite and others create files by it.
os.umask(0o077)
DATA_DIR = data_folder(env.str("DATA_DIR", default=str(BASE_DIR / "var")))
SECRET_KEY = env.str("SECRET_KEY", default="") or load_secret_key(DATA_DIR / "secret_key")
MEDIA_ROOT = DATA_DIR / "media"  # there is no MEDIA_URL, since a view serves uploads and checks permissions
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(BASE_DIR / "staticfiles")))
EXPORT_ROOT = DATA_DIR / "exports"

# Hosts and security
DEBUG = env.bool("DEBUG", default=False)
PORT = env.int("PORT", default=8000)
WEB_PROCESSES = env.int("WEB_PROCESSES", default=0)  # for config.gunicorn, which chooses a number if 0
WEB_THREADS = env.int("WEB_THREADS", default=0)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# HTTPS means that a proxy in front serves https. It must set X-Forwarded-Proto, and discard that header of visitors.
# Without https (on a laptop), browsers would discard Secure cookies.
HTTPS = env.bool("HTTPS", default=False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", default=31_536_000) * HTTPS  # 0 without https
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# HSTS for sub-domains and the preload list affect other sites, so the owner of the domain must decide.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

# Pictures may be on any https host (`import_dataset --images URL`); IMAGE_SOURCES limits the hosts.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:", *env.list("IMAGE_SOURCES", default=["https:"])],
        "media-src": [SELF, *env.list("IMAGE_SOURCES", default=["https:"])],  # for HIT templates
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "frame-src": [SELF],
        "manifest-src": [SELF],
    }
}
# The admin theme Unfold uses Alpine, which evaluates expressions in attributes, and inline styles. Only staff see these
# pages; see config.middleware.
ADMIN_POLICY_CHANGES = {"script-src": [UNSAFE_EVAL], "style-src": [UNSAFE_INLINE]}

# Rate limits, most of them by address (common.rate_limits, docs/install.md)
# Number of proxies in front that append to X-Forwarded-For; 0 if visitors connect directly.
PROXIES = env.int("PROXIES", default=1 if HTTPS else 0)
# A school class behind one address stays far below these limits. LIMIT_JOIN=1000/hour sets another limit, and an empty
# LIMIT_JOIN= sets no limit.
LIMITS = {
    name: env.limit(f"LIMIT_{name.upper()}", default=default)
    for name, default in {
        "login": "10/15 minutes",  # wrong passwords of one account
        "logins": "60/15 minutes",  # wrong passwords for all accounts
        "account": "100/hour",  # wrong passwords for one account, from all addresses together
        "code": "60/10 minutes",  # wrong codes for one study, by each browser
        "resume": "60/10 minutes",  # wrong resume codes, by each browser
        "join": "300/10 minutes",  # new workers in one study
        "token": "600/10 minutes",  # unknown tokens
        "upload": "600/10 minutes",  # bodies of 100 kB and more
        "api": "60000/10 minutes",  # API calls; a hundred per second
    }.items()
}

# Crowds (docs/crowds)
# The stored names of people from crowds are derived with this key. With another key, everybody would be a new person.
PSEUDONYM_KEY = env.str("PSEUDONYM_KEY", default="") or SECRET_KEY
PUBLIC_URL = env.str("PUBLIC_URL", default="").rstrip("/")  # public address of this server: https://host
# Real money needs this and `crowd.live` in the study; otherwise Mechanical Turk's sandbox is used.
MTURK_LIVE = env.bool("MTURK_LIVE", default=False)
MTURK_ENDPOINT = env.str("AWS_ENDPOINT_URL_MTURK", default="")
# Sites of Mechanical Turk that frame Quorum's pages and receive answers; by default Amazon's two.
MTURK_SITES = env.list("MTURK_SITES", default=[])
MTURK_SNS_TOPIC = env.str("MTURK_SNS_TOPIC", default="")
MTURK_SQS_QUEUE = env.str("MTURK_SQS_QUEUE", default="")
SQS_ENDPOINT = env.str("AWS_ENDPOINT_URL_SQS", default="")
# A call to a crowd that started this many seconds ago counts as interrupted.
CROWD_CALL_SECONDS = env.int("CROWD_CALL_SECONDS", default=120)
CROWD_BACKOFF_SECONDS = env.float("CROWD_BACKOFF_SECONDS", default=0.5)  # first pause after a failed call
# A crowd may report new work minutes late. Work that it has not reported after this many seconds does not exist there.
CROWD_GRACE_SECONDS = env.int("CROWD_GRACE_SECONDS", default=3600)
CROWD_SYNC_SECONDS = env.int("CROWD_SYNC_SECONDS", default=300)  # interval of syncs of open studies

# Apps and middleware
INSTALLED_APPS = [
    "unfold",  # before django.contrib.admin, whose templates it overrides
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "config.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "config",  # before the REST framework, to disable one of its commands
    "rest_framework",
    "rest_framework.authtoken",
    "django_filters",
    "drf_spectacular",
    "csp",
    "judgments",
    "annotation",
    "evaluation",
    # Features that are off, too, so that their tables are migrated, and people in them are erased.
    *(app for feature in all_features().values() for app in (*feature.packages, feature.path_of_app())),
]

MIDDLEWARE = [
    "config.observing.health.HealthMiddleware",
    "config.observing.requests.RequestMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.observing.outage_state.OutageMiddleware",
    "csp.middleware.CSPMiddleware",
    "config.middleware.AdminPolicyMiddleware",
    "config.frames.FramedPagesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.middleware.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.sign_in.KnownBrowserMiddleware",
    "config.middleware.TimeZoneMiddleware",
    "config.middleware.ActingAccountMiddleware",
    "config.middleware.VisitorMiddleware",
    "config.middleware.RateLimitMiddleware",
    "config.middleware.WriteQueueMiddleware",
    "config.middleware.ETagMiddleware",
    "config.middleware.StorableAddressMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
MIDDLEWARE = with_middleware(MIDDLEWARE, FEATURES.values())

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

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
                "annotation.views.visitors.frame_context",
            ]
        },
    }
]

MESSAGE_STORAGE = "config.frames.PageMessages"

# The database
if env.str("DATABASE_URL", default=""):
    if urlsplit(env.str("DATABASE_URL")).scheme not in env.DB_SCHEMES:
        raise ImproperlyConfigured(
            "DATABASE_URL is not the address of a database; expected postgres://user:password@host:5432/name, "
            "sqlite:////absolute/path, or nothing for SQLite in DATA_DIR."
        )
    _database = env.db_url("DATABASE_URL")
else:  # not a URL, since folder names may have special characters
    _database = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(DATA_DIR / "quorum.sqlite3")}
if _database["ENGINE"] == "django.db.backends.sqlite3":
    _database["ENGINE"] = "common.sqlite"  # Django's backend with a queue of writers
    _database["OPTIONS"] = {
        # A transaction waits for the write lock at its start. A deferred transaction would fail at its first write,
        # regardless of the timeout, if another transaction had written since its first read.
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        # With WAL, readers never wait for a writer. With FULL, committed data survive a power failure; NORMAL, which is
        # often recommended with WAL, loses the last commits.
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;",
    }
elif _database["ENGINE"] == "django.db.backends.postgresql":
    # psycopg prepares the statements of common/rows at their first use. Django's own statements are not prepared, since
    # Django writes the values into them.
    _database["OPTIONS"] = {"prepare_threshold": 0, **_database.get("OPTIONS", {})}
SQLITE_FILE = str(_database["NAME"]) if _database["ENGINE"] == "common.sqlite" else ""
DATABASES = {"default": {**_database, "CONN_MAX_AGE": 600, "CONN_HEALTH_CHECKS": True}}

# Jobs (docs/decisions/0014-celery.md)
BROKERS = {"redis", "rediss", "amqp", "amqps"}
_broker = env.str("CELERY_BROKER_URL", default="")
try:
    _broker_url = urlsplit(_broker)
    if _broker and (_broker_url.scheme not in BROKERS or not _broker_url.hostname or _broker_url.port == 0):
        raise ValueError("no such address")
except ValueError as error:
    raise ImproperlyConfigured(
        "CELERY_BROKER_URL is not the address of a broker; expected redis://host:6379/0, "
        f"amqp://user:password@host:5672/name, or nothing for files in DATA_DIR ({error})."
    ) from error
REDIS_URL = _broker if _broker_url.scheme.startswith("redis") else ""  # for rate limits
CELERY_BROKER_URL = _broker or "files://localhost"  # without a broker, the transport of config/celery.py
if _broker:
    # Try to send a message only once; a periodic task sends lost messages again.
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {
        "max_retries": 0,
        "interval_start": 0,
        "socket_connect_timeout": 2,
        "socket_timeout": 2,
        "connect_timeout": 2,
        "visibility_timeout": 24 * 3600,  # a message that is delivered again does no harm, but is wasted
    }
else:
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(DATA_DIR / "broker"),
        "data_folder_out": str(DATA_DIR / "broker"),
        "polling_interval": 0.1,
    }
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # wait until the broker is back
CELERY_BROKER_CHANNEL_ERROR_RETRY = True  # RabbitMQ closes the channel of long jobs
CELERY_BROKER_CONNECTION_TIMEOUT = 2
# A broken connection to RabbitMQ is replaced only by a retry; the client of Redis reconnects itself.
CELERY_TASK_PUBLISH_RETRY = not REDIS_URL
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0}
# never pickle, which runs code
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True  # the result of a job is in its row
CELERY_TASK_DEFAULT_QUEUE = "interactive"
CELERY_TASK_ROUTES = ["judgments.tasks.route"]
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_LOST_WAIT = 1.0  # seconds until a lost process is replaced
JOB_MEMORY_MB = env.int("JOB_MEMORY_MB", default=2000)
CELERY_WORKER_MAX_MEMORY_PER_CHILD = JOB_MEMORY_MB * 1024  # a larger process is replaced after its job
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_SEND_TASK_EVENTS = CELERY_TASK_SEND_SENT_EVENT = env.bool("CELERY_EVENTS", default=False)
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False  # since its messages are not signed
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "beat")
CELERY_TIMEZONE = "UTC"
JOB_SENDER = "config.celery.send_job"
# longest time of a job in seconds, by queue
JOB_SECONDS = {
    "interactive": env.int("JOB_SECONDS_INTERACTIVE", default=30 * 60),
    "reading": env.int("JOB_SECONDS_READING", default=2 * 3600),
    "crowd": env.int("JOB_SECONDS_CROWD", default=60 * 60),
    "heavy": env.int("JOB_SECONDS_HEAVY", default=24 * 3600),
}
JOB_GRACE_SECONDS = 60  # seconds after the limit until the job's process is killed
JOBS_WAITING = env.int("JOBS_WAITING", default=200)  # most waiting jobs of an account
UPLOADS_MB = env.int("UPLOADS_MB", default=4000)  # most of an account's uploads that are not imported
JOB_SWEEP_SECONDS = env.int("JOB_SWEEP_SECONDS", default=5)  # interval of searches for lost jobs
JOB_STALE_SECONDS = env.int("JOB_STALE_SECONDS", default=30)  # a process silent for so long counts as lost

# Accounts
AUTHENTICATION_BACKENDS = ["config.sign_in.LimitedBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"

# Languages and times
LANGUAGE_CODE = "en"
# languages of the workers' pages
LANGUAGES = [
    ("en", "English"),
    ("de", "German"),
    ("es", "Spanish"),
    ("fr", "French"),
    ("zh-hans", "Simplified Chinese"),
    ("ar", "Arabic"),
]
STAFF_LANGUAGES = ("en", "de")  # languages of the admin
LANGUAGE_COOKIE_AGE = 180 * 24 * 3600  # seconds
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SECURE = HTTPS
LOCALE_PATHS = [BASE_DIR / "locale", BASE_DIR / "locale" / "staff"]
FORMAT_MODULE_PATH = ["config.formats"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

# Files
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage",
        # Static files are readable by everybody, for example by a proxy that serves them.
        "OPTIONS": {"file_permissions_mode": 0o644, "directory_permissions_mode": 0o755},
    },
}
WHITENOISE_USE_FINDERS = DEBUG
INCOMING = IncomingLimits(
    **{
        limit.name: env.int(f"INCOMING_{limit.name.upper()}", default=getattr(DEFAULT_LIMITS, limit.name))
        for limit in fields(IncomingLimits)
    }
)
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o700
DATA_UPLOAD_MAX_NUMBER_FILES = 1_000  # a folder of pictures; larger folders must be a zip file
# Without scripts, a page with 200 texts of 120 words posts a severity and a category for each word.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 50_000

# API
REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "config.api.framework.TokenAuthentication",  # first, so that a missing token gives 401
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["judgments.access.permissions.IsStaff"],
    "DEFAULT_FILTER_BACKENDS": ["judgments.access.permissions.VisibleRows", "config.api.pages.StrictFilters"],
    "DEFAULT_PAGINATION_CLASS": "config.api.pages.CursorPages",
    "PAGE_SIZE": 100,
    "DEFAULT_PARSER_CLASSES": ["config.api.framework.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["config.api.framework.NanAsNullRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "config.api.framework.JSONNegotiation",
    "EXCEPTION_HANDLER": "config.api.framework.problem_response",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Quorum",
    "DESCRIPTION": "Crowdsourced judgments of captions: studies, HITs, assignments, judgments and consensus.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["judgments.access.permissions.NoWorker"],
    "SERVE_PUBLIC": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "config.api.schema.add_problem_responses",
    ],
    "ENUM_NAME_OVERRIDES": {
        "ConsensusSource": "evaluation.models.Consensus.Source",
        "DatasetRoleName": "judgments.models.DatasetRole.Role",
        "JobState": "judgments.models.Job.State",
        "StudyRoleName": "judgments.models.StudyRole.Role",
        "StudyState": "judgments.models.Study.State",
        "ProblemKind": "annotation.models.ProblemReport.Kind",
        "ReportKind": "evaluation.models.Analysis.Kind",
        **{name: path for feature in FEATURES.values() for name, path in feature.enums.items()},
    },
}
UNFOLD = {
    "SITE_TITLE": "Quorum",
    "SITE_HEADER": "Quorum",
    "SITE_SUBHEADER": _("Crowdsourced judgments"),
    "SITE_SYMBOL": "how_to_vote",
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_LANGUAGES": True,
    "LANGUAGES": {
        "navigation": "config.admin.sidebar.languages",
        "action": "config.admin.sidebar.language_address",
    },
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "config.admin.sidebar.favicon"}],
    "STYLES": ["config.admin.sidebar.style_sheet"],
    "SCRIPTS": ["config.admin.sidebar.script", "config.admin.sidebar.terms_script"],
    "DASHBOARD_CALLBACK": "config.admin.sidebar.front_page",
    "ACCOUNT": {
        "navigation": [
            {"title": title, "link": reverse_lazy(address)}
            for feature in FEATURES.values()
            for title, address in feature.account_pages
        ]
    },
    "SIDEBAR": {"show_search": False, "navigation": "config.admin.sidebar.sidebar"},
    "COLORS": {
        "primary": {  # the accent colour of the workers' pages
            "50": "#eef3ff",
            "100": "#dfe8ff",
            "200": "#c4d4ff",
            "300": "#a9c1ff",
            "400": "#8fb0ff",
            "500": "#5c86f0",
            "600": "#1f4fd1",
            "700": "#1a42af",
            "800": "#183a93",
            "900": "#192f68",
            "950": "#121f43",
        }
    },
}

# Logs
LOG_FORMAT = env.choice("LOG_FORMAT", default="text", options=LOG_FORMATS)
ACCESS_LOG = env.bool("ACCESS_LOG", default=LOG_FORMAT == "json")
FIGURES_FOLDER = env.str("PROMETHEUS_MULTIPROC_DIR", default="")  # set by config.gunicorn
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")  # opens /health/metrics, figures for Prometheus
try:
    METRICS_FROM = [ip_network(network) for network in env.list("METRICS_FROM", default=[])]
except ValueError as error:
    raise ImproperlyConfigured(
        f"METRICS_FROM has no addresses ({error}); expected such as 127.0.0.1,10.0.0.0/8."
    ) from error
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "config.observing.logs.OneLineFormatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        },
        "object": {"()": "config.observing.logs.JSONFormatter"},
    },
    "filters": {
        "without_outages": {"()": "config.observing.outages.OutageFilter"},
        "patterns": {"()": "config.observing.logs.PathPatternFilter"},  # of URLs, in place of paths
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "object" if LOG_FORMAT == "json" else "line",
            "filters": ["patterns"],
        }
    },
    "root": {"handlers": ["stderr"], "level": env.choice("LOG_LEVEL", default="INFO", options=LOG_LEVELS)},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.request": {"filters": ["without_outages"]},
        "django.server": {"handlers": [], "level": "INFO", "propagate": True},
        "botocore": {"level": "WARNING"},
        "celery": {"level": "WARNING"},  # jobs are recorded in rows
        "httpx": {"level": "WARNING"},  # logged addresses would contain ids of submissions
        "matplotlib": {"level": "WARNING"},
        "quorum.access": {"level": "INFO"},  # depends only on ACCESS_LOG, not on LOG_LEVEL
    },
}
