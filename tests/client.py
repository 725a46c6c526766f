"""One way to call the API in tests, whether the application is in this process or behind a socket."""

from typing import Any

import httpx

LATEST = '1.39'


class Client:
    """Calls as `admin` unless told otherwise; answers are httpx responses (`status_code`, `headers`, `json()`)."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    @classmethod
    def of_app(cls, app: Any) -> 'Client':
        """A client of a WSGI application; what it raises is raised to the test."""
        return cls(httpx.Client(transport=httpx.WSGITransport(app=app), base_url='http://placement.test'))

    @classmethod
    def of_url(cls, url: str) -> 'Client':
        """A client of a running service, with connections of its own."""
        return cls(httpx.Client(base_url=url, timeout=60, trust_env=False))

    def call(
        self,
        method: str,
        path: str,
        json: Any = None,
        *,
        version: str | None = LATEST,
        headers: dict[str, str] | None = None,
        content: bytes | None = None,
        token: str | None = 'admin',
    ) -> httpx.Response:
        """Send one request.

        `json` is a body to encode (None: no body), `content` one to send as it is (with a content-type in `headers`).
        A `version` or `token` of None leaves its header out; `headers` win over both.
        """
        sent = {'accept': 'application/json'}
        if token is not None:
            sent['x-auth-token'] = token
        if version is not None:
            sent['openstack-api-version'] = f'placement {version}'
        sent.update((name.lower(), value) for name, value in (headers or {}).items())
        return self.http.request(method, path, json=json, content=content, headers=sent)

    def must(self, method: str, path: str, json: Any = None, **options: Any) -> httpx.Response:
        """`call`, for the steps that a test takes for granted: fails with the body if the answer is no success."""
        response = self.call(method, path, json, **options)
        assert response.is_success, f'{method} {path}: {response.status_code} {response.text}'
        return response
