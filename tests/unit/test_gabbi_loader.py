"""tests.gabbi_loader: a step that goes wrong is seen."""

import json

import pytest

from tests import gabbi_loader


def echo(environ, start_response):
    """A WSGI application that answers with the path it was asked."""
    start_response('200 OK', [('content-type', 'application/json')])
    return [json.dumps({'path': environ['PATH_INFO']}).encode()]


def run(tmp_path, text):
    path = tmp_path / 'story.yaml'
    path.write_text(text)
    return gabbi_loader.problems(path, echo)


def test_right_steps(tmp_path):
    assert run(tmp_path, 'tests: [{name: one, GET: /a, response_json_paths: {$.path: /a}}, {name: two, GET: /b}]') == []


def test_wrong_status(tmp_path):
    (problem,) = run(tmp_path, 'tests: [{name: one, GET: /a}, {name: two, GET: /b, status: 404}]')
    assert problem.startswith('two: ')


def test_wrong_body(tmp_path):
    (problem,) = run(tmp_path, 'tests: [{name: one, GET: /a, response_json_paths: {$.path: /b}}]')
    assert problem.startswith('one: ')


def test_skipped_step(tmp_path):
    assert len(run(tmp_path, 'tests: [{name: one, GET: /a, skip: later}]')) == 1


def test_step_that_is_expected_to_fail_and_passes(tmp_path):
    assert len(run(tmp_path, 'tests: [{name: one, GET: /a, xfail: true}]')) == 1


def test_no_steps(tmp_path):
    with pytest.raises(ValueError, match='has no steps'):
        run(tmp_path, 'tests: []')


def test_uuids_are_new_and_the_same_in_the_file(tmp_path):
    text = """
        tests:
        - name: one
          GET: /$ENVIRON['A_UUID']/$ENVIRON['B_UUID']
          response_json_paths: {$.path: "/$ENVIRON['A_UUID']/$ENVIRON['B_UUID']"}
        - name: they differ
          GET: /$ENVIRON['A_UUID']
          response_json_paths: {$.path: "/$ENVIRON['B_UUID']"}
    """
    (problem,) = run(tmp_path, text)
    assert problem.startswith('they differ: ')
