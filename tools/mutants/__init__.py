"""Changes the package in small ways and lists the changes that no test notices.

A seeded sample of mutants (`mutations`) is drawn from the rooms of the package (`rooms`). For each
the tests that execute the changed statement run on a copy of the repository, first those of its
room and then those of the rest of the suite, the quickest first, and stop at the first that fails
(`testing`). Which test executes what is recorded once, and kept in a file until the package
changes. A mutant that passes every one of these tests has survived.

`equivalent.toml` lists mutants that no test can notice, each with the reason. They count as
survivors, but are listed apart.
"""
