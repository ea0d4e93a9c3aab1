"""Linear attentions and PVT-GDLA in PyTorch, as a good user would write them for speed.

State-dict names are Fovea's (torch_models.py). Tokens (b, h w, dim) and maps that are channels_last
are the same memory, so nothing is copied between the two. gdla is the paper's key.
"""

import torch
import torch.nn.functional as F
from torch import nn

from torch_models import RmsNorm

DENOMINATOR_EPS = 1e-6


def as_map(tokens, grid):
    """(b, h w, dim) -> (b, dim, h, w), channels_last."""
    return tokens.transpose(1, 2).unflatten(2, grid)


def as_tokens(x):
    return x.flatten(2).transpose(1, 2)


def square(n):
    side = round(n**0.5)
    return side, side


def features(x):
    return F.elu(x) + 1


def pointwise(conv, tokens):
    return F.linear(tokens, conv.weight[:, :, 0, 0], conv.bias)


def linear_attention(q, k, v):
    """gdla 2.3; all (b, n, heads, d), the same out."""
    q, k, v = features(q).transpose(1, 2), features(k).transpose(1, 2), v.transpose(1, 2)
    z = q @ k.sum(2).unsqueeze(-1) + DENOMINATOR_EPS
    return (q @ (k.transpose(2, 3) @ v) / z).transpose(1, 2)


def two_map_linear_attention(q, k, v, lam):
    """A1 - lambda A2 of the halves of each head; all (b, n, heads, d), lam (heads, d). gdla 2.4.

    Both maps have one K^T V, and [Q1 / z1, Q2 / z2] [S1, -lambda S2] is their difference: half the
    products of two calls of linear_attention, and in 0.5 to 0.8 of their time.
    """
    half = q.shape[-1] // 2
    q, k, v = features(q).transpose(1, 2), features(k).transpose(1, 2), v.transpose(1, 2)
    s = k.transpose(2, 3) @ v  # (b, heads, d, d)
    z = (q * k.sum(2, keepdim=True)).unflatten(-1, (2, half)).sum(-1, keepdim=True)
    q = (q.unflatten(-1, (2, half)) / (z + DENOMINATOR_EPS)).flatten(-2)
    weight = -lam.to(s.dtype).unsqueeze(1).expand(-1, half, -1)
    return (q @ torch.cat([s[:, :, :half], s[:, :, half:] * weight], 2)).transpose(1, 2)


class LinearAttention(nn.Module):
    """gdla 2.8."""

    attend = staticmethod(linear_attention)

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, dim = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).unbind(2)
        return self.proj(self.attend(q, k, v).reshape(b, n, dim))


