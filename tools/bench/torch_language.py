"""Language models with causal attention in PyTorch, as a good user would write them for speed.

Softmax attention is PyTorch's flash attention, the linear ones are computed in chunks: between
chunks by sums of k^T v, inside one by a matrix with zeros above the diagonal. State-dict names are
Fovea's (torch_models.py). mala is the paper's key.
"""

import torch
import torch.nn.functional as F
from torch import nn

from torch_gdla import DENOMINATOR_EPS, features
from torch_mala import MALA_EPS

DIM, HEADS, LAYERS, HIDDEN, VOCABULARY = 256, 4, 6, 768, 256
# Tokens of a chunk. Forward and backward of causal_products on one core with AVX2, 4 heads of 64
# channels: 16 x 256 tokens 65 ms (128 a chunk: 80, 256: 86), 16,384 tokens 327 ms (334, 479).
CHUNK = 64


class Rotary(nn.Module):
    """mala 3.5, in one dimension; the sines are made once.

    Eager, a product of complex numbers is faster than one that moves the channels of a pair;
    compiled it is the other way round, since complex numbers are not fused.
    """

    def __init__(self, head_dim, most):
        super().__init__()
        rates = 10000.0 ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
        theta = torch.arange(most, dtype=torch.float64)[:, None] * rates
        self.register_buffer("cos", theta.cos().float(), persistent=False)
        self.register_buffer("sin", theta.sin().float(), persistent=False)

    def forward(self, x):
        """(b, heads, n, head_dim)"""
        n = x.shape[2]
        cos, sin = self.cos[:n], self.sin[:n]
        pairs = x.unflatten(-1, (-1, 2))
        if torch.compiler.is_compiling():
            even, odd = pairs.unbind(-1)
            turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], -1)
            return turned.flatten(-2).to(x.dtype)
        turns = torch.complex(cos, sin)
        return torch.view_as_real(torch.view_as_complex(pairs.float()) * turns).flatten(-2).to(
            x.dtype)


def causal_products(q, k, v):
    """q_i times the sum of k_j^T v_j over j up to i, for every i; all (b, heads, n, d)."""
    q, k, v = (x.unflatten(2, (-1, min(CHUNK, x.shape[2]))) for x in (q, k, v))
    inside = (q @ k.transpose(-1, -2)).tril() @ v
    if q.shape[2] == 1:
        return inside.flatten(2, 3)
    sums = k.transpose(-1, -2) @ v
    return (inside + q @ (sums.cumsum(2) - sums)).flatten(2, 3)


def causal_linear(q, k, v, rotate):
    """mala 3.8, item 3, of the keys up to each query; all (b, heads, n, d), the same out."""
    q, k = features(q), features(k)
    z = (q * k.cumsum(2)).sum(-1, keepdim=True)
    return causal_products(q, k, v) / (z + DENOMINATOR_EPS)


def causal_mala(q, k, v, rotate):
    """mala 3.4 with the scaling head_dim_mean."""
    n, d = q.shape[2:]
    keys = torch.arange(1, n + 1, device=q.device, dtype=torch.float32)[:, None]
    scale = d**-0.5 / keys
    q, k = features(q), features(k)
    z = scale * (q * k.cumsum(2)).sum(-1, keepdim=True)
    products = causal_products(rotate(q), rotate(k), v)
    return products * (scale * (1 + 1 / (z + MALA_EPS))) - v.cumsum(2) * (z / keys)


def causal_softmax(q, k, v, rotate):
    return F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True)


class CausalAttention(nn.Module):
    def __init__(self, attend, most=32768):
        super().__init__()
        self.attend = attend
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(DIM, DIM, bias=False))
        self.rotate = Rotary(DIM // HEADS, most)

    def forward(self, x):
        q, k, v = (proj(x).unflatten(2, (HEADS, -1)).transpose(1, 2)
                   for proj in (self.q_proj, self.k_proj, self.v_proj))
        y = self.attend(q, k, v, self.rotate)
        return self.o_proj(y.transpose(1, 2).flatten(2))


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(DIM))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), 1e-6)


class GatedMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(DIM, HIDDEN, bias=False)
        self.up_proj = nn.Linear(DIM, HIDDEN, bias=False)
        self.down_proj = nn.Linear(HIDDEN, DIM, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class DecoderLayer(nn.Module):
    def __init__(self, attend):
        super().__init__()
        self.input_layernorm = RmsNorm()
        self.self_attn = CausalAttention(attend)
        self.post_attention_layernorm = RmsNorm()
        self.mlp = GatedMlp()

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class LanguageModel(nn.Module):
    """Tokens (b, n) -> logits (b, n, vocabulary), the head tied to the embedding. mala 4.6."""

    def __init__(self, attend):
        super().__init__()
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(VOCABULARY, DIM)
        # Logits that differ, so that the loss shows what lies before the head.
        nn.init.normal_(self.model.embed_tokens.weight, std=0.1)
        self.model.layers = nn.ModuleList(DecoderLayer(attend) for _ in range(LAYERS))
        self.model.norm = RmsNorm()

    def forward(self, tokens):
        x = self.model.embed_tokens(tokens)
        for layer in self.model.layers:
            x = layer(x)
        return F.linear(self.model.norm(x), self.model.embed_tokens.weight)


ATTENTIONS = {"softmax": causal_softmax, "linear": causal_linear, "mala": causal_mala}
BUILDERS = {
    **{f"causal_{name}": lambda attend=attend: CausalAttention(attend)
       for name, attend in ATTENTIONS.items()},
    **{f"language_{name}": lambda attend=attend: LanguageModel(attend)
       for name, attend in ATTENTIONS.items()},
}
