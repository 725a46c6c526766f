"""POST /reshaper (contract: http.md 5.19, 6.6)."""

from placement.handlers import allocations, inventories
from placement.http import Request, Response, empty_response
from placement.objects import reshaper
from placement.objects.reshaper import NewInventory
from placement.uuids import canonical


def reshape(request: Request) -> Response:
    """Move inventories and the allocations from them between providers, all of it or nothing."""
    body = request.json()
    new = {
        canonical(uuid): NewInventory(
            generation=int(wanted['resource_provider_generation']),
            inventories=inventories.from_bodies(wanted['inventories']),
        )
        for uuid, wanted in body['inventories'].items()
    }
    claims = allocations.claims_of(request, body['allocations'])
    reshaper.reshape(new, list(claims.values()))
    return empty_response(request)
