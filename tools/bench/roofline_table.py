"""How far every network of docs/benchmarks.md is from what this processor reaches at most.

    python3 tools/bench/roofline_table.py --rows roofline.jsonl
    python3 tools/bench/roofline_table.py --rows roofline.jsonl --models 'vit,swin_t' --precision float32,bfloat16

Each case of tools/bench/cases.py is one `fovea bench --roofline` on random inputs (texts and
recordings of full length). Its result is added to the file of --rows as soon as it is there; cases
that the file has already, measured with the same program and threads, are not measured again.
Prints two Markdown tables: a row for each case, and the operations that lose most over all cases."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import report
from cases import chosen_cases, step_words

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent


def parse_arguments():
    def words(text):
        return text.split(",")
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bench", type=Path, default=REPOSITORY / "build/release/bin/bench",
                        help="the program (default: that of the preset release)")
    parser.add_argument("--rows", type=Path, required=True, metavar="FILE",
                        help="measurements, a JSON object a line; added to")
    parser.add_argument("--models", type=words, default=[], metavar="A,B",
                        help="cases by pattern, such as 'vit,dgvit*' (default: all)")
    parser.add_argument("--precision", type=words, default=["float32"], metavar="P,Q",
                        help="float32, bfloat16 (default: float32)")
    parser.add_argument("--steps", type=int, default=3, help="timed steps (default: 3)")
    parser.add_argument("--warm-up", type=int, default=2, help="steps before (default: 2)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)),
                        help="default: all cores")
    parser.add_argument("--losses", type=int, default=10, metavar="N",
                        help="operations that lose most (default: 10)")
    return parser.parse_args()


def identity(case, precision, args, program):
    return {"case": case.name, "precision": precision, "threads": args.threads, "program": program}


def known_rows(args):
    if not args.rows.exists():
        return []
    return [json.loads(line) for line in args.rows.read_text().splitlines() if line]


def measure(case, precision, args):
    command = [args.bench, REPOSITORY / "experiments/bench" / case.experiment, "--json",
               "--roofline", "--steps", args.steps, "--warm-up", args.warm_up,
               "--threads", args.threads, *step_words(case, precision)]
    if case.kind in ("train", "infer"):
        command += ["--batch-size", case.batch]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode != 0:
        print(f"{case.name}, {precision}: {result.stderr.strip()}", file=sys.stderr)
        return None
    return json.loads(result.stdout)


def operation(row):
    return row["op"] + (" (backward)" if row["phase"] == "backward" else "")


def lost(row):
    return sorted(row["result"]["profile"], key=lambda of: -of["lost_ms"])


def case_line(title, row):
    result = row["result"]
    step = sum(of["ms_per_step"] for of in result["profile"])
    worst = ", ".join(f"{operation(of)} {of['lost_ms']:.1f}" for of in lost(row)[:3])
    return (f"| {title} | {row['precision']} | {step:.1f} | {result['least_ms']:.1f} "
            f"| {100 * result['limit_share']:.0f} % | {100 * result['present_share']:.0f} % | {worst} |")


def loss_lines(rows, titles, count):
    losses = [(of["lost_ms"] / sum(other["ms_per_step"] for other in row["result"]["profile"]),
               of, row) for row in rows for of in row["result"]["profile"]]
    losses.sort(key=lambda loss: -loss[1]["lost_ms"])
    for share, of, row in losses[:count]:
        reached = f"{100 * of['limit_share']:.0f} %" if of["limit_share"] is not None else "-"
        yield (f"| {operation(of)} | {titles[row['case']]} | {row['precision']} "
               f"| {of['ms_per_step']:.1f} | {of['limit'] or '-'} | {reached} "
               f"| {of['lost_ms']:.1f} | {100 * share:.0f} % |")


def main():
    args = parse_arguments()
    program = report.commit(REPOSITORY)
    cases = chosen_cases(args.models)
    rows = known_rows(args)
    for case in cases:
        for precision in args.precision:
            wanted = identity(case, precision, args, program)
            if any(row.items() >= wanted.items() for row in rows):
                continue
            print(f"{case.title}, {precision}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
            result = measure(case, precision, args)
            if result is None:
                continue
            row = {**wanted, "load": os.getloadavg()[0], "result": result}
            rows.append(row)
            with open(args.rows, "a") as file:
                file.write(json.dumps(row) + "\n")
    titles = {case.name: case.title for case in cases}
    asked = [row for row in rows if row["case"] in titles and row["precision"] in args.precision
             and row["threads"] == args.threads and row["program"] == program]
    print("| case | precision | step, ms | limit, ms | share of the limit | products gave | most lost, ms |\n"
          "|---|---|---:|---:|---:|---:|---|")
    for row in asked:
        print(case_line(titles[row["case"]], row))
    print("\n| operation | case | precision | ms | limit | share of it | lost, ms | of the step |\n"
          "|---|---|---|---:|---|---:|---:|---:|")
    for line in loss_lines(asked, titles, args.losses):
        print(line)


if __name__ == "__main__":
    main()
