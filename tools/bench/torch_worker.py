"""One network in PyTorch, in a process of its own so that its memory is measured alone.

Started by compare_torch.py: torch_worker.py CASE MODE PRECISION DEVICE THREADS FOLDER. It writes
FOLDER/weights.safetensors and FOLDER/inputs.safetensors, runs the first steps and says on stdout, as
one line of JSON, what the first loss was; then for every line "STEPS WARM_UP" on stdin one line with
the milliseconds of the steps, what a step took of the processor, and the memory so far.
"""

import contextlib
import json
import math
import os
import sys
import time

STARTED = time.perf_counter()

import torch
import torch.nn.functional as F

from cases import VOCABULARY, all_cases
from memory import peak_resident_bytes, reset_peak_resident, resident_bytes
import torch_conformer
import torch_dit
import torch_gdla
import torch_language
import torch_mala
import torch_models
import torch_volumes

BUILDERS = {**torch_models.BUILDERS, **torch_gdla.BUILDERS, **torch_mala.BUILDERS,
            **torch_volumes.BUILDERS, **torch_language.BUILDERS, **torch_conformer.BUILDERS,
            **torch_dit.BUILDERS}
LOSSES = {  # of the network's output and the inputs
    "cross_entropy": lambda logits, inputs: F.cross_entropy(logits, inputs["y"]),
    "boundary_dou": lambda maps, inputs: torch_gdla.boundary_dou(maps, inputs["y"]),
    "nnunet": lambda maps, inputs: torch_volumes.nnunet(maps, inputs["y"]),
    "next_token": lambda logits, inputs: F.cross_entropy(logits.flatten(0, 1),
                                                         inputs["y"].flatten()),
    "ctc": lambda logits, inputs: torch_conformer.ctc(logits, inputs["y"]),
    "diffusion": torch_dit.diffusion,
    "own": lambda loss, _: loss}
# What Fovea's batches call the inputs, where x and y do not say it all.
NAMES = {"next_token": {"x": "tokens", "y": "next"}, "ctc": {"x": "features", "y": "symbols"},
         "diffusion": {"x": "image"}}
OPTIMISERS = {
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=3e-4, weight_decay=0.01,
                                                  fused=True),
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=1e-5, momentum=0.9, weight_decay=1e-4,
                                              fused=True)}
FIRST_STEPS = 3
SAFETENSORS_TYPES = {torch.float32: "F32", torch.int64: "I64"}


def write_safetensors(path, tensors):
    """An 8-byte header length, a JSON header padded with spaces, then row-major data."""
    header, offset = {}, 0
    for name, tensor in tensors.items():
        end = offset + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": SAFETENSORS_TYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(tensor.detach().cpu().contiguous().numpy().tobytes())


def make_model(case):
    torch.manual_seed(1)
    model = BUILDERS[case.model]()
    # A fresh network says the same of everything; larger logits show what lies before the head.
    head = getattr(model, "head", None) or getattr(model, "fc", None)
    if head is not None:
        torch.nn.init.normal_(head.weight, std=0.1)
    return model


def make_texts(case, generator):
    """Word ids (batch, longest), padded on the right with 0.

    Lengths spread evenly from shortest to longest; the i-th word comes in proportion to 1 / i.
    """
    longest, = case.sample
    drawn = torch.rand(case.batch, longest, generator=generator)
    words = torch.exp(math.log(VOCABULARY) * drawn).long().clamp_(max=VOCABULARY - 1)
    lengths = torch.linspace(case.shortest, longest, case.batch).round()
    return words * (torch.arange(longest) < lengths[:, None])


