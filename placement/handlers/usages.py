"""/usages and /resource_providers/{uuid}/usages (contract: http.md 5.8, 5.17)."""

from placement.db.engine import utcnow
from placement.http import Request, Response, json_response
from placement.objects import usage

RULE = 'placement:usages'
BY_TYPE_SINCE = (1, 38)


def show_of_provider(request: Request) -> Response:
    """What is used of one provider, by class."""
    generation, used = usage.of_provider(request.segments['uuid'])
    body = {'resource_provider_generation': generation, 'usages': used}
    return json_response(request, body, last_modified=utcnow())


def show_total(request: Request) -> Response:
    """What the consumers of a project, and of a user in it, hold together; from 1.38 on by consumer type."""
    # Before validation, so that nobody learns more than that he may not ask (http.md 4.3).
    request.context.can(RULE, {'project_id': request.parameters().get('project_id')})
    query = request.query()
    project, user = query['project_id'], query.get('user_id')
    if request.version < BY_TYPE_SINCE:
        return json_response(request, {'usages': usage.of_project(project, user)}, last_modified=utcnow())
    groups = usage.of_project_by_type(project, user, query.get('consumer_type'))
    body = {'usages': {name: {'consumer_count': group.consumers, **group.amounts} for name, group in groups.items()}}
    return json_response(request, body, last_modified=utcnow())
