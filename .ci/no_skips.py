"""Pytest plugin for CI: fail if a test was skipped whose mark says that it could have run here.

The marks come from the environment variable SIGHTLINE_REQUIRED_MARKS, separated by blanks.
"""

from __future__ import annotations

import os

import pytest

REQUIRED = frozenset(os.environ.get("SIGHTLINE_REQUIRED_MARKS", "").split())
hidden: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a skip; under xdist the controller sees every worker's reports, marks included."""
    if report.skipped and not hasattr(report, "wasxfail") and REQUIRED & set(report.keywords):
        hidden.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Turn a green session red."""
    if hidden and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which tests hid."""
    if hidden:
        terminalreporter.section("skipped, but needed here: " + ", ".join(sorted(REQUIRED)))
        for nodeid in hidden:
            terminalreporter.write_line(nodeid)
