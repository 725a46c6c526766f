"""Who is asking: the context of one request (contract: http.md 3.3)."""

from typing import Any

from oslo_context import context

from placement import policy


class RequestContext(context.RequestContext):
    """User, project, roles, scope and ids of one request."""

    def can(self, rule: str, target: dict[str, Any] | None = None) -> None:
        """Check a policy rule. `target` defaults to the caller's own project and user.

        Raises errors.PolicyDenied, errors.ScopeDenied.
        """
        policy.authorize(self, rule, target or {'project_id': self.project_id, 'user_id': self.user_id})
