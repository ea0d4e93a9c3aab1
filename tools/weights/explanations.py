#!/usr/bin/env python3
"""Compares explanations and their scores with Captum, pytorch-grad-cam and Quantus.

    explanations.py MODEL... --fovea PROGRAM --folder FOLDER

MODEL is timm's name of a vision transformer or a ResNet, such as vit_tiny_patch16_224 or resnet18. Its
weights are random numbers; Fovea reads them and explains pictures of noise, timm's network is explained
in float64 by the libraries, and what no library has by a few lines below. A line gives the largest
difference in shares of the largest number. Exits with 1 where one is too large.

Needs timm, captum, grad-cam, quantus, safetensors, numpy, scipy and Pillow.
"""

import argparse
import copy
import csv
import json
import pathlib
import sys

import captum.attr
import numpy
import quantus
import timm
import torch
from PIL import Image
from pytorch_grad_cam import GradCAM, HiResCAM, LayerCAM
from pytorch_grad_cam.metrics.road import NoisyLinearImputer
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
from safetensors.torch import load_file, save_file
from scipy.ndimage import gaussian_filter

import timm_vits

LARGEST = 1e-4  # difference that passes
UNIT = 16       # side of what scores remove, in pixels
STEPS = 20      # of integrated gradients
SCORED = 2      # pictures whose explanations are scored
CAMS = {"grad_cam": GradCAM, "hires_cam": HiResCAM, "layer_cam": LayerCAM}
RULES = {"gauss_legendre": "gausslegendre", "midpoint": "riemann_middle", "right": "riemann_right"}


