#!/usr/bin/env python3
"""Makes experiment files and weights of timm's vision transformers, and compares Fovea with timm.

    timm_vits.py export MODEL FOLDER [--pretrained] [--img-size N]
    timm_vits.py compare MODEL... --fovea PROGRAM --folder FOLDER
    timm_vits.py golden FOLDER

`export` writes FOLDER/MODEL.json and FOLDER/MODEL.safetensors, for `fovea visualise-attention
FOLDER/MODEL.json --weights FOLDER/MODEL.safetensors --input cat.jpg`. Without --pretrained all weights
are random, also those that timm starts as 0, 1 or 1e-5.

`compare` does so, runs Fovea on pictures of noise, and prints the largest difference of logits in
shares of the largest logit, the largest difference of attention maps, and whether the number of
parameters is timm's. MODEL:SIZE makes a network for pictures of another size, MODEL:SIZE:DEPTH with
fewer blocks. A network that Fovea does not have is built as the nearest one that it has, and the line
begins with none and has Fovea's message. Exits with 1 where a difference is too large.

`golden` makes the golden cases of tests/fixtures/timm: small networks with logits, attention maps
and gradients.

Needs timm (1.0.31), safetensors, numpy and Pillow.
"""

import argparse
import functools
import json
import pathlib
import subprocess
import sys

import numpy
import timm
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from timm.layers import GluMlp, Mlp, RmsNorm, SwiGLU
from timm.models.deit import VisionTransformerDistilled
from timm.models.vision_transformer import Block, ResPostBlock, VisionTransformer

CLASSES = 4  # of the pictures that are compared
# The largest differences from timm in float64 that pass; of maps also twice timm's own in float32:
# where scores are large, maps are nearly one-hot and rounding is larger.
LOGITS, MAPS = 2e-6, 1e-6
ACTIVATIONS = {"GELU": "gelu", "GELUTanh": "gelu_tanh", "QuickGELU": "quick_gelu", "SiLU": "silu",
               "ReLU": "relu"}


def is_there(module):
    return not isinstance(module, torch.nn.Identity)


def ffn_of(mlp, dim):
    """The options of a feed-forward network."""
    if isinstance(mlp, SwiGLU):
        width, options = 2 * mlp.fc1_x.out_features, {"type": "swiglu", "packed": False}
        bias = mlp.fc1_x.bias
    elif isinstance(mlp, GluMlp):
        width, options = mlp.fc1.out_features, {"type": "swiglu", "gate_last": mlp.gate_last}
        bias = mlp.fc1.bias
    else:
        activation = type(mlp.act).__name__
        width, options = mlp.fc1.out_features, {"type": "mlp", "activation": ACTIVATIONS[activation]}
        bias = mlp.fc1.bias
    return {**options, "expansion": width / dim, "bias": bias is not None}


def model_of(net):
    """The `model` of an experiment file for one of timm's VisionTransformers."""
    block, dim = net.blocks[0], net.embed_dim
    attn = getattr(block, "attn", None)
    norm = next(n for n in (net.norm, net.fc_norm, getattr(block, "norm1", None),
                            torch.nn.LayerNorm(1, eps=1e-6)) if n is not None and is_there(n))
    model = {
        "type": "vit",
        "img_size": list(net.patch_embed.img_size),
        "patch_size": net.patch_embed.patch_size[0],
        "in_chans": net.in_chans,
        "num_classes": net.num_classes,
        "embed_dim": dim,
        "depth": len(net.blocks),
        "class_token": net.cls_token is not None,
        "distilled": hasattr(net, "dist_token"),
        "reg_tokens": net.num_reg_tokens,
        "no_embed_class": net.no_embed_class,
        "embed_norm": is_there(getattr(net.patch_embed, "norm", torch.nn.Identity())),
        "pre_norm": is_there(net.norm_pre),
        "final_norm": is_there(net.norm) or is_there(net.fc_norm),
        "fc_norm": is_there(net.fc_norm),
        "global_pool": net.global_pool,
        "norm": "rms_norm" if isinstance(norm, RmsNorm) else "layer_norm",
        "norm_eps": norm.eps,
        "norm_position": "res_post" if isinstance(block, ResPostBlock) else "pre",
        "init_values": 1e-5 if hasattr(getattr(block, "ls1", None), "gamma") else None,
        "attention": {"type": "softmax", "num_heads": getattr(attn, "num_heads", 4)},
        "ffn": ffn_of(block.mlp, dim) if hasattr(block, "mlp") else {"type": "mlp"},
    }
    if isinstance(block, (Block, ResPostBlock)):
        model["attention"].update(qkv_bias=attn.qkv.bias is not None,
                                  proj_bias=attn.proj.bias is not None,
                                  qk_norm=is_there(attn.q_norm))
    return model


def experiment_of(net, root):
    config = timm.data.resolve_data_config({}, model=net)
    return {
        "task": "image_classification",
        "dataset": {"type": "image_folder", "root": str(root), "img_size": config["input_size"][1],
                    "crop_pct": config["crop_pct"], "interpolation": config["interpolation"],
                    "mean": list(config["mean"]), "std": list(config["std"])},
        "model": model_of(net),
        "train": {"epochs": 0},
    }