def make_label_maps(case, generator):
    """A class for every pixel or voxel, in squares or cubes of side 16."""
    _, *sides = case.sample
    maps = torch.randint(case.classes, (case.batch, *(side // 16 for side in sides)),
                         generator=generator)
    for axis in range(1, maps.dim()):
        maps = maps.repeat_interleave(16, axis)
    return maps


def make_recordings(case, generator):
    """Features whose frames all count, with a symbol for every ten."""
    frames, _ = case.sample
    symbols = torch.randint(1, case.classes, (case.batch, frames // 10), generator=generator)
    return {"x": torch.randn(case.batch, *case.sample, generator=generator), "y": symbols,
            "num_frames": torch.full((case.batch,), frames)}


def make_noised(case, generator):
    shape = case.batch, *case.sample
    inputs = {"clean": torch.rand(shape, generator=generator) * 2 - 1,
              "noise": torch.randn(shape, generator=generator),
              "timestep": torch.randint(torch_dit.STEPS, (case.batch,), generator=generator),
              "label": torch.randint(case.classes, (case.batch,), generator=generator)}
    inputs["timestep"][0] = 0
    inputs["x"] = torch_dit.noised(inputs["clean"], inputs["timestep"], inputs["noise"])
    return inputs


def make_inputs(case):
    generator = torch.Generator().manual_seed(2)
    if case.loss == "next_token":
        return {name: torch.randint(case.classes, (case.batch, *case.sample), generator=generator)
                for name in ("x", "y")}
    if case.loss == "ctc":
        return make_recordings(case, generator)
    if case.loss == "diffusion":
        return make_noised(case, generator)
    inputs = {"x": make_texts(case, generator) if case.shortest
              else torch.randn(case.batch, *case.sample, generator=generator)}
    if case.loss == "own":
        return inputs
    if case.label_maps:
        inputs["y"] = make_label_maps(case, generator)
    elif case.classes:
        inputs["y"] = torch.randint(case.classes, (case.batch,), generator=generator)
    else:
        inputs["upstream"] = torch.randn(case.batch, *case.sample, generator=generator)
    return inputs


def autocast(device, precision):
    if precision in ("float32", "tf32"):
        return contextlib.nullcontext()
    return torch.autocast(device, dtype=getattr(torch, precision))


def train_step(case, model, inputs, mode, precision):
    loss_of = LOSSES[case.loss]
    if mode == "compile" and case.loss != "cross_entropy":
        loss_of = torch.compile(loss_of)
    optimiser = OPTIMISERS[case.optimiser]([p for p in model.parameters() if p.requires_grad])

    def step(forward):
        optimiser.zero_grad(set_to_none=True)
        with autocast(inputs["x"].device.type, precision):
            loss = loss_of(forward(*(inputs[name] for name in case.reads)), inputs)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return step, lambda loss: loss


def infer_step(case, model, inputs, mode, precision):
    # Faster than autocast, which would convert the weights in every step.
    model.eval().to(getattr(torch, precision))
    x = inputs["x"].to(getattr(torch, precision))

    def step(forward):
        with torch.inference_mode():
            return forward(x)

    return step, lambda logits: F.cross_entropy(logits.float(), inputs["y"])


def part_step(case, model, inputs, mode, precision):
    x, upstream = inputs["x"].requires_grad_(), inputs["upstream"]

    def step(forward):
        x.grad = None
        model.zero_grad(set_to_none=True)
        with autocast(x.device.type, precision):
            output = forward(x)
        output.backward(upstream.to(output.dtype))
        return output.detach()

    return step, lambda output: (output.double() * upstream.double()).mean()


STEPS = {"train": train_step, "infer": infer_step, "attention": part_step, "ffn": part_step}


def make_step(case, model, inputs, mode, precision):
    """A function that makes one step, and one that gives the loss from its result."""
    if case.channels_last:
        layout = torch.channels_last if len(case.sample) == 3 else torch.channels_last_3d
        model.to(memory_format=layout)
        inputs["x"] = inputs["x"].contiguous(memory_format=layout)
    step, loss = STEPS[case.kind](case, model, inputs, mode, precision)
    forward = torch.compile(model) if mode == "compile" else model
    return lambda: step(forward), loss


class HostMemory:
    """Time and memory where the host computes: of the process."""

    def __init__(self):
        self.start = resident_bytes()

    def wait(self):
        pass

    def reset_peak(self):
        reset_peak_resident()

    def peak_bytes(self):
        return peak_resident_bytes() - self.start


class DeviceMemory:
    """The same on a graphics processor: what tensors hold."""

    def wait(self):
        torch.cuda.synchronize()

    def reset_peak(self):
        torch.cuda.reset_peak_memory_stats()

    def peak_bytes(self):
        return torch.cuda.max_memory_allocated()


def timed(step, steps, memory):
    times = []
    for _ in range(steps):
        memory.wait()
        start = time.perf_counter()
        step()
        memory.wait()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def cpu_ms():
    """Of the processor, by all threads of this process and by the kernel for them."""
    return 1e3 * time.process_time()


def main():
    name, mode, precision, device, threads, folder = sys.argv[1:]
    # Anything that a library prints must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    torch.set_num_threads(int(threads))
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    case = next(case for case in all_cases() if case.name == name)

    if case.loss == "own":  # needs torchvision, which the others do not
        import torch_detection
        BUILDERS.update(torch_detection.BUILDERS)
    memory = HostMemory() if device == "cpu" else DeviceMemory()
    model, inputs = make_model(case), make_inputs(case)
    if "upstream" in inputs:
        # What is drawn alone would make the loss a small difference of large numbers.
        with torch.no_grad():
            output = model(inputs["x"])
            inputs["upstream"] += output / output.std()
    write_safetensors(os.path.join(folder, "weights.safetensors"), model.state_dict())
    names = NAMES.get(case.loss, {})
    write_safetensors(os.path.join(folder, "inputs.safetensors"),
                      {names.get(name, name): tensor for name, tensor in inputs.items()})
    model.to(device)
    inputs = {key: tensor.to(device) for key, tensor in inputs.items()}
    step, loss = make_step(case, model, inputs, mode, precision)
    first_loss = float(loss(step()))
    start_up_s = time.perf_counter() - STARTED
    timed(step, FIRST_STEPS - 1, memory)
    memory.reset_peak()  # what only compiling needed does not count
    answers.write(json.dumps({"loss": first_loss, "version": torch.__version__,
                              "start_up_s": start_up_s}) + "\n")
    for line in sys.stdin:
        steps, warm_up = map(int, line.split())
        timed(step, warm_up, memory)
        before = cpu_ms()
        times = timed(step, steps, memory)
        answers.write(json.dumps({"ms": times, "cpu_ms": (cpu_ms() - before) / steps,
                                  "bytes": memory.peak_bytes()}) + "\n")


if __name__ == "__main__":
    main()
