#!/usr/bin/env python3
"""Holds the results of `tcc check --suite --json` against the list of expected failures, which may only shrink.

    compare.py RESULTS.jsonl EXPECTED.txt        TCC_BLESS=1 rewrites EXPECTED.txt

Wrong values, crashes and time-outs can't be expected. Closes with a line `N passed, M failed, K skipped`, where the
expected failures are the skipped ones.
"""
import collections
import json
import os
import sys

NEVER_EXPECTED = {"wrong", "crash", "timeout"}


def main(results_path, expected_path):
    results = {}
    with open(results_path, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if "name" in row and "result" in row:
                results[row["name"]] = (row["result"], row.get("detail", ""))
    failing = {name: r for name, r in results.items() if r[0] != "pass"}
    if os.environ.get("TCC_BLESS"):
        with open(expected_path, "w", encoding="utf-8") as out:
            out.write("# Cases that are refused, with the result. Generated: TCC_BLESS=1 tests/conformance/run.sh TCC\n")
            out.writelines(f"{name} {r[0]}\n" for name, r in sorted(failing.items()) if r[0] not in NEVER_EXPECTED)
    with open(expected_path, encoding="utf-8") as lines:
        rows = (line.split() for line in lines if line.strip() and not line.startswith("#"))
        expected = {row[0]: row[1] for row in rows}
    problems = []
    for name, (result, detail) in sorted(failing.items()):
        if result in NEVER_EXPECTED or expected.get(name) is None:
            problems.append(f"{name}: {result}: {detail[:300]}")
    problems += [f"{name}: passes now: take it off the list" for name in sorted(expected) if results.get(name, ("",))[0] == "pass"]
    problems += [f"{name}: is on the list, but there is no such case" for name in sorted(expected) if name not in results]
    if not results:
        problems.append("no case ran")
    print("\n".join(problems))
    counts = collections.Counter(result for result, _ in results.values())
    print("conformance:", ", ".join(f"{n} {result}" for result, n in sorted(counts.items())))
    n_pass, n_skip = counts["pass"], len(failing) - sum(p.split(":")[0] in failing for p in problems)
    print(f"{n_pass} passed, {len(problems)} failed, {n_skip} skipped")
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
