"""The query string of GET /allocation_candidates: what the contract cases do not reach."""

import pytest

from placement.solver import query


@pytest.mark.parametrize('spelling', ['{}', ' {} ', '{{{}}}', 'urn:uuid:{}'])
def test_in_tree_names_the_provider_in_any_spelling(spelling):
    uuid = 'c5573d07-5aff-5e95-9180-085e991f6735'
    for text in (uuid, uuid.upper(), uuid.replace('-', '')):
        wanted = query.parse([('resources', 'VCPU:1'), ('in_tree', spelling.format(text))], (1, 39))
        assert wanted.groups[0].in_tree == uuid
