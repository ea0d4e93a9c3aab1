"""What compare_torch.py prints: the machine, a row for each case and precision, what is missing."""

import platform
import subprocess
from statistics import median

COLUMNS = ("case", "precision", "ours, ms", "eager, ms", "compile, ms", "time ratio (min - max)",
           "ours, MiB", "torch, MiB", "memory ratio")
EXPLANATION = ("Times are medians over the pairs. The time ratio is ours over the faster mode of "
               "PyTorch in the same pair: median, least, most; below 1 Fovea is faster. Memory is "
               "the most that the process holds while stepping beyond what it held before the "
               "network was built, on a graphics processor what its tensors hold; PyTorch's is "
               "that of the mode that needs less.")


def summarise(row):
    """Adds medians, ratios of the pairs and memory to a row of compare_torch.compare."""
    turns = row["turns"]
    row["ms"] = {side: median(turn["ms"] for turn in of_side) for side, of_side in turns.items()}
    row["bytes"] = {side: max(turn["bytes"] for turn in of_side)
                    for side, of_side in turns.items()}
    torch = [side for side in turns if side != "ours"]
    row["torch_bytes"] = min(row["bytes"][side] for side in torch)
    if "ours" in turns:
        ratios = [turn["ms"] / min(turns[side][pair]["ms"] for side in torch)
                  for pair, turn in enumerate(turns["ours"])]
        row["time_ratio"] = {"median": median(ratios), "min": min(ratios), "max": max(ratios)}
        row["memory_ratio"] = row["bytes"]["ours"] / row["torch_bytes"]
    return row


def cpu_model():
    try:
        with open("/proc/cpuinfo") as info:
            return next(line.split(":")[1].strip() for line in info if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def commit(repository):
    def git(*words):
        return subprocess.run(["git", "-C", repository, *words], capture_output=True, text=True)
    head = git("rev-parse", "--short", "HEAD")
    if head.returncode != 0:
        return "unknown"
    changed = git("status", "--porcelain", "--untracked-files=no").stdout.strip()
    return head.stdout.strip() + (" with changes" if changed else "")


def header(args, repository, load):
    return {"cpu": cpu_model(), "threads": args.threads, "load_before": round(load, 2),
            "ours": args.found.get("ours", "not available"), "commit": commit(repository),
            "torch": args.found["torch"], "pairs": args.pairs, "steps": args.steps,
            "warm_up": args.warm_up, "cpu_time": args.cpu_time}


def header_lines(head):
    threads = f"{head['threads']} thread" + ("s" if head["threads"] > 1 else "")
    return [f"CPU: {head['cpu']}, {threads}, load before the start {head['load_before']}",
            f"Fovea: commit {head['commit']}; {head['ours']}",
            f"PyTorch: {head['torch']}",
            f"{head['pairs']} pairs, each of {head['steps']} steps a side after "
            f"{head['warm_up']} to warm up"
            + (", time of the processor" if head["cpu_time"] else "")]


def milliseconds(value):
    return "-" if value is None else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def cells(row):
    ms = row["ms"]
    ratio, mebibyte = row.get("time_ratio"), 2**20
    return (row["title"], row["precision"], *(milliseconds(ms.get(side))
                                              for side in ("ours", "eager", "compile")),
            f"{ratio['median']:.2f} ({ratio['min']:.2f} - {ratio['max']:.2f})" if ratio else "-",
            f"{row['bytes']['ours'] / mebibyte:.0f}" if ratio else "-",
            f"{row['torch_bytes'] / mebibyte:.0f}",
            f"{row['memory_ratio']:.2f}" if ratio else "-")


def missing(rows):
    names = {"ours": "ours", "eager": "torch eager", "compile": "torch compile"}
    return [f"{row['title']}, {row['precision']}: {names[side]}: not available: {message}"
            for row in rows for side, message in row["errors"].items()]


def table(rows, left, between, right, rule):
    """Lines of a table whose columns line up; the first two are text, the others numbers."""
    lines = [COLUMNS, *(cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]

    def aligned(line):
        parts = [cell.ljust(width) if i < 2 else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(line, widths))]
        return (left + between.join(parts) + right).rstrip()
    return [aligned(lines[0]), rule(widths), *(aligned(line) for line in lines[1:])]


def text(head, rows):
    body = table(rows, "", "  ", "", lambda widths: "  ".join("-" * width for width in widths))
    return "\n".join([*header_lines(head), "", *body, "", EXPLANATION, *missing(rows)])


def markdown(head, rows):
    def rule(widths):
        marks = ["-" * width if i < 2 else "-" * (width - 1) + ":"
                 for i, width in enumerate(widths)]
        return "| " + " | ".join(marks) + " |"
    body = table(rows, "| ", " | ", " |", rule)
    listed = [f"- {line}" for line in header_lines(head)]
    notes = ["", *(f"- {line}" for line in missing(rows))] if missing(rows) else []
    return "\n".join([*listed, "", *body, "", EXPLANATION, *notes])
