#!/usr/bin/env python3
"""Training by several processes, tried hard: the checks that take too long for the tests.

    tools/stress/study_ranks.py bits --programs build/release/bin
    tools/stress/study_ranks.py bits --programs build/release/bin --network
    tools/stress/study_ranks.py kills --programs build/release/bin --times 200
    tools/stress/study_ranks.py overhead --programs build/release/bin

bits      ViT, ResNet with batch norm, a text network with uneven lengths, D-Former: 2, 3 and 4 ranks leave
          the files of one process. --network: each rank on a host of its own, packets late and lost
          (network.py; needs root).
stall     the network (network.py) falls silent while a run is made: a clear end after train.rank_timeout.
kills     ranks are killed or stopped at any time; every run must end by itself, go on with --resume, and
          leave the files of a run that nothing has disturbed.
overhead  time of 2 ranks of 1 thread over that of 1 process of 2 threads, in pairs; for an idle machine.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
DIGITS = {"type": "digits", "root": str(SOURCE / "datasets/digits"), "limit": {"train": 70, "test": 20}}
ADAMW = {"type": "adamw", "lr": 1e-3}
TRAIN = {"epochs": 2, "batch_size": 4, "grad_accum_steps": 5, "clip_grad": 0.5}


def vit(folder):
    return {"dataset": DIGITS, "optimizer": ADAMW, "train": TRAIN | {"ema_decay": 0.9, "select_on": "test"},
            "model": {"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 1, "ffn": {"expansion": 2},
                      "attention": {"num_heads": 2, "attn_drop": 0.1}}}


def resnet(folder):
    return {"dataset": DIGITS, "optimizer": ADAMW, "train": TRAIN, "model": {"type": "resnet20"}}


def text(folder):
    """Texts of 2 to 30 words; the last batch of an epoch is smaller."""
    folder.mkdir(exist_ok=True)
    words = random.Random(0)
    for name, rows in (("train", 90), ("test", 21)):
        lines = ["label,text"]
        for row in range(rows):
            length = words.randint(1, 29)
            lines.append(f"{'yes,good' if row % 2 else 'no,bad'} {' '.join(f'w{words.randint(0, 40)}' for _ in range(length))}")
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return {"task": "text_classification", "dataset": {"type": "text_csv", "root": str(folder), "split": {"val": 0.2}},
            "model": {"type": "dgt", "embed_dim": 16, "depth": 1, "attention": {"num_heads": 2}, "ffn": {"expansion": 2}},
            "optimizer": ADAMW, "train": TRAIN}


def dformer(folder):
    return {"task": "segmentation", "loss": {"type": "nnunet"}, "optimizer": {"type": "sgd", "lr": 0.01, "momentum": 0.9},
            "dataset": {"type": "synthetic_volumes", "train_size": 8, "test_size": 3, "img_size": [16, 32, 32]},
            "model": {"type": "dformer", "embed_dim": 8, "num_heads": [1, 1, 2, 2], "depths": [2, 2, 2, 2]},
            "train": {"epochs": 2, "batch_size": 1, "grad_accum_steps": 4},
            "eval": {"inferer": {"type": "nnunet_windows", "roi_size": [16, 32, 32]}, "metrics": ["case_dice", "hd95_mm"]}}


def smoke(name, **train):
    """An experiment of experiments/smoke, with few samples in a batch and several batches in a step."""
    return lambda folder: {"extends": os.path.relpath(SOURCE / f"experiments/smoke/{name}.json", folder.parent), "train": {"epochs": 1, "grad_accum_steps": 4} | train}


NETWORKS = {"vit": vit, "resnet20": resnet, "dgt": text, "dformer": dformer}
# Other tasks, whose evaluations are shared too: --only NAME.
NETWORKS |= {"detection": smoke("retinanet", batch_size=3), "speech": smoke("conformer", batch_size=3), "labels": smoke("unet_labels", batch_size=5),
             "windows": smoke("unet_labels_windows", batch_size=5), "language": smoke("language", batch_size=5),
             "generation": smoke("dit", batch_size=32, eval_every=1)}
JUDGED = ("vit", "resnet20", "dgt", "dformer")


def environment(args):
    return dict(os.environ, PATH=f"{pathlib.Path(args.programs).resolve()}:{os.environ['PATH']}", OMPI_ALLOW_RUN_AS_ROOT="1",
                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")


def files_of(run):
    """What a run leaves, without times."""
    found = {}
    for path in sorted(run.rglob("*")):
        name = str(path.relative_to(run))
        if path.is_dir() or "tfevents" in name or name in ("run.lock", "curves.png"):
            continue
        if path.suffix in (".safetensors", ".csv", ".txt"):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    for name in ("metrics.jsonl", "summary.json"):
        lines = [json.loads(line) for line in ((run / name).read_text().splitlines() if name.endswith("l") else [(run / name).read_text()])]
        for line in lines:
            for key in ("time_s", "samples_per_s", "peak_bytes", "host", "command", "started", "threads", "environment"):
                line.pop(key, None)
        found[name] = json.dumps(lines, sort_keys=True) if name.endswith("l") else json.dumps(lines[0].get("metrics"), sort_keys=True)
    return found


def differences(first, second):
    return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))


def write(folder, name, experiment, **train):
    experiment = dict(experiment, name=name)
    experiment["train"] = experiment["train"] | train
    path = folder / f"{name}.json"
    path.write_text(json.dumps(experiment))
    return path


def launch(args, ranks, experiment, out, *more, wait=True):
    train = ["fovea", "train", str(experiment), "--out", str(out), "--threads", "1", "--quiet", *more]
    command = ["mpirun", "-q", "-n", str(ranks), *train]
    if getattr(args, "network", False):
        inside = " ".join(["eval exec mpirun $FOVEA_MPIRUN", "-x", "PATH", "-n", str(ranks), *train])
        command = [str(HERE / "network.py"), "--hosts", "4", "--delay-ms", str(args.delay_ms), "--loss", str(args.loss), "--limit", "500",
                   "--", "sh", "-c", inside]
    if not wait:
        return subprocess.Popen(command, env=environment(args), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=SOURCE,
                                start_new_session=True)
    done = subprocess.run(command, env=environment(args), cwd=SOURCE, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}: {done.stderr}")
    for line in done.stderr.splitlines():
        print(line)
    return done


def alone(args, experiment, out, *more):
    subprocess.run(["fovea", "train", str(experiment), "--out", str(out), "--threads", "1", "--quiet", *more], env=environment(args), cwd=SOURCE, check=True,
                   stdout=subprocess.DEVNULL)


def bits(args, folder):
    wrong = 0
    for name, make in NETWORKS.items():
        if name not in (args.only or JUDGED):
            continue
        experiment = write(folder, name, make(folder / "data"))
        alone(args, experiment, folder / name)
        expected = files_of(folder / name)
        for ranks in (4,) if args.network else (2, 3, 4):
            out = folder / f"{name}-{ranks}"
            begin = time.time()
            launch(args, ranks, experiment, out)
            differ = differences(expected, files_of(out))
            wrong += bool(differ)
            print(f"{name:<10} {ranks} ranks  {time.time() - begin:6.1f} s  {'same bits' if not differ else 'OTHER: ' + ', '.join(differ)}", flush=True)
    return wrong


def processes(args, out):
    """The ranks of a run, by their command lines."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words and words[0].endswith(b"train") and str(out).encode() in words:
            found.append(int(process.name))
    return found


