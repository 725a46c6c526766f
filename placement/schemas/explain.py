"""What is wrong with a value, in the words of jsonschema, which clients know (contract: http.md 2.4).

Called for values that the fast validator of `placement.schemas` did not accept.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
from jsonschema import exceptions

from placement.schemas import Schema

# The most telling of the first so many errors of a body is reported: a person makes fewer, a program may make millions.
_MOST_ERRORS = 1000
# Longest excerpt of a schema or of a client's data in an error text, in characters.
_EXCERPT = 1000


def problem(schema: Schema, value: Any, is_uuid: Callable[[str], bool]) -> str | None:
    """One sentence on the most telling error of `value`, None without one; `is_uuid` says what the format uuid is."""
    formats = jsonschema.FormatChecker(formats=())
    formats.checks('uuid')(lambda text: not isinstance(text, str) or is_uuid(text))
    found = _Validator(schema, format_checker=formats).iter_errors(value)
    error = exceptions.best_match(itertools.islice(found, _MOST_ERRORS))
    return None if error is None else _explain(error)


def _explain(error: exceptions.ValidationError) -> str:
    """The words of the library on one error, on one line and of bounded length (http.md 2.4)."""
    return ' '.join(
        (
            f'{_excerpt(error.message)}  Failed validating {error.validator!r}',
            f'in schema{_index(list(error.relative_schema_path)[:-1])}: {_excerpt(repr(error.schema))} ',
            f'On instance{_index(error.relative_path)}: {_excerpt(repr(error.instance))}',
        )
    ).replace('\n', ' ')


def _index(path: Any) -> str:
    return ''.join(f'[{step!r}]' for step in path)


def _excerpt(text: str) -> str:
    return text if len(text) <= _EXCERPT else f'{text[:_EXCERPT]}…'


# In Python's expressions a final "$" also matches before a trailing newline. The API means the true end (http.md
# 2.4), but clients know the expressions by their text, so the keywords are mended and not the expressions.


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Schema) -> Iterator[exceptions.ValidationError]:
    if validator.is_type(instance, 'string') and not (re.search(pattern, instance) and not instance.endswith('\n')):
        yield exceptions.ValidationError(f'{instance!r} does not match {pattern!r}')


def _pattern_properties(
    validator: Any, patterns: Schema, instance: Any, schema: Schema
) -> Iterator[exceptions.ValidationError]:
    if validator.is_type(instance, 'object'):
        for key in instance:
            if key.endswith('\n'):
                known = ', '.join(repr(pattern) for pattern in patterns)
                yield exceptions.ValidationError(f'{key!r} does not match any of the regexes: {known}')
    yield from _BASE.VALIDATORS['patternProperties'](validator, patterns, instance, schema)


_BASE = jsonschema.Draft202012Validator
_Validator = jsonschema.validators.extend(_BASE, {'pattern': _pattern, 'patternProperties': _pattern_properties})
