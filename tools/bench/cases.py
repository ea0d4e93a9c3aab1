"""What is compared: for each case the experiment file of Fovea and the network of torch_models."""

import fnmatch
from dataclasses import dataclass

ATTENTIONS = {"softmax": "softmax", "linear": "linear", "mala": "MALA"}
VOCABULARY = 7613  # words of experiments/bench/text.json, the padding word 0 included


@dataclass(frozen=True)
class Case:
    name: str
    model: str  # key of torch_models.BUILDERS
    experiment: str  # file below experiments/bench
    kind: str  # "train", "infer", "attention", "ffn": the last two are a part, forward and backward
    sample: tuple  # shape of one input without the batch axis
    batch: int
    classes: int = 0  # 0 for a part
    overrides: tuple = ()  # for the experiment, key=value
    channels_last: bool = False  # in PyTorch, where it is faster
    shortest: int = 0  # of texts: words of the shortest one; sample is the longest's
    loss: str = "cross_entropy"  # of a training step: key of torch_worker.LOSSES
    optimiser: str = "adamw"  # key of torch_worker.OPTIMISERS
    tolerance: float = 0  # of the loss, relative, where each side draws samples of its own
    reads: tuple = ("x",)  # inputs that PyTorch's network takes

    @property
    def label_maps(self):
        return self.loss in ("boundary_dou", "nnunet")

    @property
    def title(self):
        what = {"train": "training step", "infer": "inference"}.get(
            self.kind, "forward + backward")
        return f"{self.label}, {what}, {self.size}"

    @property
    def label(self):
        labels = {"vit": "ViT", "diff_vit": "DIFF-ViT", "dgvit": "DGViT", "vit_s16": "ViT-S/16",
                  "transformer": "Transformer", "diff_transformer": "DIFF Transformer",
                  "dgt": "DGT", "m_dgsa": "M-DGSA", "resnet20": "ResNet-20",
                  "resnet56": "ResNet-56", "resnet56_kcla": "ResNet-56 + KCLA", "mix_ffn": "Mix-FFN",
                  "gdla": "GDLA without local mixing", "gdla_mixer": "GDLA",
                  "linear_attention": "Linear attention",
                  "softmax_attention": "Softmax attention", "pvt_gdla": "PVT-GDLA-B2",
                  "mala": "MALA", "mala_linear": "Linear attention, heads of 64 channels",
                  "mala_softmax": "Softmax attention, heads of 64 channels",
                  "mavit_t": "MAViT-T", "swin_t": "Swin-T", "dformer": "D-Former",
                  "unet3d": "3D U-Net", "mask_rcnn": "Mask R-CNN, ResNet-50",
                  "mask_rcnn_frozen": "Mask R-CNN, ResNet-50, first stages and batch norms frozen",
                  **{f"causal_{kind}": f"Causal {name} attention"
                     for kind, name in ATTENTIONS.items()},
                  **{f"{model}_{kind}": f"{title}, {name} attention"
                     for model, title in (("language", "Language model"), ("dit", "DiT"),
                                          ("conformer", "Conformer"))
                     for kind, name in ATTENTIONS.items()}}
        return labels[self.model]

    @property
    def size(self):
        if not self.classes:
            return f"{self.batch} x {self.sample[0]} tokens"
        words = f", {self.shortest} - {self.sample[0]} words" if self.shortest else ""
        if self.loss == "ctc":
            words = f", {self.sample[0]} frames"
        return f"batch {self.batch}{words}"


def step_words(case, precision, device="cpu"):
    """What `fovea bench` is told of a case, behind the experiment file."""
    words = ["--infer"] if case.kind == "infer" else []
    if not case.classes:
        words += [f"--{case.kind}-only", "--tokens", str(case.sample[0])]
    overrides = [*case.overrides, f"train.device={device}"]
    if precision == "tf32":
        overrides.append("train.allow_tf32=true")
    elif precision != "float32":
        overrides.append(f"train.precision={precision}")
    for override in overrides:
        words += ["--set", override]
    return words


def text_case(model, shortest, longest):
    name = f"{model}_{longest}"
    return Case(name, model, f"text_{model}.json", "train", (longest,), 32, 2,
                overrides=(f"model.max_len={longest}",), shortest=shortest)


# Width 128, heads of 32 channels: a block of PVT-GDLA's decoder.
def token_case(model, attention, tokens, *options, dim=128, heads=4):
    overrides = (f"embed_dim={dim}", f"attention.type={attention}", f"attention.num_heads={heads}",
                 *options)
    return Case(f"{model}_{tokens}", model, "images32.json", "attention", (tokens, dim), 1,
                overrides=tuple(f"model.{option}" for option in overrides))


def gdla_cases():
    gdla = "gated_differential_linear"
    cases = [token_case("gdla", gdla, tokens, "attention.local=false")
             for tokens in (4096, 16384, 65536)]
    cases.append(token_case("gdla_mixer", gdla, 16384))
    for tokens in (4096, 16384, 65536):
        cases.append(token_case("linear_attention", "linear", tokens))
    for tokens in (4096, 16384):
        cases.append(token_case("softmax_attention", "softmax", tokens))
    cases.append(Case("pvt_gdla", "pvt_gdla", "pvt_gdla.json", "train", (1, 224, 224), 4, 9,
                      channels_last=True, loss="boundary_dou"))
    return cases


