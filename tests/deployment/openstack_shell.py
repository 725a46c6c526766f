"""Runs commands of the OpenStack command line client in one process, since each start of it takes seconds.

Run by the interpreter of the clients' environment, for test_openstack_clients.py: reads lists of arguments as JSON from
standard input, writes (status, standard output, standard error) of each as JSON to standard output.
"""

import contextlib
import io
import json
import sys

from openstackclient import shell

results = []
for arguments in json.load(sys.stdin):
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            status = shell.main(arguments)
        except SystemExit as exc:
            status = exc.code
    results.append((status, output.getvalue(), errors.getvalue()))
json.dump(results, sys.stdout)
