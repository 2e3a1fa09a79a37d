"""Django's admin with SQLite in the current directory. Prints its address."""

import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings
from django.urls import path

MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
APPS = ["admin", "auth", "contenttypes", "sessions", "messages", "staticfiles"]
CONTEXT = ["django.template.context_processors.request"] + [
    f"django.contrib.{app}.context_processors.{app}" for app in ("auth", "messages")
]

settings.configure(
    DEBUG=True,
    SECRET_KEY="only for tests",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=[f"django.contrib.{app}" for app in APPS],
    MIDDLEWARE=MIDDLEWARE,
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {"context_processors": CONTEXT},
        }
    ],
    DATABASES={
        "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}
    },
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    STATIC_URL="static/",
    USE_TZ=True,
)
django.setup()

from django.contrib import admin  # noqa: E402
from django.contrib.auth.models import Group, User  # noqa: E402
from django.contrib.staticfiles.handlers import StaticFilesHandler  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402

urlpatterns = [path("admin/", admin.site.urls)]


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class QuietHandler(WSGIRequestHandler):
    def log_message(self, *args):
        pass


call_command("migrate", verbosity=0)
User.objects.create_superuser("admin", "admin@example.com", "troupe-test")
for number in range(1, 31):
    User.objects.create_user(
        f"user{number:02}", f"user{number:02}@example.com", is_staff=number % 5 == 0
    )
for name in ("Authors", "Editors", "Readers"):
    Group.objects.create(name=name)

application = StaticFilesHandler(get_wsgi_application())
server = make_server("127.0.0.1", 0, application, Server, QuietHandler)
print(f"http://127.0.0.1:{server.server_port}/admin/", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    sys.exit()
