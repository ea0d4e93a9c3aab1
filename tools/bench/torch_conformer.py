"""A small Conformer with CTC in PyTorch, as a good user would write it for speed.

Convolutions of kernel 1 are linear layers of tokens; only the depthwise one and its norm see
channels first. Softmax attention has Transformer-XL's positions, whose scores keep PyTorch from its
flash attention. State-dict names are Fovea's (torch_models.py). mala is the paper's key.
"""

import torch
import torch.nn.functional as F
from torch import nn

from torch_gdla import linear_attention
from torch_mala import magnitude_attention
from torch_models import sinusoidal_positions

MELS, DIM, HEADS, LAYERS, KERNEL, SYMBOLS = 40, 96, 4, 2, 7, 11
NORM_EPS = 1e-12
MOST = 250  # tokens of a recording


def quarter(frames):
    return ((frames - 3) // 2 - 2) // 2 + 1


def by_distance(scores):
    """(b, heads, n, 2 n - 1), of distances n - 1 to 1 - n -> (b, heads, n, n), of keys."""
    b, heads, n, distances = scores.shape
    rows = F.pad(scores, (1, 0)).view(b, heads, distances + 1, n)
    return rows[:, :, 1:].reshape(b, heads, n, distances)[..., :n]


def distances(n):
    """Sinusoids of n - 1 to 1 - n: (2 n - 1, dim)."""
    ahead = sinusoidal_positions(n, DIM)
    signs = torch.tensor([-1.0, 1.0]).repeat(DIM // 2)
    return torch.cat([ahead.flip(0), (ahead * signs)[1:]])


class Attention(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        for name in ("linear_q", "linear_k", "linear_v", "linear_out"):
            setattr(self, name, nn.Linear(DIM, DIM))
        if kind != "softmax":
            return
        self.linear_pos = nn.Linear(DIM, DIM, bias=False)
        self.pos_bias_u = nn.Parameter(0.1 * torch.randn(HEADS, DIM // HEADS))
        self.pos_bias_v = nn.Parameter(0.1 * torch.randn(HEADS, DIM // HEADS))
        self.register_buffer("distances", distances(MOST), persistent=False)

    def relative(self, q, k, v):
        """mala 4.6; all (b, n, heads, d), the same out."""
        n = q.shape[1]
        near = self.distances[MOST - n:MOST + n - 1]
        positions = self.linear_pos(near).unflatten(1, (HEADS, -1)).permute(1, 2, 0)
        content = (q + self.pos_bias_u).transpose(1, 2) @ k.permute(0, 2, 3, 1)
        placed = (q + self.pos_bias_v).transpose(1, 2) @ positions
        scores = (content + by_distance(placed)) * (DIM // HEADS)**-0.5
        return (torch.softmax(scores, -1) @ v.transpose(1, 2)).transpose(1, 2)

    def forward(self, x):
        q, k, v = (layer(x).unflatten(2, (HEADS, -1))
                   for layer in (self.linear_q, self.linear_k, self.linear_v))
        attend = {"softmax": self.relative, "linear": linear_attention, "mala": magnitude_attention}
        return self.linear_out(attend[self.kind](q, k, v).flatten(2))


class Ffn(nn.Module):
    def __init__(self):
        super().__init__()
        self.w_1 = nn.Linear(DIM, 4 * DIM)
        self.w_2 = nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        return self.w_2(F.silu(self.w_1(x)))


class ConvModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.pointwise_conv1 = nn.Conv1d(DIM, 2 * DIM, 1)
        self.depthwise_conv = nn.Conv1d(DIM, DIM, KERNEL, padding=KERNEL // 2, groups=DIM)
        self.norm = nn.BatchNorm1d(DIM)
        self.pointwise_conv2 = nn.Conv1d(DIM, DIM, 1)

    def forward(self, x):
        first, last = self.pointwise_conv1, self.pointwise_conv2
        x = F.glu(F.linear(x, first.weight[:, :, 0], first.bias))
        x = F.silu(self.norm(self.depthwise_conv(x.transpose(1, 2)))).transpose(1, 2)
        return F.linear(x, last.weight[:, :, 0], last.bias)


class Block(nn.Module):
    def __init__(self, kind):
        super().__init__()
        for name in ("norm_ff_macaron", "norm_mha", "norm_conv", "norm_ff", "norm_final"):
            setattr(self, name, nn.LayerNorm(DIM, eps=NORM_EPS))
        self.feed_forward_macaron, self.feed_forward = Ffn(), Ffn()
        self.self_attn = Attention(kind)
        self.conv_module = ConvModule()

    def forward(self, x):
        x = torch.add(x, self.feed_forward_macaron(self.norm_ff_macaron(x)), alpha=0.5)
        x = x + self.self_attn(self.norm_mha(x))
        x = x + self.conv_module(self.norm_conv(x))
        x = torch.add(x, self.feed_forward(self.norm_ff(x)), alpha=0.5)
        return self.norm_final(x)


class Conformer(nn.Module):
    """Features (b, frames, mels) -> logits of symbols (b, frames / 4, symbols)."""

    def __init__(self, kind):
        super().__init__()
        self.encoder = encoder = nn.Module()
        encoder.embed = nn.Module()
        encoder.embed.conv = nn.Sequential(nn.Conv2d(1, DIM, 3, 2), nn.ReLU(inplace=True),
                                           nn.Conv2d(DIM, DIM, 3, 2), nn.ReLU(inplace=True))
        encoder.embed.out = nn.Sequential(nn.Linear(DIM * quarter(MELS), DIM))
        encoder.encoders = nn.ModuleList(Block(kind) for _ in range(LAYERS))
        encoder.after_norm = nn.LayerNorm(DIM, eps=NORM_EPS)
        self.ctc = nn.Module()
        self.ctc.ctc_lo = nn.Linear(DIM, SYMBOLS)
        self.absolute = kind != "softmax"
        self.register_buffer("positions", sinusoidal_positions(MOST, DIM), persistent=False)

    def forward(self, features):
        encoder = self.encoder
        maps = encoder.embed.conv(features.unsqueeze(1))
        x = encoder.embed.out(maps.transpose(1, 2).flatten(2)) * DIM**0.5
        if self.absolute:
            x = x + self.positions[:x.shape[1]]
        for block in encoder.encoders:
            x = block(x)
        return self.ctc.ctc_lo(encoder.after_norm(x))


def ctc(logits, symbols):
    """The sum over recordings whose frames all count, over their number."""
    b, frames, _ = logits.shape
    rows = torch.log_softmax(logits.float(), -1).transpose(0, 1)
    return F.ctc_loss(rows, symbols, torch.full((b,), frames),
                      torch.full((b,), symbols.shape[1]), reduction="sum", zero_infinity=True) / b


BUILDERS = {f"conformer_{kind}": lambda kind=kind: Conformer(kind)
            for kind in ("softmax", "linear", "mala")}
