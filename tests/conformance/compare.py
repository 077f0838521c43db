#!/usr/bin/env python3
"""Holds the results of `tcc check --suite --json` against the list of expected failures, which may only shrink.

    compare.py RESULTS.jsonl EXPECTED.txt        TCC_BLESS=1 rewrites EXPECTED.txt, keeping reasons

A line of the list is `NAME RESULT [# REASON]`. Wrong values, crashes and time-outs can't be expected. Closes with a line `N passed, M failed, K skipped`, where expected failures are the skipped ones.
"""
import collections
import json
import os
import sys

NEVER_EXPECTED = {"wrong", "crash", "timeout"}
HEAD = "# Cases that don't pass, and why. It may only shrink. TCC_BLESS=1 tests/conformance/run.sh TCC rewrites it.\n"


def read_results(path):
    """Name to (result, detail)."""
    with open(path, encoding="utf-8") as lines:
        rows = (json.loads(line) for line in lines)
        return {row["name"]: (row["result"], row.get("detail") or "") for row in rows if "result" in row}


def read_expected(path):
    """Name to (result, reason)."""
    expected = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                entry, _, reason = line.partition("#")
                if entry.strip():
                    name, result = entry.split()
                    expected[name] = (result, reason.strip())
    return expected


def bless(path, failing, expected):
    with open(path, "w", encoding="utf-8") as out:
        out.write(HEAD)
        for name, (result, _) in sorted(failing.items()):
            reason = expected.get(name, ("", ""))[1]
            out.write(f"{name} {result}{' # ' + reason if reason else ''}\n")


def main(results_path, expected_path):
    results, expected = read_results(results_path), read_expected(expected_path)
    failing = {name: row for name, row in results.items() if row[0] != "pass"}
    if os.environ.get("TCC_BLESS"):
        bless(expected_path, failing, expected)
        expected = read_expected(expected_path)
    problems = [] if results else ["no case ran"]
    for name, (result, detail) in sorted(failing.items()):
        listed, _ = expected.get(name, (None, ""))
        if result in NEVER_EXPECTED or listed != result:
            problems.append(f"{name}: {result}: {detail[:300]}")
    for name in sorted(expected):
        if name not in failing:
            state = "passes now" if name in results else "doesn't exist"
            problems.append(f"{name}: {state}: take it off the list")
    if problems:
        print("\n".join(problems))
    counts = collections.Counter(result for result, _ in results.values())
    print("conformance:", ", ".join(f"{n} {result}" for result, n in sorted(counts.items())))
    print(f"{counts['pass']} passed, {len(problems)} failed, {len(failing) - min(len(problems), len(failing))} skipped")
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
