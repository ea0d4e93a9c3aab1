"""What is compared: for each case the experiment file of Fovea and the network of torch_models."""

import fnmatch
from dataclasses import dataclass

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
                  "resnet56": "ResNet-56", "resnet56_kcla": "ResNet-56 + KCLA", "mix_ffn": "Mix-FFN"}
        return labels[self.model]

    @property
    def size(self):
        if not self.classes:
            return f"{self.batch} x {self.sample[0]} tokens"
        words = f", {self.shortest} - {self.sample[0]} words" if self.shortest else ""
        return f"batch {self.batch}{words}"


def text_case(model, shortest, longest):
    name = f"{model}_{longest}"
    return Case(name, model, f"text_{model}.json", "train", (longest,), 32, 2,
                overrides=(f"model.max_len={longest}",), shortest=shortest)


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
    return cases


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
