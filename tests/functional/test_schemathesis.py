"""Schemathesis drives the live service by docs/openapi.json: what the description says is what the service does."""

import json

import pytest
import schemathesis
import schemathesis.specs.openapi.checks as openapi_checks
from hypothesis import HealthCheck, Phase, given, settings

from tests import live

DESCRIPTION = json.loads((live.CHECKOUT / 'docs' / 'openapi.json').read_text())
EXAMPLES_OF_AN_OPERATION = 12
CHECKS = [
    schemathesis.checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
]


@pytest.mark.timeout(300)
def test_service_is_as_described(tmp_path):
    description = schemathesis.openapi.from_dict(DESCRIPTION)
    with live.serve(f'sqlite:///{tmp_path}/placement.sqlite', tmp_path) as url:
        description.config.update(base_url=url)
        for operation in description.get_all_operations():

            @settings(
                max_examples=EXAMPLES_OF_AN_OPERATION,
                deadline=None,
                derandomize=True,
                database=None,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.ok().as_strategy())
            def check(case: schemathesis.Case) -> None:
                headers = {'x-auth-token': 'admin', 'x-roles': 'admin,service'}
                case.call_and_validate(headers=headers, checks=CHECKS)

            check()
