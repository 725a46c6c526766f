"""/traits (contract: http.md 5.16)."""

from placement import errors
from placement.db.engine import utcnow
from placement.http import Request, Response, empty_response, json_response, set_cache_headers
from placement.objects import trait
from placement.schemas import trait as schemas

_ASSOCIATED = {'true': True, 'false': False}


def list_all(request: Request) -> Response:
    """The names of the traits that pass the filters of the query."""
    query = request.query()
    names, prefix = _parse_name(query.get('name'))
    found, changed_at = trait.list_all(names, prefix, _parse_associated(query.get('associated')))
    return json_response(request, {'traits': found}, last_modified=changed_at or utcnow())


def show(request: Request) -> Response:
    """Whether there is a trait."""
    row = trait.get(request.segments['name'])
    response = empty_response(request)
    set_cache_headers(request, response, row.created_at)
    return response


def ensure(request: Request) -> Response:
    """Make a custom trait, or find that it is there."""
    name = request.segments['name']
    if not schemas.CUSTOM_NAME.fullmatch(name) or len(name) > schemas.MAX_LENGTH:
        raise errors.TraitNameInvalid()
    row, created = trait.ensure(name)
    response = empty_response(request, status=201 if created else 204, location=f'/traits/{name}')
    set_cache_headers(request, response, row.created_at)
    return response


def delete(request: Request) -> Response:
    """Remove a custom trait that no provider has."""
    trait.delete(request.segments['name'])
    return empty_response(request)


def _parse_name(value: str | None) -> tuple[list[str] | None, str | None]:
    """The names or the prefix that a `name` filter asks for; with another operator it asks for nothing.

    Raises errors.TraitNameFilterInvalid.
    """
    if value is None:
        return None, None
    operator, colon, operand = value.partition(':')
    if not colon:
        raise errors.TraitNameFilterInvalid(value=value)
    return operand.split(',') if operator == 'in' else None, operand if operator == 'startswith' else None


def _parse_associated(value: str | None) -> bool | None:
    """Raises errors.TraitAssociatedFilterInvalid."""
    if value is None:
        return None
    if value.lower() not in _ASSOCIATED:
        raise errors.TraitAssociatedFilterInvalid()
    return _ASSOCIATED[value.lower()]
