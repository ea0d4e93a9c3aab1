#!/usr/bin/env python3
"""Compares the speed and memory of Fovea with PyTorch's on this machine.

For every case and precision both sides get the same weights and inputs and must report the same
loss. Then they take turns, so that a change of the machine's clock or load meets both: in each turn
a side makes warm-up steps and the median of its timed steps counts.

Needs PyTorch and NumPy (for mask_rcnn torchvision too) in the Python that runs it, and a release
build of bench. Examples:
  compare_torch.py
  compare_torch.py --models 'vit,dgvit*' --precision float32 --pairs 3
  compare_torch.py --markdown > table.md
  compare_torch.py --device cuda --models vit,dgvit --precision tf32,bfloat16
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import report
from cases import all_cases, chosen_cases, step_words

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
# Of the loss, relative. tf32: float32 whose products CUDA makes on tensor cores, on both sides.
TOLERANCE = {"float32": 1e-4, "tf32": 2e-3, "bfloat16": 2e-2}
MODES = ("eager", "compile")


class NotAvailable(Exception):
    """A side cannot run a case; the message is its last line on stderr."""


def environment():
    """Neither side may be held to a CPU that is not this one."""
    return {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def torch_device(args):
    """PyTorch knows the cards of CUDA; beside every other device it computes on the host."""
    return args.device if args.device.startswith("cuda") else "cpu"


class TorchWorker:
    """One network in a PyTorch process that lives as long as its case is measured."""

    def __init__(self, args, case, mode, precision, folder):
        self.stderr = open(Path(folder) / f"{mode}.log", "w+")
        self.process = subprocess.Popen(
            [sys.executable, "-B", HERE / "torch_worker.py", case.name, mode, precision,
             torch_device(args), str(args.threads), folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr, text=True,
            env=environment())
        self.first = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        self.close()
        raise NotAvailable(self.error)

    def measure(self, args):
        with contextlib.suppress(BrokenPipeError):  # answer() says why
            self.process.stdin.write(f"{args.steps} {args.warm_up}\n")
            self.process.stdin.flush()
        answer = self.answer()
        return {"ms": answer["cpu_ms"] if args.cpu_time else median(answer["ms"]),
                "bytes": answer["bytes"]}

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        if not self.stderr.closed:
            self.stderr.seek(0)
            self.error = last_line(self.stderr.read())
            self.stderr.close()


def run_bench(args, case, precision, folder, steps, warm_up):
    """One turn of Fovea: the JSON of bench."""
    command = [args.bench, REPOSITORY / "experiments" / "bench" / case.experiment, "--json",
               "--init", Path(folder) / "weights.safetensors",
               "--inputs", Path(folder) / "inputs.safetensors",
               "--steps", steps, "--warm-up", warm_up, "--threads", args.threads, "--no-profile"]
    command += step_words(case, precision, args.device)
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                            env=environment())
    if result.returncode != 0:
        raise NotAvailable(last_line(result.stderr))
    return json.loads(result.stdout)


def first_of_ours(args, case, precision, folder):
    first = run_bench(args, case, precision, folder, 1, 0)
    if precision != "float32":
        plain = run_bench(args, case, "float32", folder, 1, 0)
        if plain["loss"] == first["loss"]:
            raise NotAvailable(f"this network does not compute in {precision}: its loss is that "
                               "of float32 to the last bit")
    return first


def measure_ours(args, case, precision, folder):
    answer = run_bench(args, case, precision, folder, args.steps, args.warm_up)
    on_host = args.device == "cpu"
    return {"ms": answer["cpu_ms_per_step"] if args.cpu_time
            else answer["ms_per_step"]["median"],
            "bytes": answer["peak_rss_bytes"] - answer["start_rss_bytes"] if on_host
            else answer["peak_bytes"]}


def check_losses(case, precision, losses):
    """Stops the comparison unless all sides agree with the first."""
    first, expected = next(iter(losses.items()))
    tolerance = max(case.tolerance, TOLERANCE[precision])
    for side, loss in losses.items():
        if loss is None or not abs(loss - expected) <= tolerance * abs(expected):
            raise SystemExit(f"compare_torch: {case.name}, {precision}: the loss of {side} is "
                             f"{loss}, of {first} {expected}; expected a relative difference of "
                             f"at most {tolerance:g}")


def start_workers(args, case, precision, folder, errors):
    workers = {}
    for mode in args.modes:
        try:
            workers[mode] = TorchWorker(args, case, mode, precision, folder)
        except NotAvailable as error:
            errors[mode] = str(error)
    if not workers:
        raise SystemExit(f"compare_torch: {case.name}, {precision}: PyTorch does not run: "
                         f"{next(iter(errors.values()))}")
    return workers


def take_turns(args, sides):
    """Measurements by side, one for each pair; every second pair runs in reverse order."""
    turns = {side: [] for side in sides}
    for pair in range(args.pairs):
        order = list(sides) if pair % 2 == 0 else list(reversed(sides))
        for side in order:
            turns[side].append(sides[side]())
    return turns


def compare(args, case, precision, folder):
    """One row: every side's turns, and why a side is missing."""
    errors, sides = {}, {}
    workers = start_workers(args, case, precision, folder, errors)
    try:
        losses = {mode: worker.first["loss"] for mode, worker in workers.items()}
        start_up_s = {mode: worker.first["start_up_s"] for mode, worker in workers.items()}
        try:
            first = first_of_ours(args, case, precision, folder)
            losses["ours"], start_up_s["ours"] = first["loss"], first["start_up_s"]
            sides["ours"] = lambda: measure_ours(args, case, precision, folder)
            args.found["ours"] = first["backend"]
        except NotAvailable as error:
            errors["ours"] = str(error)
        check_losses(case, precision, losses)
        for mode, worker in workers.items():
            sides[mode] = lambda worker=worker: worker.measure(args)
        turns = take_turns(args, sides)
    except NotAvailable as error:
        raise SystemExit(f"compare_torch: {case.name}, {precision}: {error}") from None
    finally:
        for worker in workers.values():
            worker.close()
    args.found["torch"] = next(iter(workers.values())).first["version"]
    return {"case": case.name, "title": case.title, "precision": precision, "losses": losses,
            "start_up_s": start_up_s, "errors": errors, "turns": turns}


