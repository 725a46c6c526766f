"""Who may do what: rules, scopes, policy files and their changes (contract: http.md 4, service.md 3.7)."""

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg
from oslo_policy import generator

from placement import config, errors, policies, policy
from placement.context import RequestContext

CHECKOUT = Path(__file__).parents[2]

LIST = 'placement:resource_providers:list'
RESHAPE = 'placement:reshaper:reshape'
USAGES = 'placement:usages'

OPERATIONS = {
    'resource_providers:list': ['GET /resource_providers'],
    'resource_providers:create': ['POST /resource_providers'],
    'resource_providers:show': ['GET /resource_providers/{uuid}'],
    'resource_providers:update': ['PUT /resource_providers/{uuid}'],
    'resource_providers:delete': ['DELETE /resource_providers/{uuid}'],
    'resource_classes:list': ['GET /resource_classes'],
    'resource_classes:create': ['POST /resource_classes'],
    'resource_classes:show': ['GET /resource_classes/{name}'],
    'resource_classes:update': ['PUT /resource_classes/{name}'],
    'resource_classes:delete': ['DELETE /resource_classes/{name}'],
    'resource_providers:inventories:list': ['GET /resource_providers/{uuid}/inventories'],
    'resource_providers:inventories:create': ['POST /resource_providers/{uuid}/inventories'],
    'resource_providers:inventories:show': ['GET /resource_providers/{uuid}/inventories/{resource_class}'],
    'resource_providers:inventories:update': [
        'PUT /resource_providers/{uuid}/inventories',
        'PUT /resource_providers/{uuid}/inventories/{resource_class}',
    ],
    'resource_providers:inventories:delete': [
        'DELETE /resource_providers/{uuid}/inventories',
        'DELETE /resource_providers/{uuid}/inventories/{resource_class}',
    ],
    'resource_providers:aggregates:list': ['GET /resource_providers/{uuid}/aggregates'],
    'resource_providers:aggregates:update': ['PUT /resource_providers/{uuid}/aggregates'],
    'resource_providers:usages': ['GET /resource_providers/{uuid}/usages'],
    'usages': ['GET /usages'],
    'traits:list': ['GET /traits'],
    'traits:show': ['GET /traits/{name}'],
    'traits:update': ['PUT /traits/{name}'],
    'traits:delete': ['DELETE /traits/{name}'],
    'resource_providers:traits:list': ['GET /resource_providers/{uuid}/traits'],
    'resource_providers:traits:update': ['PUT /resource_providers/{uuid}/traits'],
    'resource_providers:traits:delete': ['DELETE /resource_providers/{uuid}/traits'],
    'allocations:manage': ['POST /allocations'],
    'allocations:list': ['GET /allocations/{consumer_uuid}'],
    'allocations:update': ['PUT /allocations/{consumer_uuid}'],
    'allocations:delete': ['DELETE /allocations/{consumer_uuid}'],
    'resource_providers:allocations:list': ['GET /resource_providers/{uuid}/allocations'],
    'allocation_candidates:list': ['GET /allocation_candidates'],
    'reshaper:reshape': ['POST /reshaper'],
}

BASE_RULES = {
    'admin_api': 'role:admin',
    'service_api': 'role:service',
    'admin_or_service_api': 'role:admin or role:service',
    'project_reader_api': 'role:reader and project_id:%(project_id)s',
    'admin_or_project_reader_or_service_api': 'role:admin or rule:project_reader_api or role:service',
}


