"""A service that does nothing: what WSGI server, client and driver cost by themselves. Run by fixed.py.

It answers a constant as long as a provider; below /database after a SELECT, which PyMySQL sends without SQLAlchemy.
"""

import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pymysql
import sqlalchemy as sa

DATABASE = 'FLOOR_DATABASE'

_BODY = b'x' * 700
_HEADERS = (
    ('content-type', 'application/json'),
    ('content-length', str(len(_BODY))),
    ('cache-control', 'no-cache'),
    ('openstack-api-version', 'placement 1.39'),
)
# The connection of each thread.
_own = threading.local()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    if environ['PATH_INFO'] == '/database':
        with _connection().cursor() as cursor:
            cursor.execute('SELECT 1')
            cursor.fetchall()
    start_response('200 OK', list(_HEADERS))
    return [_BODY]


def _connection() -> pymysql.Connection:
    if not hasattr(_own, 'connection'):
        url = sa.make_url(os.environ[DATABASE])
        _own.connection = pymysql.connect(host=url.host, port=url.port, user=url.username, autocommit=True)
    return _own.connection