def words(text):
    return [word for word in text.split(",") if word]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="cases: " + ", ".join(case.name for case in all_cases()))
    parser.add_argument("--bench", type=Path,
                        default=REPOSITORY / "build" / "release" / "bin" / "bench",
                        help="Fovea's program (default: the release build)")
    parser.add_argument("--models", type=words, default=[], metavar="A,B",
                        help="cases, * stands for anything (default: all)")
    parser.add_argument("--precision", type=words, default=["float32"], metavar="P,Q",
                        help="float32, tf32 (on cuda), bfloat16 (default: float32)")
    parser.add_argument("--modes", type=words, default=list(MODES), metavar="M,N",
                        help="of PyTorch: eager, compile (default: both)")
    parser.add_argument("--pairs", type=int, default=7, help="turns of each side (default: 7)")
    parser.add_argument("--steps", type=int, default=5, help="timed steps of a turn (default: 5)")
    parser.add_argument("--warm-up", type=int, default=2, help="steps before them (default: 2)")
    parser.add_argument("--device", default="cpu", metavar="D",
                        help="cpu, opencl or cuda, also cuda:1 (default: cpu)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)),
                        help="of each side (default: all cores)")
    parser.add_argument("--cpu-time", action="store_true",
                        help="compare what a step takes of the processor, the mean of the timed "
                        "steps: for busy machines, with --threads 1")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement")
    parser.add_argument("--markdown", action="store_true", help="print a table for a page")
    args = parser.parse_args()
    if not set(args.precision) <= set(TOLERANCE) or not args.precision:
        parser.error("--precision: expected some of float32, tf32, bfloat16")
    if not set(args.modes) <= set(MODES) or not args.modes:
        parser.error("--modes: expected eager, compile or both")
    if min(args.pairs, args.steps, args.threads) < 1 or args.warm_up < 0:
        parser.error("--pairs, --steps and --threads: expected at least 1; --warm-up at least 0")
    if not args.bench.is_file():
        parser.error(f"--bench: {args.bench} is not there; build with: cmake --preset release && "
                     "cmake --build --preset release --target bench")
    args.modes = [mode for mode in MODES if mode in args.modes]  # eager is the reference
    args.found = {}  # versions, filled in while running
    return args


def main():
    args = parse_arguments()
    cases = chosen_cases(args.models)
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"compare_torch: the load of this machine is {load:.1f}; timings will be noisy",
              file=sys.stderr)
    rows = []
    for case in cases:
        for precision in args.precision:
            print(f"{case.name}, {precision} ...", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory() as folder:
                rows.append(report.summarise(compare(args, case, precision, folder)))
    header = report.header(args, REPOSITORY, load)
    if args.json:
        args.json.write_text(json.dumps({"header": header, "rows": rows}, indent=2) + "\n")
    print(report.markdown(header, rows) if args.markdown else report.text(header, rows))


if __name__ == "__main__":
    main()