def stall(args, folder):
    args.network = True
    experiment = write(folder, "stall", vit(folder), steps=400, checkpoint_every_steps=5, rank_timeout=5)
    out = folder / "stall-run"
    run = launch(args, 3, experiment, out, wait=False)
    while not list(out.glob("checkpoints/step-0000001*")):
        time.sleep(0.05)
        if run.poll() is not None:
            sys.exit(f"ended too early: {run.stderr.read()}")
    begin = time.time()
    run.send_signal(signal.SIGUSR1)
    _, said = run.communicate(timeout=120)
    print(f"status {run.returncode} {time.time() - begin:.1f} s after the network fell silent; said:\n{said}", end="")
    args.network = False
    launch(args, 2, experiment, out, "--resume")
    alone(args, experiment, folder / "whole")
    differ = differences(files_of(folder / "whole"), files_of(out))
    print(f"resumed: {'same bits' if not differ else 'OTHER: ' + ', '.join(differ)}")
    return 0 if run.returncode not in (0, 124) and "did not answer within 5 s" in said and not differ else 1


def kills(args, folder):
    choose = random.Random(args.seed)
    experiment = write(folder, "kills", vit(folder), steps=args.steps, checkpoint_every_steps=1, rank_timeout=3)
    alone(args, experiment, folder / "whole")
    expected = files_of(folder / "whole")
    done = {"KILL": 0, "STOP": 0}
    finished = wrong = resumed = hung = 0
    slowest = 0.0
    out = folder / "run"
    while sum(done.values()) < args.times:
        ranks = choose.choice((2, 3, 4))
        more = ["--resume"] if out.exists() and list(out.glob("checkpoints/step-*")) else []
        resumed += bool(more)
        if out.exists() and not more:
            shutil.rmtree(out)
        start = time.time()
        run = launch(args, ranks, experiment, out, *more, wait=False)
        time.sleep(choose.uniform(0.1, 2.5))
        found = processes(args, out)
        # (Before all ranks have begun nobody waits for less than ten minutes.)
        begun = any(path.stat().st_mtime > start for path in out.glob("checkpoints/step-*"))
        kind = choose.choices(("KILL", "STOP"), (4, 1 if begun else 0))[0]
        if found and run.poll() is None:
            try:
                os.kill(choose.choice(found), getattr(signal, "SIG" + kind))
                done[kind] += 1
            except ProcessLookupError:
                pass
        begin = time.time()
        try:
            _, said = run.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            if not [pid for pid in processes(args, out)]:
                hung += 1  # mpirun alone, whose ranks have ended
            else:
                wrong += 1
            print(f"no end within 60 s after {kind} at {ranks} ranks; left:", flush=True)
            subprocess.run(["ps", "-o", "pid,ppid,stat,wchan:20,etime,args", "-g", str(run.pid)])
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
            said = ""
        slowest = max(slowest, time.time() - begin)
        until = time.time() + 10
        while (left := processes(args, out)) and time.time() < until:
            time.sleep(0.05)
        if left:
            wrong += 1
            print(f"left behind after {kind}: {left}; {said}", flush=True)
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        if run.returncode == 0:
            finished += 1
            differ = differences(expected, files_of(out))
            if differ:
                wrong += 1
                print(f"OTHER: {', '.join(differ)}", flush=True)
            shutil.rmtree(out)
        elif more and "resume" in said and "did not answer" not in said:
            wrong += 1
            print(f"a run that does not go on: {said}", flush=True)
    # What is left goes on to its end.
    if out.exists():
        more = ["--resume"] if list(out.glob("checkpoints/step-*")) else []
        if not more:
            shutil.rmtree(out)
        launch(args, 2, experiment, out, *more)
        wrong += bool(differences(expected, files_of(out)))
        finished += 1
    print(f"{done['KILL']} kills, {done['STOP']} stops, {resumed} times resumed, {finished} runs finished, {wrong} wrong; "
          f"{hung} times mpirun itself hung after its ranks had ended; slowest end {slowest:.1f} s")
    return wrong


