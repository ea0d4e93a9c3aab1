# For the scripts beside it: a sweep of tiny jobs, and what must be true when it has been run.
# Wants: $programs, the folder with ablate and train; $jobs, a multiple of 4; $work, an empty folder.

# Writes $work/sweep.json, and to $work/bin copies of the programs that note in $work/begun when a
# job is begun, and in $work/again when it was finished already.
write_sweep() {
  root=$(cd "$(dirname "$0")/../.." && pwd)
  mkdir -p "$work/bin"
  cp "$programs/ablate" "$programs/fovea" "$work/bin"
  cat > "$work/bin/train" <<END
#!/bin/bash
[ ! -e "\$3/summary.json" ] || echo "\$3" >> '$work/again'
echo "\$3" >> '$work/begun'
exec '$programs/train' "\$@"
END
  chmod +x "$work/bin/train"
  seeds=$(seq -s ', ' 1 $((jobs / 4)))
  cat > "$work/tiny.json" <<END
{"name": "tiny",
 "dataset": {"type": "digits", "root": "$root/datasets/digits", "limit": {"train": 40, "test": 20}},
 "model": {"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 1,
           "attention": {"num_heads": 2}, "ffn": {"expansion": 2}},
 "optimizer": {"type": "adamw", "lr": 1e-3},
 "train": {"epochs": ${epochs:-1}, "batch_size": 10, "select_on": "test", "num_workers": 0}}
END
  cat > "$work/sweep.json" <<END
{"name": "stress", "base": "tiny.json", "seeds": [$seeds], "metrics": ["test_top1", "test_loss"],
 "rows": [{"name": "a"}, {"name": "b", "set": {"optimizer.lr": 0.002}},
          {"name": "c", "set": {"optimizer.lr": 0.003}}, {"name": "d", "set": {"model.depth": 2}}]}
END
}

# The table that one sweep makes, in $work/one.
make_reference() {
  "$programs/ablate" "$work/sweep.json" --out "$work/one" --jobs 2 --threads 2 --quiet >/dev/null
}

# The tables in a folder, without the times in them.
without_times() {
  sed -E 's/"(time_s|min_per_epoch)": [0-9.e+-]+/"\1": 0/' "$1/results.json"
  sed -E 's/[|][^|]*[|]$/|/' "$1/results.md"
  cat "$1/results.tex"
}

# Every job done once, the same table, nothing left of whoever worked in $work/many.
check_sweep() {
  failures=0
  complain() {
    echo "stress: $1" >&2
    failures=$((failures + 1))
  }
  [ ! -e "$work/again" ] || complain "finished jobs were begun again: $(sort "$work/again" | uniq -c)"
  "$work/bin/ablate" "$work/sweep.json" --out "$work/many" --check >&2 ||
    complain "the folder is not in order"
  without_times "$work/one" > "$work/one.txt"
  without_times "$work/many" > "$work/many.txt"
  cmp "$work/one.txt" "$work/many.txt" >&2 || complain "the table is not that of one sweep"
  left=$(find "$work/many" -name '*.claim*' -o -name '*.tmp' -o -name 'run.lock*')
  [ -z "$left" ] || complain "left behind: $left"
  alive=$(pgrep -f -- "$work/many" || true)
  [ -z "$alive" ] || complain "still running: $alive"
  return $((failures > 0))
}
