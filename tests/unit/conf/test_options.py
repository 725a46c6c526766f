"""The options: names, types, defaults and choices that deployment tools rely on (contract: service.md 3.2 to 3.10)."""

import importlib.metadata
from pathlib import Path

import pytest
from oslo_config import cfg, generator

import placement.conf
from placement.conf import libraries, opts

CHECKOUT = Path(__file__).parents[3]
ZEROS = '00000000-0000-0000-0000-000000000000'

OPTIONS = {
    'DEFAULT': {
        'tempdir': (cfg.StrOpt, None),
        'pybasedir': (cfg.StrOpt, str(CHECKOUT)),
        'state_path': (cfg.StrOpt, '$pybasedir'),
    },
    # All but the first are ours.
    'api': {
        'auth_strategy': (cfg.StrOpt, 'keystone'),
        'server_timing': (cfg.BoolOpt, False),
        'healthcheck': (cfg.BoolOpt, False),
    },
    'placement_database': {
        'connection': (cfg.StrOpt, None),
        'connection_parameters': (cfg.StrOpt, ''),
        'slave_connection': (cfg.StrOpt, None),
        'mysql_sql_mode': (cfg.StrOpt, 'TRADITIONAL'),
        'sqlite_synchronous': (cfg.BoolOpt, True),
        'connection_recycle_time': (cfg.IntOpt, 3600),
        'max_pool_size': (cfg.IntOpt, None),
        'max_overflow': (cfg.IntOpt, None),
        'pool_timeout': (cfg.IntOpt, None),
        'max_retries': (cfg.IntOpt, 10),
        'retry_interval': (cfg.IntOpt, 10),
        'connection_debug': (cfg.IntOpt, 0),
        'connection_trace': (cfg.BoolOpt, False),
        'sync_on_startup': (cfg.BoolOpt, False),
    },
    'placement': {
        'randomize_allocation_candidates': (cfg.BoolOpt, False),
        'incomplete_consumer_project_id': (cfg.StrOpt, ZEROS),
        'incomplete_consumer_user_id': (cfg.StrOpt, ZEROS),
        'allocation_conflict_retry_count': (cfg.IntOpt, 10),
        'max_allocation_candidates': (cfg.IntOpt, -1),
        'allocation_candidates_generation_strategy': (cfg.StrOpt, 'depth-first'),
    },
    'workarounds': {'optimize_for_wide_provider_trees': (cfg.BoolOpt, False)},
    # Ours.
    'metrics': {
        'enabled': (cfg.BoolOpt, False),
        'by_provider': (cfg.BoolOpt, False),
        'multiprocess_dir': (cfg.StrOpt, None),
        'allowed_source_ranges': (cfg.ListOpt, []),
    },
}

CHOICES = {
    'auth_strategy': ['keystone', 'noauth2'],
    'allocation_candidates_generation_strategy': ['depth-first', 'breadth-first'],
}


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    placement.conf.register_opts(conf)
    return conf


def parse(conf: cfg.ConfigOpts, *files: Path) -> None:
    conf([], default_config_files=[str(file) for file in files], default_config_dirs=[])


def test_the_listed_options_are_those_of_the_contract() -> None:
    listed: dict[str, dict[str, tuple[type, object]]] = {}
    for group, options in opts.list_opts():
        listed.setdefault(str(group), {}).update({option.name: (type(option), option.default) for option in options})
    assert listed == OPTIONS


def test_choices() -> None:
    options = {option.name: option for _, options in opts.list_opts() for option in options}
    assert {name: list(options[name].type.choices) for name in CHOICES} == CHOICES


def test_what_is_secret_and_what_is_required() -> None:
    options = [option for _, options in opts.list_opts() for option in options]
    assert {option.name for option in options if option.secret} == {'connection', 'slave_connection'}
    assert {option.name for option in options if option.required} == {'connection'}