def overhead(args, folder):
    for name, model, extra in (("resnet56", {"type": "resnet56"}, {}), ("dgvit", {"type": "dgvit"}, {})):
        base = json.loads("\n".join(line for line in (SOURCE / f"experiments/bench/{name}.json").read_text().splitlines() if not line.strip().startswith("//")))
        experiment = {"dataset": {"type": "synthetic", "train_size": 2048, "test_size": 16, "img_size": 32}, "optimizer": ADAMW,
                      "model": base.get("model", model), "train": {"epochs": 1, "batch_size": args.batch, "grad_accum_steps": 2, "num_workers": 0, "log_every": 2} | extra}
        path = write(folder, name, experiment)
        ratios = []
        for pair in range(args.pairs):
            seconds = {}
            for side in ("one", "two") if pair % 2 == 0 else ("two", "one"):
                out = folder / f"{name}-{side}-{pair}"
                words = ["fovea", "train", str(path), "--out", str(out), "--quiet"]
                command = [*words, "--threads", "2"] if side == "one" else ["mpirun", "-q", "--bind-to", "none", "-n", "2", *words, "--threads", "1"]
                subprocess.run(command, env=environment(args), check=True, stdout=subprocess.DEVNULL)
                lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
                steps = [line for line in lines if line["split"] == "train"]
                seconds[side] = sum(line["samples"] / line["samples_per_s"] for line in steps[1:])
            ratios.append(seconds["two"] / seconds["one"])
            print(f"{name}: {seconds['one']:.2f} s by one process, {seconds['two']:.2f} s by two, ratio {ratios[-1]:.3f}", flush=True)
        print(f"{name}: median ratio {statistics.median(ratios):.3f}", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=("bits", "stall", "kills", "overhead"))
    parser.add_argument("--programs", required=True, help="folder of the programs")
    parser.add_argument("--network", action="store_true", help="bits: on hosts of a network that is late and loses packets")
    parser.add_argument("--delay-ms", type=float, default=2)
    parser.add_argument("--loss", type=float, default=0.01)
    parser.add_argument("--only", action="append", help="bits: this network alone")
    parser.add_argument("--times", type=int, default=200, help="kills")
    parser.add_argument("--steps", type=int, default=120, help="kills: of the run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pairs", type=int, default=5, help="overhead")
    parser.add_argument("--batch", type=int, default=64, help="overhead: batch_size")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fovea-ranks-") as folder:
        return min(1, globals()[args.study](args, pathlib.Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
