"""Changes the package in small ways and lists the changes that no test notices.

A seeded sample of mutants (`mutations`) is drawn from the rooms of the package (`rooms`). For each
the tests of its room run on a copy of the repository, and stop at the first that fails
(`testing`). The tests that execute the changed statement run first, the quickest of them first of
all. A mutant that passes every test of its room has survived.

`equivalent.toml` lists mutants that no test can notice, each with the reason. They count as
survivors, but are listed apart.
"""
