"""The oracle gives the expected answer to every case that it is made for, so that its word counts elsewhere.

Left out are what it does not model: errors (a valid query is its premise) and GET /resource_providers.
"""

import pytest

from tests.case_loader import OWN_CASES, Case, Response, contract_cases, load, problems
from tests.property.oracle import Oracle

CONTRACT = contract_cases()


def modelled(case: Case) -> bool:
    return case.path == '/allocation_candidates' and case.expect['status'] == 200


def check(case: Case) -> None:
    body = Oracle(case.world, case.query, case.minor).answer()
    if case.kind == 'bounded':
        # The oracle's answer is the full set, whatever limit and cap there are.
        assert case.full
        assert body == Oracle(case.full.world, case.full.query, case.full.minor).answer()
        assert len(body['allocation_requests']) > case.expect['count']
    else:
        assert problems(case, Response(200, None, body)) == []


@pytest.mark.parametrize(
    'case', [pytest.param(case, id=case.id) for case in load(OWN_CASES) if modelled(case)] if OWN_CASES.exists() else []
)
def test_own_case(case: Case) -> None:
    check(case)


@pytest.mark.skipif(CONTRACT is None, reason='the contract is not at hand')
@pytest.mark.parametrize(
    'case', [pytest.param(case, id=case.id) for case in load(CONTRACT) if modelled(case)] if CONTRACT else []
)
def test_contract_case(case: Case) -> None:
    check(case)
