"""GET /allocation_candidates: the words of its errors that clients match (contract: candidates.md 1.4, phrases)."""

import pytest

U = '11111111-2222-4333-8444-555555555555'
R = 'resources=VCPU:1'
VMX = 'HW_CPU_X86_VMX'
UNDEFINED, BAD_VALUE = 'placement.undefined_code', 'placement.query.bad_value'


@pytest.mark.parametrize(
    ('version', 'query', 'words'),
    [
        ('1.15', f'{R}&limit=1', "'limit' was unexpected"),
        ('1.16', f'{R}&required={VMX}', "'required' was unexpected"),
        ('1.20', f'{R}&member_of={U}', "'member_of' was unexpected"),
        ('1.24', f'{R}&group_policy=none', "'group_policy' was unexpected"),
        ('1.24', f'{R}&resources1=VCPU:1', "'resources1' was unexpected"),
        ('1.24', f'{R}&required2={VMX}', "'required2' was unexpected"),
        ('1.24', f'{R}&member_of3={U}', "'member_of3' was unexpected"),
        ('1.25', f'{R}&bad=1', "'bad' does not match any of the regexes: '^member_of([1-9][0-9]*)?$'"),
        ('1.30', f'{R}&in_tree={U}', "'in_tree' does not match any of the regexes"),
        ('1.32', f'{R}&resources_x=VCPU:1', "'resources_x' does not match any of the regexes"),
        ('1.33', f'{R}&bad=1', '^member_of([a-zA-Z0-9_-]{1,64})?$'),
        ('1.10', '', "'resources' is a required property"),
        ('1.39', f'{R}&limit=x', "Failed validating 'pattern'"),
        ('1.25', f'{R}&group_policy=bogus', "'bogus' is not one of ['none', 'isolate']"),
        (
            '1.39',
            'resources=',
            'Badly formed resources parameter. Expected resources query string parameter in form: '
            '?resources=VCPU:2,MEMORY_MB:1024. Got: empty string.',
        ),
        ('1.39', f'{R},', 'Badly formed resources parameter.'),
        ('1.39', 'resources=VCPU:a', 'Requested resource VCPU expected positive integer amount. Got: a.'),
        ('1.39', 'resources=VCPU:-1', 'Requested resource VCPU requires amount >= 1. Got: -1.'),
        (
            '1.21',
            f'{R}&required=!{VMX}',
            "Invalid query string parameters: Expected 'required' parameter value of the form: "
            f'HW_CPU_X86_VMX,CUSTOM_MAGIC. Got: !{VMX}',
        ),
        (
            '1.22',
            f'{R}&required=,',
            "Invalid query string parameters: Expected 'required' parameter value of the form: "
            'HW_CPU_X86_VMX,!CUSTOM_MAGIC.',
        ),
        (
            '1.38',
            f'{R}&required=in:{VMX}',
            "Invalid query string parameters: The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since "
            f'microversion 1.39. Got: in:{VMX}',
        ),
        (
            '1.39',
            f'{R}&required=in:!{VMX}',
            "Invalid query string parameters: The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' does not support "
            f'forbidden traits. Got: in:!{VMX}',
        ),
        (
            '1.39',
            f'{R}&member_of=x',
            "Invalid query string parameters: Expected 'member_of' parameter to contain valid UUID(s).",
        ),
        (
            '1.39',
            f'{R}&member_of={U},{U}',
            "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the valid "
            'microversion.',
        ),
        ('1.23', f'{R}&member_of={U}&member_of={U}', 'Multiple member_of parameters are not supported'),
        (
            '1.31',
            f'{R}&member_of=!{U}',
            'Forbidden member_of parameters are not supported in the specified microversion',
        ),
        (
            '1.39',
            f'{R}&in_tree=x',
            "Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got: x",
        ),
        (
            '1.35',
            f'member_of={U}&member_of3={U}',
            'All member_of parameters must be associated with resources. '
            'Found the following orphaned member_of keys: member_of, member_of3',
        ),
        (
            '1.35',
            f'required={VMX}&required1={VMX}',
            'Found the following orphaned traits keys: required, required1',
        ),
        ('1.35', f'{R}&in_tree1={U}', 'All request groups must specify resources.'),
        ('1.35', '', 'At least one request group (`resources` or `resources{$S}`) is required.'),
        (
            '1.39',
            'resources1=VCPU:1&resources2=VCPU:1',
            'The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.',
        ),
    ],
)
def test_words(client, version, query, words):
    assert_told(client, version, query, words, UNDEFINED)


@pytest.mark.parametrize(
    ('query', 'words', 'code'),
    [
        (
            f'required={VMX}',
            'There must be at least one resources or resources[$S] parameter.',
            'placement.query.missing_value',
        ),
        (
            f'{R}&required_B={VMX}',
            'Resourceless suffixed group request should be specified in `same_subtree` query param',
            BAD_VALUE,
        ),
        (
            f'{R}&resources_A=VCPU:1&same_subtree=_A,_C',
            'Real suffixes should be specified in `same_subtree`:',
            BAD_VALUE,
        ),
        (
            f'{R}&same_subtree=,_A',
            'Empty string (unsuffixed group) can not be specified in `same_subtree`',
            BAD_VALUE,
        ),
        (
            f'{R}&root_required={VMX},!{VMX}',
            f'Conflicting required and forbidden traits found in root_required: {VMX}',
            BAD_VALUE,
        ),
        (
            f'{R}&root_required={VMX}&root_required={VMX}',
            "Query parameter 'root_required' may be specified only once.",
            'placement.query.duplicate_key',
        ),
    ],
)
def test_words_and_codes(client, query, words, code):
    assert_told(client, '1.39', query, words, code)


def assert_told(client, version, query, words, code):
    response = client.call('GET', f'/allocation_candidates?{query}', version=version)
    (error,) = response.json()['errors']
    assert response.status_code == 400
    assert words in error['detail']
    assert error.get('code', UNDEFINED) == code
