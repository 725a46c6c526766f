"""Allocations: forms of bodies and answers by version, spellings of uuids, unknown names."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest

from tests import claims, statements
from tests.claims import body, body_at, detail, held, new_uuid, post, put, put_at, shown

NOBODY = '00000000-0000-0000-0000-000000000000'


@pytest.fixture
def rp(client):
    return claims.provider(client, VCPU=8, MEMORY_MB=1024, DISK_GB=100)


# --- bodies by version ---


@pytest.mark.parametrize('minor', [0, 7, 8, 11, 12, 27, 28, 33, 34, 37, 38, 39])
def test_body_of_each_version(client, rp, minor):
    consumer = new_uuid()
    assert put_at(client, minor, consumer, body_at(minor, {rp: {'VCPU': 2}})).status_code == 204
    assert held(client, consumer) == {rp: {'VCPU': 2}}
    assert shown(client, consumer)['project_id'] == ('project' if minor >= 8 else NOBODY)
    assert shown(client, consumer)['consumer_type'] == ('INSTANCE' if minor >= 38 else 'unknown')


@pytest.mark.parametrize('minor', [7, 8, 11, 12, 27, 28, 37, 38])
def test_body_of_another_version(client, rp, minor):
    """Neither a key too few nor a key too many, before and after each change."""
    right = body_at(minor, {rp: {'VCPU': 2}})
    full = {**body({rp: {'VCPU': 2}}), 'allocations': right['allocations']}
    for key, since in claims.KEYS_SINCE.items():
        wrong = {name: full[name] for name in right if name != key} if minor >= since else {**right, key: full[key]}
        answer = put_at(client, minor, new_uuid(), wrong)
        assert answer.status_code == 400, key
        expected = f"'{key}' is a required property" if minor >= since else f"'{key}' was unexpected"
        assert expected in detail(answer)
    other_form = body_at(12 if minor < 12 else 11, {rp: {'VCPU': 2}})['allocations']
    assert put_at(client, minor, new_uuid(), {**right, 'allocations': other_form}).status_code == 400


@pytest.mark.parametrize(
    ('minor', 'put_status', 'post_status'),
    [(11, 400, 404), (12, 400, 404), (13, 400, 204), (27, 400, 204), (28, 204, 204)],
)
def test_empty_allocations_by_version(client, minor, put_status, post_status):
    nothing, consumer = body_at(minor, {}), new_uuid()
    assert put_at(client, minor, consumer, nothing).status_code == put_status
    answer = client.call('POST', '/allocations', {consumer: nothing}, version=f'1.{minor}')
    assert answer.status_code == post_status


@pytest.mark.parametrize(('minor', 'status'), [(33, 400), (34, 204)])
def test_mappings_by_version(client, rp, minor, status):
    wanted = {**body_at(minor, {rp: {'VCPU': 1}}), 'mappings': {'': [rp], '_A': [rp]}}
    assert put_at(client, minor, new_uuid(), wanted).status_code == status
    several = client.call('POST', '/allocations', {new_uuid(): wanted}, version=f'1.{minor}')
    assert several.status_code == status


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'allocations': {'x': {'resources': {'VCPU': 1}}}}, 'does not match any of the regexes'),
        ({'allocations': {NOBODY: {'resources': {}}}}, 'should be non-empty'),
        ({'allocations': {NOBODY: {'resources': {'vcpu': 1}}}}, 'does not match any of the regexes'),
        ({'allocations': {NOBODY: {'resources': {'VCPU': 0}}}}, '0 is less than the minimum of 1'),
        ({'allocations': {NOBODY: {'resources': {'VCPU': True}}}}, "True is not of type 'integer'"),
        ({'allocations': {NOBODY: {'resources': {'VCPU': 1.5}}}}, "1.5 is not of type 'integer'"),
        ({'allocations': {NOBODY: {'resources': {'VCPU': 1}, 'x': 1}}}, "'x' was unexpected"),
        ({'mappings': {}}, 'should be non-empty'),
        ({'mappings': {'a': 'beta'}}, "'beta' is not of type 'array'"),
        ({'mappings': {'a': []}}, 'should be non-empty'),
        ({'mappings': {'a': ['x']}}, "'x' is not a 'uuid'"),
        ({'project_id': ''}, "Failed validating 'minLength'"),
        ({'user_id': 'u' * 256}, "Failed validating 'maxLength'"),
        ({'consumer_generation': '1'}, "'1' is not of type 'integer', 'null'"),
        ({'consumer_type': 'instance'}, "'instance' does not match '^[A-Z0-9_]+$'"),
        ({'consumer_type': 'A\n'}, "does not match '^[A-Z0-9_]+$'"),
        ({'consumer_type': 'T' * 256}, "Failed validating 'maxLength'"),
    ],
)
def test_refused_bodies(client, change, words):
    wrong = {**body({}), **change}
    for answer in (client.call('PUT', f'/allocations/{new_uuid()}', wrong), post(client, {new_uuid(): wrong})):
        assert answer.status_code == 400
        assert 'JSON does not validate' in detail(answer)
        assert words in detail(answer)


def test_of_two_entries_for_one_provider_the_last_counts(client, rp):
    """A list may name a provider twice (1.0 to 1.11)."""
    entries = [{'resource_provider': {'uuid': rp}, 'resources': {'VCPU': amount}} for amount in (1, 3)]
    consumer = new_uuid()
    assert put_at(client, 7, consumer, {'allocations': entries}).status_code == 204
    assert held(client, consumer) == {rp: {'VCPU': 3}}


def test_whole_numbers_with_a_fraction(client, rp):
    consumer = new_uuid()
    assert put(client, consumer, {rp: {'VCPU': 2.0}}).status_code == 204
    assert held(client, consumer) == {rp: {'VCPU': 2}}
    assert put(client, consumer, {rp: {'VCPU': 2}}, 1.0).status_code == 204


@pytest.mark.parametrize('amount', [2**31, 2**63, 10**30, 1e300])
def test_amounts_beyond_everything(client, rp, amount):
    answer = put(client, new_uuid(), {rp: {'VCPU': amount}})
    assert answer.status_code == 409
    assert 'The requested amount would violate inventory constraints' in detail(answer)


# --- reads ---


@pytest.mark.parametrize(
    ('minor', 'keys'),
    [
        (11, set()),
        (12, {'project_id', 'user_id'}),
        (27, {'project_id', 'user_id'}),
        (28, {'project_id', 'user_id', 'consumer_generation'}),
        (37, {'project_id', 'user_id', 'consumer_generation'}),
        (38, {'project_id', 'user_id', 'consumer_generation', 'consumer_type'}),
    ],
)
def test_keys_of_a_consumer_by_version(client, rp, minor, keys):
    consumer = claims.consumer(client, {rp: {'VCPU': 1}})
    answer = shown(client, consumer, version=f'1.{minor}')
    assert answer.keys() == {'allocations', *keys}
    assert answer['allocations'] == {rp: {'resources': {'VCPU': 1}, 'generation': 2}}
    assert shown(client, new_uuid(), version=f'1.{minor}') == {'allocations': {}}


@pytest.mark.parametrize(('minor', 'item'), [(27, {}), (28, {'consumer_generation': 1})])
def test_allocations_of_a_provider_by_version(client, rp, minor, item):
    path = f'/resource_providers/{rp}/allocations'
    empty = client.must('GET', path, version=f'1.{minor}').json()
    assert empty == {'allocations': {}, 'resource_provider_generation': 1}
    consumer = claims.consumer(client, {rp: {'VCPU': 1, 'DISK_GB': 5}})
    assert client.must('GET', path, version=f'1.{minor}').json() == {
        'allocations': {consumer: {'resources': {'VCPU': 1, 'DISK_GB': 5}, **item}},
        'resource_provider_generation': 2,
    }


def test_allocations_that_were_made_far_apart(client, rp, database):
    """They come in several blocks."""
    held_by = {
        claims.consumer(client, {rp: amounts}) for amounts in ({'VCPU': 1, 'DISK_GB': 5}, {'VCPU': 2}, {'VCPU': 3})
    }
    path = f'/resource_providers/{rp}/allocations'
    near = client.must('GET', path).json()
    assert near['allocations'].keys() == held_by
    database.execute('UPDATE allocations SET id = 1000000 + 1000 * id')
    database.execute("UPDATE allocations SET created_at = '2026-01-01 00:00:00'")
    database.execute("UPDATE allocations SET created_at = '2026-02-03 04:05:06' WHERE used = 2")
    far = client.must('GET', path)
    assert far.json() == near
    assert list(far.json()['allocations']) == list(near['allocations'])
    assert far.headers['last-modified'] == 'Tue, 03 Feb 2026 04:05:06 GMT'


def test_allocations_of_an_unknown_provider(client):
    rp = new_uuid()
    answer = client.call('GET', f'/resource_providers/{rp}/allocations')
    assert answer.status_code == 404
    assert detail(answer) == f"Resource provider '{rp}' not found: No resource provider with uuid {rp} found"


def test_age_of_answers(client, rp, database):
    """Reads are as old as the newest allocation, and of now if there is none; from 1.15 on."""
    consumer = claims.consumer(client, {rp: {'VCPU': 1, 'DISK_GB': 5}})
    database.execute("UPDATE allocations SET created_at = '2026-01-01 00:00:00'")
    database.execute("UPDATE allocations SET created_at = '2026-02-03 04:05:06' WHERE used = 5")
    before = datetime.now(UTC).replace(microsecond=0)
    for path in (f'/allocations/{consumer}', f'/resource_providers/{rp}/allocations'):
        answer = client.must('GET', path, version='1.15')
        assert answer.headers['last-modified'] == 'Tue, 03 Feb 2026 04:05:06 GMT'
        assert answer.headers['cache-control'] == 'no-cache'
        old = client.must('GET', path, version='1.14')
        assert 'last-modified' not in old.headers
        assert 'cache-control' not in old.headers
    empty = client.must('GET', f'/allocations/{new_uuid()}')
    assert parsedate_to_datetime(empty.headers['last-modified']) >= before
    for method, wanted in (('PUT', body({rp: {'VCPU': 1}})), ('DELETE', None)):
        written = client.must(method, f'/allocations/{new_uuid() if wanted else consumer}', wanted)
        assert 'last-modified' not in written.headers
        assert 'content-type' not in written.headers


def test_reads_take_a_fixed_number_of_statements(client, database):
    providers = [claims.provider(client, VCPU=8, DISK_GB=100) for _ in range(3)]
    counts = {}
    for number in (1, 3):
        amounts = {rp: {'VCPU': 1, 'DISK_GB': 1} for rp in providers[:number]}
        consumer = claims.consumer(client, amounts)
        for path in (f'/allocations/{consumer}', f'/resource_providers/{providers[0]}/allocations'):
            with statements.counted() as seen:
                client.must('GET', path)
            counts.setdefault(path.split('/')[1], set()).add(len(seen))
    assert counts == {'allocations': {1}, 'resource_providers': {1}}


# --- spelling of uuids ---


def spellings(uuid):
    return [uuid.upper(), uuid.replace('-', ''), f'{{{uuid}}}', f'urn:uuid:{uuid}']


@pytest.mark.parametrize('spelling', range(4))
def test_any_spelling_of_a_consumer_in_paths(client, rp, spelling):
    """One consumer, whatever the spelling of its uuid (decision A12)."""
    consumer = new_uuid()
    other = spellings(consumer)[spelling]
    assert put(client, other, {rp: {'VCPU': 1}}).status_code == 204
    assert held(client, consumer) == {rp: {'VCPU': 1}}
    assert held(client, other) == {rp: {'VCPU': 1}}
    assert consumer in client.must('GET', f'/resource_providers/{rp}/allocations').json()['allocations']
    client.must('DELETE', f'/allocations/{other}')
    assert held(client, consumer) == {}


def test_upper_case_keys_in_bodies(client, rp):
    consumer = new_uuid()
    assert post(client, {consumer.upper(): body({rp.upper(): {'VCPU': 1}})}).status_code == 204
    assert held(client, consumer) == {rp: {'VCPU': 1}}
    # Both spellings in one body are one consumer; as with equal keys, the last counts.
    both = {consumer.upper(): body({rp: {'VCPU': 7}}, 1), consumer: body({rp: {'VCPU': 2}}, 1)}
    assert post(client, both).status_code == 204
    assert held(client, consumer) == {rp: {'VCPU': 2}}


def test_keys_that_only_look_like_uuids(client, rp):
    """36 hex digits and dashes are enough for the consumers of a POST."""
    consumer = 'ABCDEF' * 6
    assert post(client, {consumer: body({rp: {'VCPU': 1}})}).status_code == 204
    stored = client.must('GET', f'/resource_providers/{rp}/allocations').json()['allocations']
    assert list(stored) == [consumer.lower()]
    assert held(client, consumer) == {rp: {'VCPU': 1}}
    client.must('DELETE', f'/allocations/{consumer}')


@pytest.mark.parametrize('uuid', ['x', 'ABCDEF' * 6, '1' * 31, ' ' + '1' * 32])
def test_malformed_consumer(client, uuid):
    answer = client.call(
        'PUT', f'/allocations/{uuid}', content=b'no json', headers={'content-type': 'application/json'}
    )
    assert answer.status_code == 400
    assert 'Malformed consumer_uuid' in detail(answer)


# --- unknown providers and classes ---


def test_unknown_provider(client, rp):
    unknown, consumer = new_uuid(), new_uuid()
    amounts = {rp: {'VCPU': 1}, unknown: {'VCPU': 1}}
    for answer in (put(client, consumer, amounts), post(client, {consumer: body(amounts)})):
        assert answer.status_code == 400
        assert f"Allocation for resource provider '{unknown}' that does not exist" in detail(answer)
    assert put(client, consumer, {rp: {'VCPU': 1}}, None).status_code == 204


def test_unknown_class(client, rp):
    consumer = new_uuid()
    amounts = {rp: {'VCPU': 1, 'CUSTOM_X': 1, 'CUSTOM_Y': 1}}
    single, several = put(client, consumer, amounts), post(client, {consumer: body(amounts)})
    assert single.status_code == several.status_code == 400
    assert detail(single) == (f'Unable to allocate inventory for consumer {consumer}: No such resource class CUSTOM_X.')
    assert detail(several) == 'Unable to allocate inventory No such resource class CUSTOM_X.'


def test_order_of_checks(client, rp):
    """Consumers, then providers, then classes, then inventories: the first that fails is told of."""
    consumer = claims.consumer(client, {rp: {'VCPU': 1}})
    everything = {new_uuid(): {'VCPU': 1}, rp: {'CUSTOM_X': 1, 'VCPU': 100}}
    assert 'consumer generation conflict' in detail(put(client, consumer, everything, 9))
    assert 'that does not exist' in detail(put(client, consumer, everything, 1))
    assert 'No such resource class CUSTOM_X' in detail(put(client, consumer, {rp: {'VCPU': 100, 'CUSTOM_X': 1}}, 1))
    assert 'invalid' in detail(put(client, consumer, {rp: {'VGPU': 1}}, 1))


def test_provider_without_any_of_the_classes(client, rp):
    bare, other = claims.provider(client), claims.provider(client, VGPU=1)
    amounts = {rp: {'VCPU': 1}, bare: {'VCPU': 1, 'DISK_GB': 1}, other: {'DISK_GB': 1}}
    answer = put(client, new_uuid(), amounts)
    assert answer.status_code == 409
    assert detail(answer) == (
        f"Unable to allocate inventory: Inventory for 'VCPU, DISK_GB' on resource provider '{bare}, {other}' invalid."
    )


def test_provider_without_one_of_the_classes(client, rp):
    answer = put(client, new_uuid(), {rp: {'VCPU': 1, 'VGPU': 1}})
    assert answer.status_code == 409
    assert detail(answer) == f"Unable to allocate inventory: Inventory for 'VGPU' on resource provider '{rp}' invalid."
