"""GET /: the discovery document, and the health check of most deployments (contract: http.md 1.2)."""

from placement import microversion
from placement.db.engine import utcnow
from placement.http import Request, Response, json_response

DOCUMENT = {
    'versions': [
        {
            'id': f'v{microversion.MIN_VERSION}',
            'min_version': str(microversion.MIN_VERSION),
            'max_version': str(microversion.MAX_VERSION),
            'status': 'CURRENT',
            # Empty on purpose: relative to wherever the client reached the document.
            'links': [{'rel': 'self', 'href': ''}],
        }
    ]
}


def discover(request: Request) -> Response:
    """Which microversions are served."""
    return json_response(request, DOCUMENT, last_modified=utcnow())
