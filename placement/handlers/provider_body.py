"""The bodies of writes to one provider. Called by the handlers of /resource_providers/{uuid} and below."""

from typing import Any

from placement import errors
from placement.http import Request
from placement.objects import resource_provider


def provider_body(request: Request) -> Any:
    """The valid body of a write to the provider of the path.

    If there is no such provider, that is told before what is wrong with the body (http.md 5.5 to 5.9). The provider is
    looked for only if the body is wrong, since the write looks for it anyway.

    Raises errors.ProviderNotFound, errors.MalformedJson, errors.InvalidBody.
    """
    try:
        return request.json()
    except errors.BadRequest:
        resource_provider.show(request.segments['uuid'])
        raise
