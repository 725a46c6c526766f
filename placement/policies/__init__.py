"""The policy rules in code: what each operation needs unless policy.yaml says otherwise (contract: http.md 4).

Rule names, defaults and scope types are a public interface. `placement.policy` enforces them; oslo.policy's tools find
them through the entry point oslo.policy.policies.
"""

from oslo_policy import policy

from placement.policies import base, operations


def list_rules() -> list[policy.RuleDefault]:
    """All rules, in the order of the sample file."""
    return [*base.RULES, *operations.RULES]
