#!/usr/bin/env python3
"""Kedge end to end, as on a user's machine: the real programs, real folders, real faults.

Usage: e2e_test.py BIN_FOLDER PLUGIN WRITER [TEST…]. Closes with the plain line "N passed, N failed"."""
import sys
import time
import unittest

import harness

import disks
import folders
import functions
import queued
import servers
import views

MODULES = (disks, folders, functions, queued, servers, views)


class Result(unittest.TextTestResult):
    """Tells how long each test took."""

    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        self.stream.writeln(f"    {time.monotonic() - self.began:.2f} s")
        super().stopTest(test)


def main(binaries, plugin, writer, *names):
    for program in ("server", "notes", "admin"):
        setattr(harness.Programs, program, f"{binaries}/kedge-{program}")
    harness.Programs.command = f"{binaries}/kedge"
    harness.Programs.function = f"{binaries}/kedge-lambda"
    harness.Programs.plugin = plugin
    harness.Programs.writer = writer
    loader = unittest.defaultTestLoader
    if names:
        suite = loader.loadTestsFromNames(names)
    else:
        suite = unittest.TestSuite(loader.loadTestsFromModule(module) for module in MODULES)
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite)
    failed = len(result.failures) + len(result.errors)
    skipped = f", {len(result.skipped)} skipped" if result.skipped else ""
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed{skipped}")
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