def exported(name, folder):
    """timm's network, its experiment file and weights, and the pictures."""
    files = timm_vits.draw_pictures(folder / "pictures", 224)
    torch.manual_seed(1)
    if name.startswith("resnet"):
        net = timm.create_model(name, num_classes=timm_vits.CLASSES).eval()
        described = {"task": "image_classification", "train": {"epochs": 0},
                     "dataset": {"type": "image_folder", "root": str(folder / "pictures"),
                                 "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]},
                     "model": {"type": name, "num_classes": timm_vits.CLASSES}}
        weights = folder / f"{name}.safetensors"
        save_file({key: value.contiguous() for key, value in net.state_dict().items()}, weights)
    else:
        net = timm_vits.make(name, num_classes=timm_vits.CLASSES)
        experiment, weights = timm_vits.export(net, name, folder, folder / "pictures")
        described = json.loads(experiment.read_text())
    described["dataset"].update(img_size=224, crop_pct=1)
    experiment = folder / f"{name}.json"
    experiment.write_text(json.dumps(described))
    return net.double(), described["dataset"], experiment, weights, files


def images_of(files, data):
    """What the network sees, rounded to float32 as there."""
    mean, std = (numpy.array(data[key], dtype=numpy.float32) for key in ("mean", "std"))
    images = [(numpy.asarray(Image.open(f), dtype=numpy.float32) / numpy.float32(255) - mean) / std
              for f in files]
    return torch.from_numpy(numpy.stack(images)).permute(0, 3, 1, 2).double()


def integrated(net, x, target, method):
    return captum.attr.IntegratedGradients(net).attribute(
        x, torch.zeros_like(x), target, n_steps=STEPS, method=method).sum(1)[0]


def pixel_methods(net, x, target):
    """Name of the method, options of it, and its map."""
    saliency = captum.attr.Saliency(net).attribute(x, target, abs=True)
    product = captum.attr.InputXGradient(net).attribute(x, target)
    yield "input_gradient", {}, saliency.amax(1)[0]
    yield "input_gradient", {"reduce": "abs_sum"}, saliency.sum(1)[0]
    yield "gradient_x_input", {}, product.sum(1)[0]
    for rule, method in RULES.items():
        yield ("integrated_gradients", {"rule": rule, "steps": STEPS},
               integrated(net, x, target, method))
    window = (x.shape[1], 32, 32)
    yield "occlusion", {"window": 32, "stride": 16}, captum.attr.Occlusion(net).attribute(
        x, window, (x.shape[1], 16, 16), baselines=0, target=target)[0, 0]


def cam_methods(net, x, target):
    """Captum's libraries scale maps to [0, 1]; so does the comparison."""
    tokens = hasattr(net, "blocks")
    layer = net.blocks[-1].norm1 if tokens else net.layer4[-1]

    def on_grid(t):
        side = int((t.shape[1] - net.num_prefix_tokens) ** 0.5)
        return t[:, net.num_prefix_tokens:].transpose(1, 2).reshape(len(t), -1, side, side)

    for name, kind in CAMS.items():
        with kind(net, [layer], on_grid if tokens else None) as cam:
            cam.get_target_width_height = lambda _: None  # no enlargement
            yield name, {}, torch.from_numpy(cam(x, [ClassifierOutputTarget(target)])[0])


def recorded(net, x, target):
    """Maps (heads, n, n) of all blocks, their gradients, and values (heads, n, width)."""
    maps, values, hooks = [], [], []

    def keep_map(_, given, out):
        out.retain_grad()
        maps.append(out)

    def keep_values(module, given, out):
        b, n, width = out.shape
        heads = net.blocks[0].attn.num_heads
        values.append(out.detach().reshape(b, n, 3, heads, width // 3 // heads)[0, :, 2]
                      .transpose(0, 1))

    for block in net.blocks:
        block.attn.fused_attn = False
        hooks += [block.attn.attn_drop.register_forward_hook(keep_map),
                  block.attn.qkv.register_forward_hook(keep_values)]
    net(x.clone().requires_grad_())[0, target].backward()
    for hook in hooks:
        hook.remove()
    return [m.detach()[0] for m in maps], [m.grad[0] for m in maps], values


def attention_methods(net, x, target):
    """By the formulas of the papers, as in Chefer's and Kobayashi's public code."""
    maps, gradients, values = recorded(net, x, target)
    prefix, eye = net.num_prefix_tokens, torch.eye(maps[0].shape[-1], dtype=torch.float64)
    weighted = [(a * g).clamp(min=0).mean(0) for a, g in zip(maps, gradients)]

    def product(layers):
        whole = eye
        for layer in layers:
            whole = layer / layer.sum(-1, keepdim=True) @ whole
        return whole

    relevance = eye
    for layer in weighted:
        relevance = relevance + layer @ relevance
    by_head = gradients[-1][:, 0, prefix:].mean(-1, keepdim=True)
    proj = net.blocks[-1].attn.proj.weight.detach()
    heads, _, width = values[-1].shape
    moved = torch.einsum("hnk,dhk->hnd", values[-1], proj.reshape(len(proj), heads, width))
    sums = torch.einsum("hij,hjd->ijd", maps[-1], moved)  # what token j adds to token i
    out = sums.sum(1)
    rows = {
        "raw_attention": maps[-1].mean(0)[0],
        "rollout": product([m.mean(0) + eye for m in maps])[0],
        "attention_gradient": weighted[-1][0],
        "gradient_rollout": product([layer + eye for layer in weighted])[0],
        "generic_attention": relevance[0],
        "value_norm": sums[0].norm(dim=-1),
        "contribution": sums[0] @ out[0] / (out[0] @ out[0]),
    }
    for name, row in rows.items():
        yield name, {}, row[prefix:]
    yield ("attention_gradcam", {},
           (by_head * maps[-1][:, 0, prefix:]).mean(0).clamp(min=0))


def explain(fovea, experiment, weights, arguments, methods, folder):
    """Runs the program with options {method: {key: value}}."""
    given = [f"--option={name}.{key}={value}"
             for name, options in methods.items() for key, value in options.items()]
    timm_vits.run(fovea, "explain", experiment, "--weights", weights, "--method", ",".join(methods),
                  *given, *arguments, "--quiet", "--out", folder)


def compare_methods(net, x, target, program, file, report):
    found = [*pixel_methods(net, x, target), *cam_methods(net, x, target)]
    if hasattr(net, "blocks"):
        found += attention_methods(net, x, target)
    while found:  # the program takes a method once
        now = {name: (options, expected) for name, options, expected in reversed(found)}
        folder = program[-1] / f"maps-{len(found)}"
        explain(*program[:3], ("--input", file), {name: now[name][0] for name in now}, folder)
        maps = load_file(folder / "maps.safetensors")
        for name, (options, expected) in now.items():
            got = next(value for key, value in maps.items() if f"/{name}/" in key)
            if name in CAMS:
                got = (got - got.min()) / (1e-7 + (got - got.min()).max())
            words = " ".join([name, *(f"{key}={value}" for key, value in options.items())])
            report(words, got.flatten(), expected.detach().flatten())
            found = [one for one in found if (one[0], one[1]) != (name, options)]


class Removal:
    """Scores that remove units of one image, by formulas and the libraries."""

    def __init__(self, net, x, target, relevance):
        self.net, self.x, self.target = net.float(), x[0].float().numpy(), target
        self.side = x.shape[-1] // UNIT
        self.relevance = relevance
        self.order = numpy.argsort(-relevance, kind="stable")
        self.clean = float(self.probability([self.x])[0][0])

    def probability(self, images):
        dtype = next(self.net.parameters()).dtype
        with torch.no_grad():
            logits = torch.cat([self.net(part.to(dtype))
                                for part in torch.from_numpy(numpy.stack(images)).split(16)])
        return logits.softmax(-1)[:, self.target].numpy(), logits.argmax(-1).numpy()

    def mask(self, units):
        grid = numpy.zeros(self.side * self.side, dtype=bool)
        grid[units] = True
        return grid.reshape(self.side, self.side).repeat(UNIT, 0).repeat(UNIT, 1)

    def changed(self, start, other, units):
        return numpy.where(self.mask(units), other, start)

    def curve(self, start, other):
        n = len(self.order)
        return self.probability([self.changed(start, other, self.order[:t])
                                 for t in range(n + 1)])[0]

    def insertion(self):
        blurred = numpy.stack([gaussian_filter(c, self.x.shape[-1] / 22.4, mode="reflect")
                               for c in self.x])
        curve = self.curve(blurred, self.x)
        return numpy.trapezoid(curve, dx=1 / len(self.order))

    def positive_perturbation(self):
        n = len(self.order)
        hits = self.probability([self.changed(self.x, 0, self.order[:q * n // 10])
                                 for q in range(10)])[1] == self.target
        return numpy.trapezoid(hits.astype(float), dx=0.1) / 0.9

    def saco(self, groups=10):
        parts = [self.order[i * len(self.order) // groups:(i + 1) * len(self.order) // groups]
                 for i in range(groups)]
        mean = self.x.mean((1, 2), keepdims=True)
        clean, *rest = self.probability([self.x] + [self.changed(self.x, mean, p) for p in parts])[0]
        above = below = 0
        for i in range(groups):
            for j in range(i + 1, groups):
                w = self.relevance[parts[i]].sum() - self.relevance[parts[j]].sum()
                above += w if clean - rest[i] >= clean - rest[j] else -w
                below += abs(w)
        return above / below

    def road(self):
        """Averages of pytorch-grad-cam's imputation, without noise."""
        self.net.double()  # the difference of two means may be small
        means = []
        for order in (self.order, self.order[::-1]):
            kept = [~self.mask(order[:int(q * len(order) / 10 + 1e-9)]) for q in range(1, 10)]
            images = [NoisyLinearImputer(noise=0)(
                torch.from_numpy(self.x).float(), torch.from_numpy(k).float()).numpy()
                for k in kept]
            means.append(self.probability(images)[0].mean())
        self.net.float()
        return (means[1] - means[0]) / 2

    def with_quantus(self, metric, attribution, x=None, **options):
        x = self.x if x is None else x
        return metric(normalise=False, abs=False, disable_warnings=True, **options)(
            self.net, x[None].astype(numpy.float32), numpy.array([self.target]),
            attribution[None], device="cpu", softmax=True)[0]

    def quantus(self):
        """deletion as RegionPerturbation's drops and PixelFlipping's curve; measures of maps."""
        n = len(self.order)
        start = self.probability([self.x])[0][0]
        per_pixel = self.relevance.reshape(self.side, self.side).repeat(UNIT, 0).repeat(UNIT, 1)
        drops = self.with_quantus(quantus.RegionPerturbation, per_pixel[None], patch_size=UNIT,
                                  regions_evaluation=n, perturb_baseline=0.0)
        # A rank for every unit, so that all its features go before those of the next. (A step must
        # divide the pixels of one channel.)
        ranks = numpy.empty(n)
        ranks[self.order] = numpy.arange(n, 0, -1)
        features = numpy.broadcast_to(
            ranks.reshape(self.side, self.side).repeat(UNIT, 0).repeat(UNIT, 1), self.x.shape)
        channels = len(self.x)
        flipped = self.with_quantus(quantus.PixelFlipping, features.copy(),
                                    features_in_step=UNIT * UNIT,
                                    perturb_baseline=0.0)[channels - 1::channels]
        yield "deletion", "RegionPerturbation", numpy.trapezoid(
            [start, *(start - numpy.array(drops))], dx=1 / n)
        yield "deletion", "PixelFlipping", numpy.trapezoid([start, *flipped], dx=1 / n)
        # (These ask no network: units in place of pixels.)
        units = self.relevance.reshape(1, self.side, self.side)
        units = units / numpy.abs(units).mean()  # Quantus adds 1e-7
        yield "entropy", "Complexity", self.with_quantus(
            quantus.Complexity, numpy.abs(units), units)
        yield "gini", "Sparseness", self.with_quantus(quantus.Sparseness, numpy.abs(units), units)


def compare_scores(net, x, targets, program, report):
    scores = ["deletion", "insertion", "positive_perturbation", "saco", "road", "entropy", "gini"]
    folder = program[-1] / "scores"
    explain(*program[:3], ("--score", ",".join(scores), "--split", "val", "--option",
                           "deletion.step=1", "--option", "insertion.step=1", "--option",
                           "road.noise_scale=0", "--random-seeds", 1),
            {"gradient_x_input": {}}, folder)
    with open(folder / "scores.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "gradient_x_input"]
    pairs = {}
    for i, row in enumerate(rows[:SCORED]):
        product = captum.attr.InputXGradient(net).attribute(x[i:i + 1], targets[i])
        units = torch.nn.functional.avg_pool2d(product.sum(1, keepdim=True), UNIT) * UNIT * UNIT
        removal = Removal(copy.deepcopy(net), x[i:i + 1], targets[i],
                          units.detach().flatten().numpy())
        for name in ("insertion", "positive_perturbation", "saco", "road"):
            pairs.setdefault(name, []).append((float(row[name]), getattr(removal, name)()))
        for name, library, value in removal.quantus():
            pairs.setdefault(f"{name} ({library})", []).append((float(row[name]), value))
    for name, both in pairs.items():
        # (ROAD is a difference of two means of probabilities, and may be small beside them.)
        report(name, *(torch.tensor(values) for values in zip(*both)),
               removal.clean if name == "road" else None)


def compare(name, fovea, folder):
    folder = folder / name
    net, data, experiment, weights, files = exported(name, folder)
    x = images_of(files, data)
    with torch.no_grad():
        targets = net(x).argmax(-1).tolist()
    failed = 0

    def report(what, got, expected, largest=None):
        nonlocal failed
        largest = largest or expected.abs().max().item()
        error = (got.double() - expected).abs().max().item() / largest
        failed += not error <= LARGEST
        print(f"{'ok  ' if error <= LARGEST else 'FAIL'} {name} {what}: {error:.1e} of {largest:.3g}",
              flush=True)

    program = (fovea, experiment, weights, folder)
    compare_methods(net, x[:1], targets[0], program, files[0], report)
    compare_scores(net, x, targets, program, report)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", metavar="MODEL", nargs="+")
    parser.add_argument("--fovea", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    args = parser.parse_args()
    sys.exit(1 if sum(compare(m, args.fovea, args.folder) for m in args.models) else 0)


if __name__ == "__main__":
    main()