# Width 192, heads of 64 channels: a block of DeiT-T with MALA, and heads as MAViT has them.
def mala_cases():
    sizes = {"dim": 192, "heads": 3}
    cases = [token_case("mala", "mala", tokens, **sizes) for tokens in (1024, 4096, 16384, 65536)]
    cases.append(token_case("mala_linear", "linear", 16384, **sizes))
    cases.append(token_case("mala_softmax", "softmax", 16384, **sizes))
    image = (3, 224, 224)
    cases.append(Case("mavit_t", "mavit_t", "mavit_t.json", "train", image, 8, 1000,
                      channels_last=True))
    cases.append(Case("swin_t", "swin_t", "swin_t.json", "train", image, 8, 1000))
    return cases


def volume_cases():
    return [Case(model, model, f"{model}.json", "train", (1, 64, 128, 128), 1, 14, loss="nnunet")
            for model in ("dformer", "unet3d")]


def detection_cases():
    frozen = ("model.frozen_stages=1", "model.norm_eval=true")
    return [Case(model, model, "mask_rcnn.json", "train", (3, 512, 512), 2, 80, loss="own",
                 optimiser="sgd", tolerance=0.05, overrides=overrides)
            for model, overrides in (("mask_rcnn", ()), ("mask_rcnn_frozen", frozen))]


# Width 256, heads of 64 channels: a causal attention, and the language model of bytes with six.
def language_cases():
    cases = []
    for kind in ATTENTIONS:
        chosen = (f"model.attention.type={kind}",)
        for tokens in (1024, 4096, 16384):
            cases.append(Case(f"causal_{kind}_{tokens}", f"causal_{kind}", "language.json",
                              "attention", (tokens, 256), 1, overrides=chosen))
        cases.append(Case(f"language_{kind}", f"language_{kind}", "language.json", "train", (256,),
                          16, 256, overrides=chosen, loss="next_token"))
    return cases


# Half a second as fsdd has it, and ten seconds.
def speech_cases():
    return [Case(f"conformer_{kind}_{frames}", f"conformer_{kind}", "conformer.json",
                 "train", (frames, 40), 16, 11, overrides=(f"model.attention.type={kind}",),
                 loss="ctc")
            for kind in ATTENTIONS for frames in (64, 1000)]


def generation_cases():
    return [Case(f"dit_{kind}", f"dit_{kind}", "dit.json", "train", (1, 28, 28), 128, 10,
                 overrides=(f"model.attention.type={kind}",), loss="diffusion",
                 reads=("x", "timestep", "label"))
            for kind in ATTENTIONS]


def all_cases():
    image = (3, 32, 32)
    cases = []
    for model in ("vit", "diff_vit", "dgvit"):
        cases.append(Case(model, model, f"{model}.json", "train", image, 64, 10))
    for model in ("vit", "diff_vit", "dgvit"):
        for batch in (1, 64):
            cases.append(Case(f"{model}_infer_{batch}", model, f"{model}.json", "infer", image,
                              batch, 10))
    cases.append(Case("vit_s16", "vit_s16", "vit_s16.json", "train", (3, 224, 224), 8, 1000))
    # Lengths as sorting leaves them in a batch, and as they come.
    for model in ("transformer", "diff_transformer", "dgt"):
        cases.append(text_case(model, 29, 32))
    cases.append(text_case("dgt", 5, 50))
    for tokens in (1024, 4096):
        cases.append(Case(f"dgvit_attention_{tokens}", "m_dgsa", "dgvit.json", "attention",
                          (tokens, 256), 1))
    for model in ("resnet20", "resnet56"):
        cases.append(Case(model, model, f"{model}.json", "train", image, 128, 10,
                          channels_last=True))
    cases.append(Case("resnet56_kcla", "resnet56_kcla", "resnet56_kcla.json", "train", image, 128,
                      10,
                      overrides=("model.layer_attention.drop_path=0",)))
    cases.append(Case("mix_ffn", "mix_ffn", "images32.json", "ffn", (56 * 56, 32), 8,
                      overrides=("model.embed_dim=32", "model.ffn.type=mix_ffn",
                                 "model.ffn.expansion=8")))
    return (cases + gdla_cases() + mala_cases() + volume_cases() + detection_cases()
            + language_cases() + speech_cases() + generation_cases())


def chosen_cases(patterns):
    """The cases that match any of the patterns ("vit", "dgvit*"), or all without patterns."""
    if not patterns:
        return all_cases()
    for pattern in patterns:
        if not any(fnmatch.fnmatch(case.name, pattern) for case in all_cases()):
            known = ", ".join(case.name for case in all_cases())
            raise SystemExit(f"compare_torch: no case called \"{pattern}\"; known: {known}")
    return [case for case in all_cases()
            if any(fnmatch.fnmatch(case.name, pattern) for pattern in patterns)]