def randomise(net, seed=1):
    """Random numbers for all parameters, so that nothing is hidden by what it starts as."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in net.named_parameters():
            noise = torch.randn(p.shape, generator=random)
            if name.endswith("gamma"):  # a usual size, of either sign
                p.copy_(noise.sign() * (0.2 + 0.3 * torch.rand(p.shape, generator=random)))
            elif p.ndim == 1:
                p.copy_(0.2 * noise + (1 if name.endswith("weight") else 0))
            elif name.endswith(("token", "pos_embed", "latent")):
                p.copy_(0.5 * noise)
            else:
                p.copy_(noise * p[0].numel() ** -0.5)


def make(name, pretrained=False, img_size=None, depth=None, num_classes=None):
    options = {key: value for key, value in
               [("img_size", img_size), ("depth", depth), ("num_classes", num_classes)]
               if value is not None}
    net = timm.create_model(name, pretrained=pretrained, **options).eval()
    if not pretrained:
        randomise(net)
    return net


def export(net, name, folder, root="datasets/imagenet"):
    folder.mkdir(parents=True, exist_ok=True)
    experiment, weights = folder / f"{name}.json", folder / f"{name}.safetensors"
    experiment.write_text(json.dumps(experiment_of(net, root), indent=1) + "\n")
    save_file({key: value.contiguous() for key, value in net.state_dict().items()}, weights)
    return experiment, weights


def draw_pictures(root, size):
    """A picture of noise for each class, of the size that the network sees; train and val alike."""
    files = []
    for part in ("train", "val"):
        for k in range(CLASSES):
            noise = numpy.random.default_rng(k).integers(0, 256, (size, size, 3), dtype=numpy.uint8)
            file = root / part / f"c{k}" / "noise.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(noise).save(file)
            files.append(file)
    return files[CLASSES:]


def maps_of(net):
    """A list that the attention maps of the next pass come into."""
    maps = []
    for block in net.blocks:
        block.attn.fused_attn = False
        block.attn.attn_drop.register_forward_hook(lambda _, given, out: maps.append(out))
    return maps


def expected_of(net, files, experiment):
    """timm's logits and attention maps in float64, and how far its maps in float32 are from them."""
    data = experiment["dataset"]
    mean, std = (numpy.array(data[key], dtype=numpy.float32) for key in ("mean", "std"))
    images = [(numpy.asarray(Image.open(f), dtype=numpy.float32) / numpy.float32(255) - mean) / std
              for f in files]
    x = torch.from_numpy(numpy.stack(images)).permute(0, 3, 1, 2).double()
    maps = maps_of(net)
    with torch.no_grad():
        net(x.float())
        rounded = [m.double() for m in maps]
        maps.clear()
        logits = net.double()(x)
    return logits, maps, max((a - b).abs().max().item() for a, b in zip(rounded, maps))


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout


def compare(asked, program, folder):
    """A line about one network, which begins with ok, FAIL, or none where Fovea refuses it."""
    name, *sizes = asked.split(":")
    img_size, depth = ([int(n) for n in sizes] + [None, None])[:2]
    net = make(name, img_size=img_size, depth=depth, num_classes=CLASSES)
    side = net.patch_embed.img_size[0]
    root = folder / f"pictures-{side}"
    files = draw_pictures(root, side)
    experiment, weights = export(net, name, folder, root)
    described = json.loads(experiment.read_text())
    described["dataset"].update(img_size=side, crop_pct=1)
    experiment.write_text(json.dumps(described))
    common = ("--weights", weights, "--quiet")
    try:
        out = folder / f"{name}-scores"
        run(program, "eval", experiment, *common, "--split", "val", "--save", "logits", "--no-noise",
            "--out", out)
        drawn = folder / f"{name}-maps"
        run(program, "visualise-attention", experiment, *common[:2], "--input", files[1],
            "--no-explorer", "--overlay", 0, "--out", drawn)
        shown = json.loads(run(program, "inspect", experiment, "--json"))
    except RuntimeError as error:
        return f"none {name}: {error}"
    logits, maps, rounding = expected_of(net, files, described)
    got = load_file(out / "logits.safetensors")["logits"].double()
    error = ((got - logits).abs().max() / logits.abs().max()).item()
    seen = load_file(drawn / "maps.safetensors")
    worst = max((seen[key] - maps[int(key.rsplit("/", 1)[1])][1]).abs().max().item()
                for key in seen if "/attn/" in key)
    count = sum(p.numel() for p in net.parameters())
    passed = (error <= LOGITS and worst <= max(MAPS, 2 * rounding) and len(maps) == len(net.blocks)
              and shown["parameters"] == count)
    line = (f"{name}: logits {error:.1e} of {logits.abs().max().item():.3g}, maps {worst:.1e} of "
            f"{max(m.max().item() for m in maps):.2f} (timm in float32 {rounding:.1e}), "
            f"{count} parameters, Fovea {shown['parameters']}")
    return ("ok   " if passed else "FAIL ") + line


