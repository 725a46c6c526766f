"""The WSGI entry point, for every server: `placement.wsgi.api:application`. Also works as a script named by path."""

from placement import wsgi

application = wsgi.init_application()
