"""A small diffusion transformer in PyTorch, as a good user would write it for speed.

State-dict names are Fovea's (torch_models.py), which are those of the public code. mala is the
paper's key. The noise of a step and the step itself are drawn before: a step begins with the noised
images.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from torch_gdla import LinearAttention
from torch_mala import MalaAttention
from torch_models import SoftmaxAttention

DIM, HEADS, LAYERS, PATCH, SIDE, CLASSES, STEPS = 192, 3, 6, 4, 28, 10, 1000
SINUSOIDS = 256


def grid_positions(side, dim):
    """mala 4.7: sines and cosines of the column, then of the row: (1, side side, dim)."""
    rates = 10000.0 ** -(torch.arange(dim // 4) / (dim // 4))
    angles = torch.arange(side)[:, None] * rates
    rows = torch.cat([angles.sin(), angles.cos()], 1)
    return torch.cat([rows.repeat(side, 1), rows.repeat_interleave(side, 0)], 1).unsqueeze(0)


class TimestepEmbedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(SINUSOIDS, DIM), nn.SiLU(), nn.Linear(DIM, DIM))
        half = SINUSOIDS // 2
        rates = torch.exp(-math.log(10000) * torch.arange(half) / half)
        self.register_buffer("rates", rates, persistent=False)

    def forward(self, t):
        angles = t[:, None].float() * self.rates
        return self.mlp(torch.cat([angles.cos(), angles.sin()], 1))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(DIM, 4 * DIM)
        self.fc2 = nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x), approximate="tanh"))


def modulated(x, shift, scale):
    return torch.addcmul(shift, F.layer_norm(x, (DIM,), eps=1e-6), 1 + scale)


class Block(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.attn = attention(DIM, HEADS)
        self.mlp = Mlp()
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(DIM, 6 * DIM))

    def forward(self, x, c):
        m = self.adaLN_modulation(c).unsqueeze(1).chunk(6, dim=2)
        x = torch.addcmul(x, m[2], self.attn(modulated(x, m[0], m[1])))
        return torch.addcmul(x, m[5], self.mlp(modulated(x, m[3], m[4])))


class FinalLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(DIM, 2 * PATCH**2)
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(DIM, 2 * DIM))

    def forward(self, x, c):
        return self.linear(modulated(x, *self.adaLN_modulation(c).unsqueeze(1).chunk(2, dim=2)))


class DiT(nn.Module):
    """Noised images (b, 1, side, side), steps and labels (b) -> noise and logits of variances,
    (b, 2, side, side)."""

    def __init__(self, attention):
        super().__init__()
        self.x_embedder = nn.Module()
        self.x_embedder.proj = nn.Conv2d(1, DIM, PATCH, PATCH)
        self.t_embedder = TimestepEmbedder()
        self.y_embedder = nn.Module()
        self.y_embedder.embedding_table = nn.Embedding(CLASSES, DIM)
        self.register_buffer("pos_embed", grid_positions(SIDE // PATCH, DIM))
        self.blocks = nn.ModuleList(Block(attention) for _ in range(LAYERS))
        self.final_layer = FinalLayer()

    def forward(self, x, timestep, label):
        grid = SIDE // PATCH
        x = self.x_embedder.proj(x).flatten(2).transpose(1, 2) + self.pos_embed
        c = self.t_embedder(timestep) + self.y_embedder.embedding_table(label)
        for block in self.blocks:
            x = block(x, c)
        x = self.final_layer(x, c).view(-1, grid, grid, PATCH, PATCH, 2)
        return x.permute(0, 5, 1, 3, 2, 4).reshape(-1, 2, SIDE, SIDE)


class Chain:
    """Tables of the linear schedule, for each step. mala 4.7."""

    def __init__(self):
        betas = torch.linspace(1e-4, 0.02, STEPS, dtype=torch.float64)
        kept = (1 - betas).cumprod(0)
        before = torch.cat([torch.ones(1, dtype=torch.float64), kept[:-1]])
        posterior = betas * (1 - before) / (1 - kept)
        self.signal, self.noise = kept.sqrt().float(), (1 - kept).sqrt().float()
        self.inverse, self.share = (1 / kept).sqrt().float(), (1 / kept - 1).sqrt().float()
        self.start = (betas * before.sqrt() / (1 - kept)).float()
        self.now = ((1 - before) * (1 - betas).sqrt() / (1 - kept)).float()
        self.low = torch.cat([posterior[1:2], posterior[1:]]).log().float()
        self.high = betas.log().float()


CHAIN = Chain()


def noised(clean, timestep, noise):
    t = timestep[:, None, None, None]
    return CHAIN.signal[t] * clean + CHAIN.noise[t] * noise


def normal_cdf(x):
    return 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def bin_nll(x, mean, log_variance):
    centred, inverse = x - mean, torch.exp(-0.5 * log_variance)
    upper = normal_cdf(inverse * (centred + 1 / 255))
    lower = normal_cdf(inverse * (centred - 1 / 255))
    inside = torch.where(x > 0.999, 1 - lower, upper - lower)
    return -torch.where(x < -0.999, upper, inside).clamp(min=1e-12).log()


def diffusion(output, inputs):
    """mala 4.7: of the noise the squared error, and of the variance the variational bound."""
    clean, x, timestep, noise = (inputs[name] for name in ("clean", "x", "timestep", "noise"))
    predicted, logits = output.float().chunk(2, 1)
    mse = (predicted - noise).square().mean()
    t = timestep[:, None, None, None]
    start, now, low = CHAIN.start[t], CHAIN.now[t], CHAIN.low[t]
    x_start = CHAIN.inverse[t] * x - CHAIN.share[t] * predicted.detach()
    mean = start * x_start + now * x
    share = (logits + 1) / 2
    log_variance = share * CHAIN.high[t] + (1 - share) * low
    apart = (start * clean + now * x - mean).square()
    kl = 0.5 * (log_variance - low - 1 + torch.exp(low - log_variance)
                + apart * torch.exp(-log_variance))
    nats = torch.where(t == 0, bin_nll(clean, mean, log_variance), kl)
    return mse + nats.mean() / math.log(2)


BUILDERS = {"dit_softmax": lambda: DiT(SoftmaxAttention), "dit_linear": lambda: DiT(LinearAttention),
            "dit_mala": lambda: DiT(MalaAttention)}