def test_registering_again_changes_nothing_even_after_parsing(conf: cfg.ConfigOpts, tmp_path: Path) -> None:
    file = tmp_path / 'placement.conf'
    file.write_text('[placement_database]\nconnection = sqlite://\n[placement]\nmax_allocation_candidates = 7\n')
    placement.conf.register_opts(conf)
    parse(conf, file)
    placement.conf.register_opts(conf)
    assert conf.placement.max_allocation_candidates == 7


def test_library_groups_are_registered(conf: cfg.ConfigOpts) -> None:
    conf.set_default('connection', 'sqlite://', group='placement_database')
    parse(conf)
    assert conf.log_options is True
    assert conf.debug is False
    assert conf.cors.allowed_origin is None
    assert conf.oslo_middleware.enable_proxy_headers_parsing is False
    assert conf.oslo_policy.policy_file == 'policy.yaml'
    assert conf.oslo_policy.enforce_new_defaults is True


def test_auth_strategy_is_still_read_from_its_old_group(conf: cfg.ConfigOpts, tmp_path: Path) -> None:
    file = tmp_path / 'placement.conf'
    file.write_text('[DEFAULT]\nauth_strategy = noauth2\n[placement_database]\nconnection = sqlite://\n')
    parse(conf, file)
    assert conf.api.auth_strategy == 'noauth2'


def test_defaults_of_the_http_service(monkeypatch: pytest.MonkeyPatch) -> None:
    # The libraries keep defaults in their option objects: put the old ones back.
    options = [*libraries.cors.CORS_OPTS, *libraries.log._options.log_opts]
    for option in options:
        monkeypatch.setattr(option, 'default', option.default)
    libraries.set_service_defaults()
    conf = cfg.ConfigOpts()
    placement.conf.register_opts(conf)
    conf.set_default('connection', 'sqlite://', group='placement_database')
    parse(conf)
    assert conf.cors.allow_methods == ['GET', 'PUT', 'POST', 'DELETE', 'PATCH']
    assert conf.cors.expose_headers == [
        'X-Auth-Token',
        'X-Openstack-Request-Id',
        'X-Subject-Token',
        'X-Service-Token',
        'OpenStack-API-Version',
    ]
    assert 'OpenStack-API-Version' in conf.cors.allow_headers
    assert 'routes=INFO' in conf.default_log_levels


@pytest.mark.parametrize(
    ('group', 'name', 'value'),
    [
        ('oslo.config.opts', 'placement.conf', 'placement.conf.opts:list_opts'),
        ('oslo.config.opts.defaults', 'placement.conf', 'placement.conf.base:set_lib_defaults'),
        ('oslo.policy.policies', 'placement', 'placement.policies:list_rules'),
        ('oslo.policy.enforcer', 'placement', 'placement.policy:get_enforcer'),
        ('console_scripts', 'placement-manage', 'placement.cmd.manage:main'),
        ('console_scripts', 'placement-status', 'placement.cmd.status:main'),
        ('console_scripts', 'placement-serve', 'placement.cmd.serve:main'),
    ],
)
def test_entry_points(group: str, name: str, value: str) -> None:
    (entry_point,) = importlib.metadata.entry_points(group=group, name=name)
    assert entry_point.value == value
    assert callable(entry_point.load())


def sections(sample: str) -> dict[str, str]:
    """The parts of a sample that are ours, by group. The parts of libraries change with their versions."""
    ours = {}
    for section in sample.split('\n\n['):
        head, _, body = section.partition(']\n')
        if '# From placement.conf\n' in body:
            ours[head.lstrip('[')] = body[body.index('# From placement.conf\n') :].strip()
    return ours


def test_the_sample_of_placement_conf_is_current(tmp_path: Path) -> None:
    generated = tmp_path / 'sample'
    generator.main(
        ['--config-file', str(CHECKOUT / 'etc/placement/config-generator.conf'), '--output-file', str(generated)]
    )
    shipped = sections((CHECKOUT / 'etc/placement/placement.conf.sample').read_text())
    assert set(shipped) == {'DEFAULT', 'api', 'placement', 'placement_database', 'workarounds', 'metrics'}
    assert shipped == sections(generated.read_text())
