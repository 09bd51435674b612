"""Tests of the solvers; asserts of the conformance suite explain themselves like those of tests."""

import pytest

pytest.register_assert_rewrite("tests.solvers.conformance")