class TestDefaults:
    def test_rules_and_their_operations_in_order(self) -> None:
        rules = policies.list_rules()
        assert [rule.name for rule in rules] == [*BASE_RULES, *(f'placement:{name}' for name in OPERATIONS)]
        documented = {
            rule.name.removeprefix('placement:'): [
                f'{operation["method"]} {operation["path"]}' for operation in rule.operations
            ]
            for rule in rules[len(BASE_RULES) :]
        }
        assert documented == OPERATIONS

    def test_checks(self) -> None:
        rules = {rule.name: rule.check_str for rule in policies.list_rules()}
        special = {RESHAPE: 'rule:service_api', USAGES: 'rule:admin_or_project_reader_or_service_api'}
        usual = dict.fromkeys((f'placement:{name}' for name in OPERATIONS), 'rule:admin_or_service_api')
        assert rules == BASE_RULES | usual | special

    def test_scopes_and_deprecated_rules(self) -> None:
        rules = policies.list_rules()
        assert [rule.name for rule in rules if rule.scope_types != ['project']] == ['project_reader_api']
        deprecated = {
            rule.name: (rule.deprecated_rule.name, rule.deprecated_rule.check_str)
            for rule in rules
            if rule.deprecated_rule
        }
        assert deprecated == dict.fromkeys(list(BASE_RULES)[1:], ('rule:admin_api', 'role:admin'))

    @pytest.mark.parametrize('sample', ['etc/placement/policy.yaml.sample', 'policies/policy.yaml.sample'])
    def test_the_sample_is_current(self, tmp_path: Path, sample: str) -> None:
        generated = tmp_path / 'sample'
        arguments = ['--namespace', 'placement', '--output-file', str(generated)]
        generator.generate_sample(arguments, conf=cfg.ConfigOpts())
        assert (CHECKOUT / sample).read_text() == generated.read_text()


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Start the policy with a configuration in `tmp_path`, where the policy file is searched too and looked at for each
    check."""
    monkeypatch.setattr(policy, 'LOOK_AGAIN', 0.0)

    def start(text: str = '') -> None:
        file = tmp_path / 'placement.conf'
        file.write_text(f'[placement_database]\nconnection = sqlite://\n{text}')
        policy.init(config.load(cfg.ConfigOpts(), ['--config-file', str(file), '--config-dir', str(tmp_path)]))

    yield start
    policy.reset()


def write(file: Path, text: str) -> None:
    """Change a file and its time, whose resolution may be coarse."""
    before = file.stat().st_mtime if file.exists() else 0
    file.write_text(text)
    os.utime(file, (before + 5, before + 5) if before else None)


def caller(*roles: str, **values: Any) -> RequestContext:
    return RequestContext(user_id='user', project_id='project', roles=list(roles), **values)


def allowed(rule: str, *roles: str, project_id: str = 'project', **values: Any) -> bool:
    return policy.authorize(caller(*roles, **values), rule, {'project_id': project_id}, do_raise=False)


class TestChecks:
    def test_roles(self, start: Callable[..., None]) -> None:
        start()
        assert [role for role in ('admin', 'Admin', 'service', 'reader', 'member') if allowed(LIST, role)] == [
            'admin',
            'Admin',
            'service',
        ]
        assert not allowed(LIST)

    def test_admin_may_not_reshape(self, start: Callable[..., None]) -> None:
        start()
        assert allowed(RESHAPE, 'service')
        assert not allowed(RESHAPE, 'admin')

    def test_admin_may_reshape_by_the_old_defaults(
        self, start: Callable[..., None], recwarn: pytest.WarningsRecorder
    ) -> None:
        start('[oslo_policy]\nenforce_new_defaults = False\n')
        assert allowed(RESHAPE, 'admin')
        assert not allowed(RESHAPE, 'reader')
        assert [str(warning.message) for warning in recwarn if 'olicy' in str(warning.message)] == []

    def test_readers_see_the_usages_of_their_own_project(self, start: Callable[..., None]) -> None:
        start()
        assert allowed(USAGES, 'reader')
        assert not allowed(USAGES, 'reader', project_id='other')
        assert not policy.authorize(caller('reader'), USAGES, {'project_id': None}, do_raise=False)
        assert not policy.authorize(caller('reader'), USAGES, do_raise=False)
        assert not allowed(USAGES, 'member')
        assert allowed(USAGES, 'admin', project_id='other')

    def test_the_same_question_gets_the_answer_of_its_caller(self, start: Callable[..., None]) -> None:
        """Decisions are remembered: one caller's must not become another's."""
        start()
        for _ in range(2):
            assert allowed(USAGES, 'reader', project_id='project')
            assert not allowed(USAGES, 'reader', project_id='other')
            assert not allowed(USAGES, 'member', project_id='project')

    @pytest.mark.parametrize('scope', [{'system_scope': 'all'}, {'domain_id': 'domain'}])
    def test_only_project_scope(self, start: Callable[..., None], scope: dict[str, str]) -> None:
        start('[oslo_policy]\nenforce_scope = False\n')
        assert not allowed(LIST, 'admin', **scope)
        with pytest.raises(errors.ScopeDenied, match=LIST):
            policy.authorize(caller('admin', **scope), LIST)

    def test_the_denial_says_what_is_missing(self, start: Callable[..., None]) -> None:
        start()
        with pytest.raises(errors.PolicyDenied) as caught:
            policy.authorize(caller('admin', 'member'), RESHAPE)
        assert str(caught.value) == (
            f'Policy does not allow {RESHAPE} to be performed. '
            'It requires role:service; the roles of this token are: admin, member.'
        )

    def test_an_unknown_rule_is_a_mistake_of_ours(self, start: Callable[..., None]) -> None:
        start()
        with pytest.raises(KeyError):
            policy.authorize(caller('admin'), 'placement:nothing')


class TestFiles:
    def test_a_file_overrides_rules(self, start: Callable[..., None], tmp_path: Path) -> None:
        (tmp_path / 'policy.yaml').write_text(
            f'"{RESHAPE}": "rule:admin_api"\n"{LIST}": ""\n"unknown": "role:x"\n"placement:traits:list": "!"\n'
        )
        start()
        assert allowed(RESHAPE, 'admin')
        assert allowed(LIST)
        assert not allowed('placement:traits:list', 'admin')

    def test_the_overridden_rule_is_what_the_denial_tells(self, start: Callable[..., None], tmp_path: Path) -> None:
        (tmp_path / 'policy.yaml').write_text(f'"{LIST}": "role:a and not (role:b or rule:gone)"\n')
        start()
        with pytest.raises(errors.PolicyDenied, match=r'requires \(role:a and not \(role:b or !\)\); .* are: none\.'):
            policy.authorize(caller(), LIST)

    def test_the_denial_does_not_tell_the_addresses_of_other_services(
        self, start: Callable[..., None], tmp_path: Path
    ) -> None:
        (tmp_path / 'policy.yaml').write_text(f'"{LIST}": "role:admin and http://127.0.0.1:1/secret"\n')
        start()
        with pytest.raises(errors.PolicyDenied) as caught:
            policy.authorize(caller('reader'), LIST)
        assert 'secret' not in str(caught.value)

    def test_the_name_of_the_file_is_an_option(self, start: Callable[..., None], tmp_path: Path) -> None:
        (tmp_path / 'placement-policy.yaml').write_text(f'"{LIST}": ""\n')
        start('[oslo_policy]\npolicy_file = placement-policy.yaml\n')
        assert allowed(LIST)

    def test_json_is_accepted(self, start: Callable[..., None], tmp_path: Path) -> None:
        (tmp_path / 'policy.yaml').write_text(f'{{"{LIST}": ""}}')
        start()
        assert allowed(LIST)

    def test_files_of_policy_d_are_applied_on_top(self, start: Callable[..., None], tmp_path: Path) -> None:
        (tmp_path / 'policy.yaml').write_text(f'"{LIST}": "role:a"\n')
        (tmp_path / 'policy.d').mkdir()
        (tmp_path / 'policy.d/1.yaml').write_text(f'"{LIST}": "role:b"\n')
        (tmp_path / 'policy.d/2.yaml').write_text(f'"{LIST}": "role:c"\n')
        start()
        assert [role for role in ('a', 'b', 'c') if allowed(LIST, role)] == ['c']

    def test_a_change_takes_effect_at_once_and_so_does_its_deletion(
        self, start: Callable[..., None], tmp_path: Path
    ) -> None:
        file = tmp_path / 'policy.yaml'
        start()
        assert not allowed(LIST, 'reader')
        write(file, f'"{LIST}": "role:reader"\n')
        assert allowed(LIST, 'reader')
        write(file, f'"{LIST}": "role:member"\n')
        assert not allowed(LIST, 'reader')
        file.unlink()
        assert allowed(LIST, 'admin')

    def test_the_files_are_looked_at_once_in_a_while(
        self, start: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        start()
        monkeypatch.setattr(policy, 'LOOK_AGAIN', 3600.0)
        write(tmp_path / 'policy.yaml', f'"{LIST}": "role:reader"\n')
        assert not allowed(LIST, 'reader')
        state = policy._policy
        assert state is not None
        monkeypatch.setattr(state, '_looked', state._looked - 3601)
        assert allowed(LIST, 'reader')

    @pytest.mark.parametrize('text', ['"a: [', '- a\n', '\tx: y', '"a": 1\n'])
    def test_an_unreadable_file_ends_the_start(self, start: Callable[..., None], tmp_path: Path, text: str) -> None:
        (tmp_path / 'policy.yaml').write_text(text)
        with pytest.raises(config.ConfigError, match='policy_file = policy.yaml') as caught:
            start()
        assert '\n' not in str(caught.value)

    def test_a_file_that_became_unreadable_leaves_the_rules_before_in_force(
        self, start: Callable[..., None], tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / 'policy.yaml').write_text(f'"{LIST}": "role:reader"\n')
        start()
        write(tmp_path / 'policy.yaml', '"a: [')
        with caplog.at_level(logging.ERROR, logger='placement.policy'):
            assert [allowed(LIST, 'reader') for _ in range(3)] == [True] * 3
        assert len(caplog.records) == 1
        write(tmp_path / 'policy.yaml', f'"{LIST}": "role:member"\n')
        assert not allowed(LIST, 'reader')
        assert allowed(LIST, 'member')

    def test_a_check_under_way_sees_no_half_loaded_rules(
        self, start: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While oslo.policy replaces its rules by those of a changed file, the defaults are missing for a moment."""
        file = tmp_path / 'policy.yaml'
        write(file, f'"{USAGES}": "role:a"\n')
        start()
        state = policy._policy
        assert state is not None
        rules = state.current()
        seen = []
        handle = state.enforcer._handle_deprecated_rule

        def half_way(rule: Any) -> Any:
            admin = caller('admin').to_policy_values()
            seen.append((LIST in state.enforcer.rules, rules.allows(LIST, {'call': len(seen)}, admin)))
            return handle(rule)

        monkeypatch.setattr(state.enforcer, '_handle_deprecated_rule', half_way)
        write(file, f'"{USAGES}": "role:b"\n')
        assert allowed(USAGES, 'b')
        assert seen == [(False, True)] * 4


def test_without_init(monkeypatch: pytest.MonkeyPatch) -> None:
    policy.reset()
    with pytest.raises(RuntimeError):
        policy.authorize(caller('admin'), LIST)
