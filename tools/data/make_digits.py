#!/usr/bin/env python3
"""Writes datasets/digits/digits.csv.gz from the copy that scikit-learn carries.

Usage: tools/data/make_digits.py [SOURCE.csv.gz] [TARGET.csv.gz]

Each line has 64 pixels 0..16 of an 8 x 8 image, row by row, and its label 0..9. The file is the same
for the same source, byte for byte: no time stamp and no name are stored in it. The last lines of the
output are the mean and the deviation of the training part that src/data/sets/digits.cpp normalises with.
"""
import gzip
import importlib.util
import math
import pathlib
import sys


def default_source():
    package = importlib.util.find_spec("sklearn")
    if package is None:
        sys.exit("make_digits: scikit-learn is not installed; give the path of its digits.csv.gz")
    return pathlib.Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz"


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default_source()
    target = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else root / "datasets/digits/digits.csv.gz"
    rows = []
    with gzip.open(source, "rt") as file:
        for number, line in enumerate(file, 1):
            row = [int(float(value)) for value in line.split(",")]
            if len(row) != 65 or min(row) < 0 or max(row[:64]) > 16 or row[64] > 9:
                sys.exit(f"make_digits: {source}:{number}: not 64 pixels 0..16 and a label 0..9")
            rows.append(row)
    if len(rows) != 1797:
        sys.exit(f"make_digits: {source}: {len(rows)} samples, 1797 expected")
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    with open(target, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(text.encode("ascii"))

    seen = [0] * 10
    train = []
    for row in rows:
        if seen[row[64]] % 5 != 4:
            train += [value / 16 for value in row[:64]]
        seen[row[64]] += 1
    mean = sum(train) / len(train)
    std = math.sqrt(sum((value - mean) ** 2 for value in train) / len(train))
    print(f"{target}: {len(rows)} samples, {len(train) // 64} of them train")
    print(f"mean {mean:.4f} std {std:.4f}")


if __name__ == "__main__":
    main()
