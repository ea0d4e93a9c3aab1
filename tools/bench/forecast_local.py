#!/usr/bin/env python3
"""The forecast of `fovea inspect --forecast` beside runs of `fovea train` by local ranks.

    tools/bench/forecast_local.py EXPERIMENT [--ranks 1,2] [--pairs 3] [--steps 40] [--set KEY=VALUE]

Each rank has one thread, and as many micro-batches as one process has. Ranks of one machine share its memory, caches and
power, which a forecast knows nothing of: so the step of k ranks is measured while k - 1 other processes do the same, and the
slowest of them counts. Messages between them are copied by their own cores, so they hide behind nothing. Runs take turns: in each pass a forecast and a run for every number of ranks. Printed are medians over
the passes, and of the efficiency within each pass, so that a machine that is busy for a while disturbs all of them alike;
still, an idle machine is better. Needs mpirun, and `fovea` in build/release/bin.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOVEA = ROOT / "build/release/bin/fovea"
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1")


def run(command):
    done = subprocess.run([str(word) for word in command], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr.strip()}")
    return done.stdout


def launched(ranks, command):
    return run(["mpirun", "-q", "-n", ranks, *command] if ranks > 1 else command)


def network(ranks):
    """What the ranks have between them, as words."""
    speed = json.loads(launched(ranks, [FOVEA, "bench", "--network", "--json"]))
    return f"net={speed['net_bytes_per_s'] / 1e9:.6g}GB/s latency={1e6 * speed['latency_s']:.6g}us"


def forecast(arguments, settings, ranks):
    """Samples per second by the slowest of as many forecasts at once."""
    words = f"ranks={ranks} {arguments.words} " + (network(ranks) if ranks > 1 else "net=1G")
    command = [FOVEA, "inspect", arguments.experiment, *settings, "--forecast", words, "--json"]
    with ThreadPoolExecutor(ranks) as pool:
        said = [json.loads(text) for text in pool.map(run, [command] * ranks)]
    return min(one["rows"][-1]["samples_per_s"] for one in said)


def trained(arguments, settings, ranks, micro_batches):
    """Samples per second after the first quarter of the steps."""
    with tempfile.TemporaryDirectory() as folder:
        every = max(1, arguments.steps // 8)
        launched(ranks, [FOVEA, "train", arguments.experiment, *settings, "--out", f"{folder}/run", "--quiet", "--threads", 1,
                         "--set", f"train.steps={arguments.steps}", "--set", f"train.log_every={every}",
                         "--set", f"train.grad_accum_steps={ranks * micro_batches}"])
        lines = [json.loads(line) for line in open(f"{folder}/run/metrics.jsonl")]
    rates = [line["samples_per_s"] for line in lines if "samples_per_s" in line and line["step"] > arguments.steps // 4]
    return statistics.median(rates)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("experiment")
    parser.add_argument("--ranks", default="1,2", help="1 first (default: 1,2)")
    parser.add_argument("--pairs", type=int, default=3, help="passes over all numbers of ranks")
    parser.add_argument("--steps", type=int, default=40, help="of each run")
    parser.add_argument("--set", action="append", default=[], help="override of the experiment, repeatable")
    parser.add_argument("--words", default="overlap=0", help="of the forecast, besides ranks and network (default: overlap=0)")
    arguments = parser.parse_args()
    counts = [int(count) for count in arguments.ranks.split(",")]
    if counts[0] != 1 or min(counts) < 1:
        parser.error("--ranks: expected 1 and larger numbers behind it")
    settings = [word for override in ["train.threads=1", *arguments.set] for word in ("--set", override)]
    resolved = json.loads(run([FOVEA, "inspect", "config", arguments.experiment, *settings, "--json"]))
    micro_batches = resolved["train"]["grad_accum_steps"]

    said = {count: [] for count in counts}
    seen = {count: [] for count in counts}
    for _ in range(arguments.pairs):
        for count in counts:
            said[count].append(forecast(arguments, settings, count))
            seen[count].append(trained(arguments, settings, count, micro_batches))

    def efficiency(rates, count):
        return statistics.median(many / (count * one) for many, one in zip(rates[count], rates[1]))

    print(f"{'ranks':>5} {'forecast':>12} {'measured':>12}   samples/s   efficiency: forecast, measured")
    for count in counts:
        print(f"{count:>5} {statistics.median(said[count]):>12.2f} {statistics.median(seen[count]):>12.2f}"
              f" {'':>27} {100 * efficiency(said, count):>5.1f} % {100 * efficiency(seen, count):>8.1f} %")


if __name__ == "__main__":
    main()