# Small networks with all that the family has, by timm's own words and those that it has as types.
GOLDEN = {
    "deit_distilled": {"distilled": True},
    "deit3": {"init_values": 1e-6, "no_embed_class": True},
    "dinov2_reg": {"init_values": 1e-5, "reg_tokens": 3, "no_embed_class": True},
    "dinov2_giant": {"init_values": 1e-5, "mlp_layer": "SwiGLUPacked", "act_layer": "silu",
                     "mlp_ratio": 5.33334},
    "clip": {"pre_norm": True, "act_layer": "quick_gelu", "norm_eps": 1e-5},
    "reg_gap": {"init_values": 1e-5, "class_token": False, "reg_tokens": 2, "global_pool": "avg",
                "fc_norm": True, "qkv_bias": False},
    "siglip": {"class_token": False, "global_pool": "map", "act_layer": "gelu_tanh"},
    "aimv2": {"class_token": False, "global_pool": "avg", "fc_norm": False, "mlp_ratio": 2.75,
              "qkv_bias": False, "proj_bias": False, "norm_layer": "RmsNorm", "norm_eps": 1e-5,
              "embed_norm": True, "mlp_layer": "SwiGLU", "act_layer": "silu"},
    "qk_norm": {"qk_norm": True, "final_norm": False},
    "res_post": {"class_token": False, "global_pool": "avg", "fc_norm": True,
                 "block_fn": "ResPostBlock"},
}
SMALL = {"img_size": [12, 16], "patch_size": 4, "in_chans": 2, "num_classes": 5, "embed_dim": 12,
         "depth": 2, "num_heads": 2}


def small_network(words):
    """timm's network for the words of a golden case."""
    norms = {"LayerNorm": timm.layers.LayerNorm, "RmsNorm": RmsNorm}
    norm = functools.partial(norms[words.pop("norm_layer", "LayerNorm")],
                             eps=words.pop("norm_eps", 1e-6))
    types = {"Block": Block, "ResPostBlock": ResPostBlock, "Mlp": Mlp, "SwiGLU": SwiGLU,
             "SwiGLUPacked": timm.layers.SwiGLUPacked}
    for key in ("block_fn", "mlp_layer"):
        if key in words:
            words[key] = types[words[key]]
    if words.pop("embed_norm", False):
        words["embed_norm_layer"] = norm
    whole = VisionTransformerDistilled if words.pop("distilled", False) else VisionTransformer
    return whole(**words, norm_layer=norm).eval()


def golden(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, words) in enumerate(GOLDEN.items()):
        config = {**SMALL, **words}
        net = small_network(dict(config))
        randomise(net, seed)
        random = torch.Generator().manual_seed(1000 + seed)
        x = torch.randn(2, config["in_chans"], *config["img_size"], generator=random)
        upstream = torch.randn(2, config["num_classes"], generator=random)
        tensors = {"input/x": x, "upstream/logits": upstream}
        tensors.update((f"param/{key}", p) for key, p in net.named_parameters())
        tensors = {key: t.detach().clone() for key, t in tensors.items()}
        net, x = net.double(), x.double().requires_grad_()
        maps = maps_of(net)
        logits = net(x)
        (logits * upstream).sum().backward()
        tensors.update({"output/logits": logits, "grad_input/x": x.grad})
        tensors.update((f"aux/attn/{i}", m) for i, m in enumerate(maps))
        tensors.update((f"grad_param/{key}", p.grad) for key, p in net.named_parameters())
        tolerance = {"rule": "max", "rtol": 1e-5, "atol": 1e-6}
        metadata = {
            "config": json.dumps(config), "kind": "network", "operator": "VisionTransformer",
            "source": f"timm {timm.__version__}, tools/weights/timm_vits.py", "mode": "eval",
            "loss": "sum(output*upstream)",
            "tolerance": json.dumps({"output": tolerance, "grad": tolerance}),
            "precision": "values computed in float64 from float32 inputs and parameters, stored as "
                         "float32",
        }
        save_file({key: t.detach().float().contiguous() for key, t in tensors.items()},
                  folder / f"{name}.safetensors", metadata)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    exporting = commands.add_parser("export")
    exporting.add_argument("model", metavar="MODEL")
    exporting.add_argument("folder", metavar="FOLDER", type=pathlib.Path)
    exporting.add_argument("--pretrained", action="store_true")
    exporting.add_argument("--img-size", type=int)
    comparing = commands.add_parser("compare")
    comparing.add_argument("models", metavar="MODEL", nargs="+")
    comparing.add_argument("--fovea", required=True)
    comparing.add_argument("--folder", type=pathlib.Path, required=True)
    commands.add_parser("golden").add_argument("folder", metavar="FOLDER", type=pathlib.Path)
    args = parser.parse_args()
    if args.command == "golden":
        return golden(args.folder)
    if args.command == "export":
        net = make(args.model, args.pretrained, args.img_size)
        for file in export(net, args.model, args.folder):
            print(file)
        return
    failed = 0
    for asked in args.models:
        line = compare(asked, args.fovea, args.folder)
        print(line, flush=True)
        failed += line.startswith("FAIL")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