class Gdla(nn.Module):
    """gdla 2.6, with the gate of the paper (SiLU)."""

    def __init__(self, dim, heads, local=True):
        super().__init__()
        self.heads = heads
        self.qkvg = nn.Linear(dim, 4 * dim)
        self.ln = RmsNorm(dim // heads)
        self.lambda_scale_main = nn.Parameter(0.1 * torch.randn(heads, dim // heads))
        self.local = local
        if local:
            self.dwc = nn.Conv2d(4 * dim, 4 * dim, 3, padding=1, groups=4 * dim)
            self.pwc = nn.Conv2d(4 * dim, 4 * dim, 1)
            self.lambda_scale_aux = nn.Parameter(0.1 * torch.randn(heads, dim // heads))
        self.out_proj = nn.Linear((2 if local else 1) * dim, dim)

    def attend(self, t, lam):
        b, n, _ = t.shape
        q, k, v, g = t.view(b, n, 4, self.heads, -1).unbind(2)
        return (self.ln(two_map_linear_attention(q, k, v, lam)) * F.silu(g)).flatten(2)

    def forward(self, x, grid=None):
        t = self.qkvg(x)
        y = self.attend(t, self.lambda_scale_main)
        if self.local:
            mixed = as_tokens(self.dwc(as_map(t, grid or square(x.shape[1]))))
            y = torch.cat([y, self.attend(pointwise(self.pwc, mixed), self.lambda_scale_aux)], -1)
        return self.out_proj(y)


class PvtFfn(nn.Module):
    """gdla 2.16."""

    def __init__(self, dim, ratio):
        super().__init__()
        hidden = ratio * dim
        self.fc1 = nn.Linear(dim, hidden)
        self.dwconv = nn.Module()
        self.dwconv.dwconv = nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x, grid):
        x = as_tokens(self.dwconv.dwconv(as_map(self.fc1(x), grid)))
        return self.fc2(F.gelu(x))


class ReducedAttention(nn.Module):
    """Spatial-reduction attention. gdla 2.16."""

    def __init__(self, dim, heads, reduction):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * dim)
        self.proj = nn.Linear(dim, dim)
        self.sr = nn.Conv2d(dim, dim, reduction, reduction) if reduction > 1 else None
        if reduction > 1:
            self.norm = nn.LayerNorm(dim)

    def forward(self, x, grid):
        b, n, dim = x.shape
        y = x if self.sr is None else self.norm(as_tokens(self.sr(as_map(x, grid))))
        q = self.q(x).view(b, n, self.heads, -1).transpose(1, 2)
        k, v = self.kv(y).view(b, y.shape[1], 2, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(b, n, dim))


class PvtBlock(nn.Module):
    def __init__(self, dim, heads, reduction, ratio):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = ReducedAttention(dim, heads, reduction)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = PvtFfn(dim, ratio)

    def forward(self, x, grid):
        x = x + self.attn(self.norm1(x), grid)
        return x + self.mlp(self.norm2(x), grid)


class PatchEmbed(nn.Module):
    def __init__(self, channels, dim, patch, stride):
        super().__init__()
        self.proj = nn.Conv2d(channels, dim, patch, stride, padding=patch // 2)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.proj(x)
        return self.norm(as_tokens(x)), x.shape[2:]


class PvtV2(nn.Module):
    """PVTv2-B2 without stochastic depth. gdla 3.1."""

    def __init__(self):
        super().__init__()
        widths, depths, heads = (64, 128, 320, 512), (3, 4, 6, 3), (1, 2, 5, 8)
        channels = 3
        for i, dim in enumerate(widths):
            embed = PatchEmbed(channels, dim, 3 if i else 7, 2 if i else 4)
            blocks = nn.ModuleList(
                PvtBlock(dim, heads[i], (8, 4, 2, 1)[i], (8, 8, 4, 4)[i])
                for _ in range(depths[i]))
            setattr(self, f"patch_embed{i + 1}", embed)
            setattr(self, f"block{i + 1}", blocks)
            setattr(self, f"norm{i + 1}", nn.LayerNorm(dim, eps=1e-6))
            channels = dim

    def forward(self, x):
        maps = []
        for i in range(1, 5):
            y, grid = getattr(self, f"patch_embed{i}")(x)
            for block in getattr(self, f"block{i}"):
                y = block(y, grid)
            x = as_map(getattr(self, f"norm{i}")(y), grid)
            maps.append(x)
        return maps


class GatedMixFfn(nn.Module):
    """gdla 2.11."""

    def __init__(self, dim):
        super().__init__()
        hidden = 4 * dim
        self.pwc1 = nn.Conv2d(dim, 2 * hidden, 1)
        self.dwc = nn.Conv2d(2 * hidden, 2 * hidden, 3, padding=1, groups=2 * hidden)
        self.pwc2 = nn.Conv2d(hidden, dim, 1, bias=False)

    def forward(self, x, grid):
        x = F.silu(pointwise(self.pwc1, x))
        a, b = as_tokens(self.dwc(as_map(x, grid))).chunk(2, dim=-1)
        return pointwise(self.pwc2, a * F.silu(b))


class GdlaBlock(nn.Module):
    """gdla 2.12."""

    def __init__(self, dim):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.dwc = nn.Conv2d(dim, dim, 3, padding=1)
        self.attn = Gdla(dim, dim // 32)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = GatedMixFfn(dim)

    def forward(self, x):
        grid = x.shape[2:]
        x = as_tokens(x)
        u = F.silu(self.dwc(as_map(self.norm1(x), grid)))
        x = x + self.attn(as_tokens(u), grid)
        return as_map(x + self.mlp(self.norm2(x), grid), grid)


class Up(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.up = nn.ConvTranspose2d(channels, out, 3, 2, padding=1, output_padding=1, bias=False)

    def forward(self, x):
        return self.up(x)


class ResidualStem(nn.Module):
    """gdla 2.14."""

    def __init__(self, channels, out):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, out, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(out)
        self.conv3 = nn.Conv2d(channels, out, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(out)

    def forward(self, x):
        y = self.conv2(F.relu(self.norm1(self.conv1(x)), inplace=True))
        y = self.norm2(y)
        y += self.norm3(self.conv3(x))
        return F.relu(y, inplace=True)


def enlarged(x, factor):
    return F.interpolate(x, scale_factor=factor, mode="bilinear", align_corners=False)


class PvtGdla(nn.Module):
    """PVT-GDLA of one-channel images, deep supervision: four maps, the finest first. gdla 3.2."""

    def __init__(self, classes=9):
        super().__init__()
        widths = (64, 128, 320, 512)
        self.backbone = PvtV2()
        for i in (1, 2, 3):
            setattr(self, f"up{i}", Up(widths[4 - i], widths[3 - i]))
            setattr(self, f"de{i}", GdlaBlock(widths[3 - i]))
        self.resblk = ResidualStem(1, widths[0])
        for i, dim in enumerate(widths):
            setattr(self, f"head{i + 1}", nn.Conv2d(dim, classes, 1))

    def forward(self, x):
        x1, x2, x3, x4 = self.backbone(x.expand(-1, 3, -1, -1))
        d3 = self.de1(self.up1(x4) + x3)
        d2 = self.de2(self.up2(d3) + x2)
        d1 = self.de3(self.up3(d2) + x1)
        return [self.head1(enlarged(d1, 4) + self.resblk(x)), enlarged(self.head2(d2), 8),
                enlarged(self.head3(d3), 16), enlarged(self.head4(x4), 32)]


def boundary_dou(maps, labels, smooth=1e-5):
    """The sum over maps of logits (b, k, h, w); labels (b, h, w). gdla 6.3.

    What depends on the labels alone is made once.
    """
    classes = maps[0].shape[1]
    inside = torch.ones_like(labels, dtype=torch.bool)
    for axis in (1, 2):
        n = labels.shape[axis] - 1
        same = labels.narrow(axis, 1, n) == labels.narrow(axis, 0, n)
        pads = ((0, 0, 1, 0), (0, 0, 0, 1)) if axis == 1 else ((1, 0), (0, 1))
        for pad in pads:
            inside = inside & F.pad(same, pad)
    target = (labels.unsqueeze(1) == torch.arange(classes).view(1, -1, 1, 1)).float()
    sums = target.sum((0, 2, 3))
    boundary = sums - (target * inside.unsqueeze(1)).sum((0, 2, 3))
    alpha = (1 - 2 * (boundary + smooth) / (sums + smooth)).clamp(max=0.8)
    total = 0
    for logits in maps:
        p = torch.softmax(logits.float(), 1)
        both = (p * target).sum((0, 2, 3))
        all_ = (p * p).sum((0, 2, 3)) + sums + smooth
        total = total + ((all_ - 2 * both) / (all_ - (1 + alpha) * both)).mean()
    return total


BUILDERS = {
    "linear_attention": lambda: LinearAttention(128, 4),
    "gdla": lambda: Gdla(128, 4, local=False),
    "gdla_mixer": lambda: Gdla(128, 4),
    "pvt_gdla": PvtGdla,
}
