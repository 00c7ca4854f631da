#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast a model would be on more machines than there are: from what was measured on few, and a given network.

usage: predict_ranks.py ONE.json TWO.json [--latency MICROSECONDS] [--bandwidth GB/S] [--machines N,N]
                        [--check FILE,FILE [--on-cores-of FILE]]

ONE.json is of `skald bench --json` in one process, TWO.json of the same on two ranks (`mpirun -n 2 skald bench --ranks
--json`), each with the threads that a machine will have. Compute is divided, exchanges are not: a token takes
  t(n) = t(1) / n + exchanges * latency * steps(n) + bytes * (n - 1) / n / bandwidth
where exchanges, and bytes of all ranks together, are what was counted on two ranks, and an exchange takes steps(n) =
log2(n), rounded up, messages one after the other, as gathering by doubling does (Thakur, Rabenseifner and Gropp 2005,
"Optimization of Collective Communication Operations in MPICH"). --check compares with measurements on ranks. Where these
shared the cores of one machine, what one process makes of these cores, in the file of --on-cores-of, is not divided.
"""

import argparse
import json
import math


def rows(path):
    """The measurements, by their names in a table."""
    report = json.load(open(path))
    tests = {}
    for row in report["rows"]:
        name = f"{'pp' if row['test'] == 'prefill' else 'tg'}{row['tokens']}"
        name += f" @ {row['depth']}" if row["depth"] else ""
        name += f" x {row['sequences']}" if row["sequences"] != 1 else ""
        tests[name] = row["tokens_per_second"]
    return report, tests


def seconds(compute, traffic, machines, latency, bandwidth):
    """Of one token, of which each machine computes so long."""
    if machines == 1:
        return compute
    sent = traffic["sent_bytes_per_token"] * 2  # of both ranks
    steps = math.ceil(math.log2(machines))
    return compute + traffic["exchanges_per_token"] * latency * steps + sent * (machines - 1) / machines / bandwidth


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("one")
    parser.add_argument("two")
    parser.add_argument("--latency", type=float, default=5.0, help="of a message, in microseconds")
    parser.add_argument("--bandwidth", type=float, default=10.0, help="into each machine, in GB/s")
    parser.add_argument("--machines", default="1,2,4,8,16,32,64")
    parser.add_argument("--check", default="", help="measurements on ranks, separated by commas")
    parser.add_argument("--on-cores-of", default="", help="measurement of one process on the cores that these shared")
    options = parser.parse_args()
    report, alone = rows(options.one)
    traffic = {row["test"]: row for row in rows(options.two)[0]["traffic"]}
    counts = [int(count) for count in options.machines.split(",")]
    predict = lambda test, count, compute: 1 / seconds(compute, traffic[test], count, options.latency * 1e-6,
                                                       options.bandwidth * 1e9)
    print(f"{report['cpu']}; {options.latency:g} microseconds, {options.bandwidth:g} GB/s; tokens/s\n")
    print("| test | " + " | ".join(map(str, counts)) + " |\n|---|" + "---|" * len(counts))
    for test in alone:
        if test in traffic:
            print(f"| {test} | " + " | ".join(f"{predict(test, count, 1 / alone[test] / count):.1f}" for count in counts)
                  + " |")
    if not options.check:
        return
    shared = rows(options.on_cores_of)[1] if options.on_cores_of else None
    print("\n| ranks | test | predicted | measured | of it |\n|---|---|---|---|---|")
    for path in options.check.split(","):
        ranks, measured = rows(path)
        for row in ranks["traffic"]:
            test, count = row["test"], row["ranks"]
            expected = predict(test, count, 1 / shared[test] if shared else 1 / alone[test] / count)
            print(f"| {count} | {test} | {expected:.1f} | {measured[test]:.1f} | {measured[test] / expected:.2f} |")


if __name__ == "__main__":
    main()
