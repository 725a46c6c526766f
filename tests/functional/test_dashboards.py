"""The dashboard and the alert rules in etc/ ask for what /metrics tells."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from oslo_config import cfg
from prometheus_client import parser

from placement import metrics
from tests.claims import new_uuid, provider, put
from tests.client import Client

ETC = Path(__file__).parents[2] / 'etc'
DASHBOARD = json.loads((ETC / 'grafana/placement.json').read_text(encoding='utf-8'))
RULES = yaml.safe_load((ETC / 'prometheus/placement-rules.yaml').read_text(encoding='utf-8'))
SUFFIXES = {'counter': ['_total'], 'histogram': ['_bucket', '_sum', '_count'], 'gauge': ['']}
# What Prometheus adds to each sample, and what it and the blackbox exporter tell by themselves.
ADDED = {'job', 'instance'}
OTHERS = {'up', 'probe_success'}


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD['panels'] if panel['type'] != 'row']


def rules() -> list[dict[str, Any]]:
    return [rule for group in RULES['groups'] for rule in group['rules']]


def expressions() -> list[str]:
    shown = [target['expr'].replace('$__rate_interval', '5m') for panel in panels() for target in panel['targets']]
    return [*shown, *(rule['expr'] for rule in rules())]


def selectors(node: Any) -> Iterator[promql_parser.VectorSelector]:
    """The selectors of a parsed expression."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
        return
    for name in ('lhs', 'rhs', 'expr', 'param', 'args', 'vs', 'vector_selector', 'vector_selectors'):
        part = getattr(node, name, None)
        for inner in part if isinstance(part, list) else [part]:
            if inner is not None and not isinstance(inner, str):
                yield from selectors(inner)


@pytest.fixture
def told(conf: cfg.ConfigOpts, request: pytest.FixtureRequest) -> Iterator[dict[str, set[str]]]:
    """The labels of each sample, by name, after some of everything has happened."""
    conf.set_override('enabled', True, group='metrics')
    conf.set_override('by_provider', True, group='metrics')
    client: Client = request.getfixturevalue('client')
    host = provider(client, VCPU=4)
    assert put(client, new_uuid(), {host: {'VCPU': 5}}).status_code == 409
    client.must('GET', '/allocation_candidates?resources=VCPU:1')
    metrics.retried(Exception())
    found: dict[str, set[str]] = {}
    for family in parser.text_string_to_metric_families(client.must('GET', '/metrics').text):
        labels = {label for sample in family.samples for label in sample.labels}
        for suffix in SUFFIXES[family.type]:
            found[family.name + suffix] = labels
    yield found
    conf.set_override('enabled', False, group='metrics')
    metrics.start(conf)


@pytest.mark.parametrize('database', ['sqlite'], indirect=True)
def test_what_is_asked_for_is_told(told: dict[str, set[str]]) -> None:
    asked = set()
    for expression in expressions():
        found = list(selectors(promql_parser.parse(expression)))
        names = {selector.name for selector in found}
        assert names == set(re.findall(r'\b(?:\w*placement_\w+|up|probe_success)\b(?=\{)', expression)), expression
        assert names <= told.keys() | OTHERS
        asked |= names
        for selector in found:
            matched = {matcher.name for matcher in selector.matchers.matchers}
            assert 'job' in matched
            assert matched <= told.get(selector.name, set()) | ADDED
        labels = set().union(ADDED, *(told.get(name, ()) for name in names))
        for grouping in re.findall(r'\b(?:by|on) \(([^)]*)\)', expression):
            assert set(filter(None, grouping.split(', '))) <= labels, expression
    families = {re.sub('_(total|bucket|sum|count)$', '', name) for name in asked - OTHERS}
    assert families == {re.sub('_(total|bucket|sum|count)$', '', name) for name in told}


@pytest.mark.parametrize('database', ['sqlite'], indirect=True)
def test_what_is_documented_is_told(told: dict[str, set[str]]) -> None:
    page = (ETC.parent / 'docs/operate.md').read_text(encoding='utf-8')
    rows = re.findall(r'^\| (`(?:openstack_)?placement_[^|]*) \|([^|]*)\|', page, re.MULTILINE)
    documented: dict[str, set[str]] = {}
    for cell, labels in rows:
        names = re.findall(r'`(\w+)`', cell)
        stem = names[0].removesuffix('_total')
        for name in names:
            documented[f'{stem}{name}' if name.startswith('_') else name] = set(re.findall(r'`(\w+)`', labels))
    for name, labels in told.items():
        if not name.endswith(('_bucket', '_sum')):
            family = name.removesuffix('_count')
            assert documented.pop(family) == labels - {'le'}
    assert not documented


def test_legends_name_labels_that_are_left() -> None:
    for panel in panels():
        for target in panel['targets']:
            for label in re.findall(r'\{\{(\w+)\}\}', target['legendFormat']):
                assert label in ADDED or re.search(rf'\bby \([^)]*\b{label}\b[^)]*\)', target['expr'])


def test_panels_lie_beside_each_other() -> None:
    taken = set()
    for panel in DASHBOARD['panels']:
        place = panel['gridPos']
        cells = {(place['x'] + column, place['y'] + line) for column in range(place['w']) for line in range(place['h'])}
        assert not cells & taken
        assert max(column for column, _ in cells) < 24
        taken |= cells
    numbers = [panel['id'] for panel in DASHBOARD['panels']]
    assert len(set(numbers)) == len(numbers)


def test_alerts_are_complete() -> None:
    names = [rule['alert'] for rule in rules()]
    assert len(set(names)) == len(names) == 8
    for rule in rules():
        assert rule.keys() == {'alert', 'expr', 'for', 'labels', 'annotations'}
        assert rule['labels']['severity'] in ('critical', 'warning')
        assert re.fullmatch(r'\d+m', rule['for'])
        kept = set(re.findall(r'\$labels\.(\w+)', ' '.join(rule['annotations'].values())))
        assert all(label in rule['expr'] or label in ADDED for label in kept)
