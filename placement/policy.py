"""Policy checks: may this caller do this (contract: http.md 4.3, service.md 3.7). Called by the context, per request.

oslo.policy reads the files and knows the language of rules; the check itself is made here, because a request must see
either all rules of a file or all rules of the next, never a state in between, and because most checks repeat.
"""

import logging
import threading
import time
from collections.abc import Hashable, Mapping, MutableMapping
from typing import Any

from oslo_config import cfg
from oslo_context import context as oslo_context
from oslo_policy import policy

from placement import config, errors, policies

LOG = logging.getLogger(__name__)

# Decisions remembered for one state of the rules; beyond that all are forgotten.
MAX_DECISIONS = 4096

# Seconds after which the files are looked at again. PERF: to look is a dozen system calls.
LOOK_AGAIN = 1.0

# Checks whose outcome depends on nothing but target and credentials.
_PURE_CHECKS = tuple(type(policy.RuleDefault('example', text).check) for text in ('role:x', 'user_id:x', '@', '!'))

# What oslo.policy raises for a file that is no YAML, holds something else than a mapping of texts, or cannot be opened.
_UNREADABLE = (ValueError, AttributeError, TypeError, OSError, cfg.Error)


class _RuleSet:
    """One complete state of the rules. Checks of oslo.policy take it for the enforcer: they read `rules` and `conf`."""

    def __init__(self, rules: policy.Rules, conf: cfg.ConfigOpts) -> None:
        self.rules = rules
        self.conf = conf
        self.decisions: dict[Hashable, bool] = {}

    def allows(self, rule: str, target: Mapping[str, Any], credentials: MutableMapping[str, Any]) -> bool:
        """Whether `rule` says yes. PERF: a remembered decision takes a microsecond, an evaluated one some fifty."""
        key = (rule, _frozen(target), _frozen(credentials))
        decision = self.decisions.get(key)
        if decision is None:
            decision = bool(policy.RuleCheck('rule', rule)(target, credentials, self, rule))  # type: ignore[arg-type]
            if self._is_pure(policy.RuleCheck('rule', rule)):
                if len(self.decisions) >= MAX_DECISIONS:
                    self.decisions.clear()
                self.decisions[key] = decision
        return decision

    def requirement(self, rule: str) -> str | None:
        """`rule` in terms of roles, for an error message; None if it asks other services, whose address is no news."""
        check = policy.RuleCheck('rule', rule)
        return self._spell_out(check) if self._is_pure(check) else None

    def _is_pure(self, check: Any) -> bool:
        if isinstance(check, policy.RuleCheck):
            return check.match not in self.rules or self._is_pure(self.rules[check.match])
        if isinstance(check, policy.NotCheck):
            return self._is_pure(check.rule)
        if isinstance(check, policy.AndCheck | policy.OrCheck):
            return all(self._is_pure(part) for part in check.rules)
        return isinstance(check, _PURE_CHECKS)

    def _spell_out(self, check: Any) -> str:
        if isinstance(check, policy.RuleCheck):
            return self._spell_out(self.rules[check.match]) if check.match in self.rules else '!'
        if isinstance(check, policy.NotCheck):
            return f'not {self._spell_out(check.rule)}'
        if isinstance(check, policy.AndCheck):
            return '(' + ' and '.join(map(self._spell_out, check.rules)) + ')'
        if isinstance(check, policy.OrCheck):
            return '(' + ' or '.join(map(self._spell_out, check.rules)) + ')'
        return str(check)


def _frozen(values: Mapping[str, Any]) -> Hashable:
    return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in values.items())


class _Policy:
    """The rules of one configuration, kept current with their files."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.enforcer = policy.Enforcer(conf)
        # With enforce_new_defaults = False the old defaults are wanted; no need to warn of them at each start.
        self.enforcer.suppress_default_change_warnings = True
        self.enforcer.register_defaults(policies.list_rules())
        try:
            self.enforcer.load_rules()
        except _UNREADABLE as exc:
            raise config.ConfigError(_unreadable(conf, exc)) from exc
        self._rule_set = _RuleSet(self.enforcer.rules, conf)
        self._fault: str | None = None
        self._looked = time.monotonic()
        self._lock = threading.Lock()

    def current(self) -> _RuleSet:
        """The rules as the files had them at the last look. While a file cannot be read, the rules before stay in
        force."""
        if time.monotonic() - self._looked < LOOK_AGAIN:
            return self._rule_set
        with self._lock:
            self._looked = time.monotonic()
            try:
                self.enforcer.load_rules(force_reload=self._fault is not None)
            except _UNREADABLE as exc:
                fault = _unreadable(self.enforcer.conf, exc)
                if fault != self._fault:
                    LOG.error('%s The rules that were in force before stay so.', fault)
                self._fault = fault
            else:
                self._fault = None
                # A changed file makes a new object; a complete one is not changed any more.
                if self.enforcer.rules is not self._rule_set.rules:
                    self._rule_set = _RuleSet(self.enforcer.rules, self.enforcer.conf)
            return self._rule_set


def _unreadable(conf: cfg.ConfigOpts, exc: Exception) -> str:
    if isinstance(exc, AttributeError | TypeError):
        reason = 'it has to map names of rules to rules'
    else:
        reason = ' '.join(str(exc).split())
    return f'The policy file ([oslo_policy] policy_file = {conf.oslo_policy.policy_file}) cannot be used: {reason}.'


_policy: _Policy | None = None


def init(conf: cfg.ConfigOpts) -> None:
    """Load the rules for `conf`, in place of any others. Raises config.ConfigError if a policy file cannot be used."""
    global _policy
    _policy = _Policy(conf)


def reset() -> None:
    """Forget all rules."""
    global _policy
    _policy = None


def authorize(
    context: oslo_context.RequestContext, rule: str, target: Mapping[str, Any] | None = None, *, do_raise: bool = True
) -> bool:
    """Whether the caller may do what `rule` governs. `target` is what the rule may compare the caller with.

    Raises, if `do_raise`, errors.ScopeDenied for a token of the wrong scope and errors.PolicyDenied if the rule denies.
    """
    if _policy is None:
        raise RuntimeError('policy.init() was not called')
    scope_types = _policy.enforcer.registered_rules[rule].scope_types
    scope = _scope(context)
    if scope_types and scope not in scope_types:
        if do_raise:
            raise errors.ScopeDenied(rule=rule, scope=scope)
        return False
    rules = _policy.current()
    allowed = rules.allows(rule, target or {}, context.to_policy_values())
    if do_raise and not allowed:
        raise errors.PolicyDenied(rule=rule, hint=_hint(rules.requirement(rule), context.roles))
    return allowed


def _scope(context: oslo_context.RequestContext) -> str:
    if context.system_scope:
        return 'system'
    return 'domain' if context.domain_id else 'project'


def _hint(requirement: str | None, roles: list[str]) -> str:
    if requirement is None:
        return ''
    return f'It requires {requirement}; the roles of this token are: {", ".join(roles) or "none"}.'


def get_enforcer() -> policy.Enforcer:
    """The enforcer for the command line tools of oslo.policy (entry point oslo.policy.enforcer).

    They know only the standard places of placement.conf and the global configuration object.
    """
    cfg.CONF([], project='placement')
    init(cfg.CONF)
    assert _policy is not None
    return _policy.enforcer
