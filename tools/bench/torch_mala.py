"""MALA, MAViT and Swin in PyTorch, as a good user would write them for speed.

State-dict names are Fovea's (torch_models.py). MAViT's tokens (b, h w, dim) and maps that are
channels_last are the same memory, so nothing is copied between them. mala is the paper's key.
"""

import torch
import torch.nn.functional as F
from torch import nn

from torch_gdla import LinearAttention, as_map, as_tokens, features, pointwise
from torch_models import SoftmaxAttention

MALA_EPS = 1e-6
TOKEN_DIM, TOKEN_HEADS = 192, 3  # of attention alone: DeiT-T's, head_dim 64


def magnitude_attention(q, k, v, rotate=None):
    """mala 3.2 with the scaling head_dim_mean; all (b, n, heads, d), the same out."""
    n, d = q.shape[1], q.shape[3]
    scale = d**-0.5
    q, k, v = features(q).transpose(1, 2), features(k).transpose(1, 2), v.transpose(1, 2)
    z = torch.einsum("bhnd,bhd->bhn", q, scale * k.mean(2)).unsqueeze(-1)
    if rotate is not None:
        q, k = rotate(q), rotate(k)
    sums = torch.einsum("bhnd,bhne->bhde", k, v * (scale / n))
    similar = torch.einsum("bhnd,bhde->bhne", q, sums)
    return (similar * (1 + 1 / (z + MALA_EPS)) - z * v.mean(2, keepdim=True)).transpose(1, 2)


class MalaAttention(LinearAttention):
    """mala 3.8, item 4."""

    attend = staticmethod(magnitude_attention)


class GridRotary(nn.Module):
    """mala 3.5 on a grid that never changes: its sines are made once.

    A product of complex numbers takes a third of the time of one that moves the channels of a pair.
    """

    def __init__(self, head_dim, grid):
        super().__init__()
        rates = 10000.0 ** -torch.linspace(0, 1, head_dim // 4)
        self.register_buffer("angle", rates.repeat_interleave(2))
        rows, columns = torch.meshgrid(*(torch.arange(side) for side in grid), indexing="ij")
        theta = torch.cat([rows.reshape(-1, 1) * rates, columns.reshape(-1, 1) * rates], 1)
        turns = torch.polar(torch.ones_like(theta), theta)  # (n, head_dim / 2)
        self.register_buffer("turns", turns, persistent=False)

    def forward(self, x):
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * self.turns).flatten(-2).to(x.dtype)


class MavitAttention(nn.Module):
    """mala 3.6."""

    def __init__(self, dim, heads, magnitude):
        super().__init__()
        self.heads, self.magnitude = heads, magnitude
        self.qkvo = nn.Conv2d(dim, 4 * dim, 1)
        self.lepe = nn.Conv2d(dim, dim, 5, padding=2, groups=dim)
        self.proj = nn.Conv2d(dim, dim, 1)

    def forward(self, x, grid, rotate):
        b, n, dim = x.shape
        parts = pointwise(self.qkvo, x)
        q, k, v, gate = parts.view(b, n, 4, dim).unbind(2)
        local = as_tokens(self.lepe(as_map(v, grid)))
        q, k, v = (part.unflatten(2, (self.heads, -1)) for part in (q, k, v))
        if self.magnitude:
            y = magnitude_attention(q, k, v, rotate)
        else:
            q, k, v = (part.transpose(1, 2) for part in (q, k, v))
            y = F.scaled_dot_product_attention(rotate(q), rotate(k), v).transpose(1, 2)
        return pointwise(self.proj, (y.reshape(b, n, dim) + local) * gate)


class MapNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-6)

    def forward(self, x):
        return self.norm(x)


class MavitFfn(nn.Module):
    """mala 3.7."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1 = nn.Conv2d(dim, hidden, 1)
        self.dwconv = nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden)
        self.fc2 = nn.Conv2d(hidden, dim, 1)

    def forward(self, x, grid):
        x = F.gelu(pointwise(self.fc1, x))
        return pointwise(self.fc2, x + as_tokens(self.dwconv(as_map(x, grid))))


class MavitBlock(nn.Module):
    """mala 3.7."""

    def __init__(self, dim, heads, magnitude):
        super().__init__()
        self.pos = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)
        self.norm1 = MapNorm(dim)
        self.attn = MavitAttention(dim, heads, magnitude)
        self.norm2 = MapNorm(dim)
        self.ffn = MavitFfn(dim, int(3.5 * dim))
        self.gamma_1 = nn.Parameter(torch.ones(1, dim, 1, 1))
        self.gamma_2 = nn.Parameter(torch.ones(1, dim, 1, 1))

    def forward(self, x, grid, rotate):
        x = x + as_tokens(self.pos(as_map(x, grid)))
        gamma_1, gamma_2 = (gamma.flatten().to(x.dtype) for gamma in (self.gamma_1, self.gamma_2))
        x = torch.addcmul(x, gamma_1, self.attn(self.norm1(x), grid, rotate))
        return torch.addcmul(x, gamma_2, self.ffn(self.norm2(x), grid))


class MavitDownsample(nn.Module):
    def __init__(self, dim, out):
        super().__init__()
        self.reduction = nn.Conv2d(dim, out, 3, 2, 1)
        self.norm = nn.BatchNorm2d(out)

    def forward(self, x):
        return self.norm(self.reduction(x))


class MavitStage(nn.Module):
    def __init__(self, dim, heads, depth, side, magnitude, out):
        super().__init__()
        self.grid = side, side
        self.RoPE = GridRotary(dim // heads, self.grid)
        self.blocks = nn.ModuleList([MavitBlock(dim, heads, magnitude) for _ in range(depth)])
        self.downsample = MavitDownsample(dim, out) if out else nn.Identity()

    def forward(self, x):
        x = as_tokens(x)
        for block in self.blocks:
            x = block(x, self.grid, self.RoPE)
        return self.downsample(as_map(x, self.grid))


class MavitT(nn.Module):
    """MAViT-T, llvv, for 224 x 224 pixels. mala 4.1."""

    def __init__(self, classes=1000):
        super().__init__()
        dims, heads, depths = (64, 128, 256, 512), (1, 2, 4, 8), (2, 2, 6, 2)
        widths, strides = (3, 32, 32, 32, 64), (2, 1, 1, 2)
        self.patch_embed = nn.Module()
        self.patch_embed.proj = nn.Sequential(*[
            layer for i, stride in enumerate(strides)
            for layer in (nn.Conv2d(widths[i], widths[i + 1], 3, stride, 1),
                          nn.BatchNorm2d(widths[i + 1]), nn.GELU())][:-1])
        self.layers = nn.ModuleList([
            MavitStage(dims[s], heads[s], depths[s], 56 >> s, s < 2, dims[s + 1] if s < 3 else 0)
            for s in range(4)])
        self.proj = nn.Conv2d(dims[3], 2048, 1)
        self.norm = nn.BatchNorm2d(2048)
        self.head = nn.Conv2d(2048, classes, 1)

    def forward(self, x):
        x = self.patch_embed.proj(x)
        for layer in self.layers:
            x = layer(x)
        x = F.silu(self.norm(self.proj(x))).mean((2, 3))
        return pointwise(self.head, x)


class Mlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1 = nn.Linear(dim, 4 * dim)
        self.fc2 = nn.Linear(4 * dim, dim)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


def window_positions(window):
    """Rows of the bias table for each query and key of a window: (n, n). mala 3.8."""
    places = torch.cartesian_prod(torch.arange(window), torch.arange(window))
    apart = places[:, None] - places[None] + window - 1
    return apart[..., 0] * (2 * window - 1) + apart[..., 1]


def cut(x, window):
    """(b, h, w, dim) -> (b windows, window window, dim)."""
    b, h, w, dim = x.shape
    x = x.view(b, h // window, window, w // window, window, dim)
    return x.transpose(2, 3).reshape(-1, window * window, dim)


def join(x, window, shape):
    b, h, w, dim = shape
    x = x.view(b, h // window, w // window, window, window, dim)
    return x.transpose(2, 3).reshape(shape)


def shift_mask(side, window, shift):
    """0 within a region of the shifted grid, -100 between two: (windows, 1, n, n)."""
    labels = torch.zeros(side)
    labels[side - window:side - shift], labels[side - shift:] = 1, 2
    regions = cut((3 * labels[:, None] + labels).view(1, side, side, 1), window).squeeze(2)
    return -100.0 * (regions[:, None, :, None] != regions[:, None, None, :])


class WindowAttention(nn.Module):
    def __init__(self, dim, heads, window, mask):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.relative_position_bias_table = nn.Parameter(
            0.02 * torch.randn((2 * window - 1)**2, heads))
        self.register_buffer("positions", window_positions(window).flatten(), persistent=False)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x):
        windows, n, dim = x.shape
        q, k, v = self.qkv(x).view(windows, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        # A bias that learns keeps PyTorch from its flash attention, and what it does instead is
        # slower than this.
        bias = self.relative_position_bias_table[self.positions].view(n, n, -1).permute(2, 0, 1)
        if self.mask is not None:
            bias = bias + self.mask
        scores = (q * q.shape[-1]**-0.5) @ k.transpose(2, 3)
        scores = scores.unflatten(0, (-1, len(bias) if bias.dim() == 4 else 1)) + bias.to(q.dtype)
        scores = scores.flatten(0, 1)
        y = torch.softmax(scores, -1) @ v
        return self.proj(y.transpose(1, 2).reshape(windows, n, dim))


class SwinBlock(nn.Module):
    def __init__(self, dim, heads, side, window, shifted):
        super().__init__()
        self.window, self.shift = window, window // 2 if shifted and side > window else 0
        mask = shift_mask(side, window, self.shift) if self.shift else None
        self.norm1 = nn.LayerNorm(dim)
        self.attn = WindowAttention(dim, heads, window, mask)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = Mlp(dim)

    def attend(self, x):
        if self.shift:
            x = x.roll((-self.shift, -self.shift), (1, 2))
        y = join(self.attn(cut(x, self.window)), self.window, x.shape)
        return y.roll((self.shift, self.shift), (1, 2)) if self.shift else y

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PatchMerging(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(4 * dim)
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x):
        b, h, w, dim = x.shape
        x = x.view(b, h // 2, 2, w // 2, 2, dim).permute(0, 1, 3, 4, 2, 5)
        return self.reduction(self.norm(x.reshape(b, h // 2, w // 2, 4 * dim)))


class SwinStage(nn.Module):
    def __init__(self, dim, heads, depth, side, window, last):
        super().__init__()
        self.blocks = nn.ModuleList([SwinBlock(dim, heads, side, window, i % 2 == 1)
                                     for i in range(depth)])
        self.downsample = nn.Identity() if last else PatchMerging(dim)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.downsample(x)


class SwinT(nn.Module):
    """Swin-T for 224 x 224 pixels. mala 4.3."""

    def __init__(self, classes=1000, dim=96, window=7):
        super().__init__()
        self.patch_embed = nn.Module()
        self.patch_embed.proj = nn.Conv2d(3, dim, 4, 4)
        self.patch_embed.norm = nn.LayerNorm(dim)
        self.layers = nn.ModuleList([
            SwinStage(dim << s, 3 << s, 6 if s == 2 else 2, 56 >> s, window, s == 3)
            for s in range(4)])
        self.norm = nn.LayerNorm(dim << 3)
        self.head = nn.Linear(dim << 3, classes)

    def forward(self, x):
        x = self.patch_embed.norm(self.patch_embed.proj(x).permute(0, 2, 3, 1).contiguous())
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean((1, 2)))


BUILDERS = {
    "mala": lambda: MalaAttention(TOKEN_DIM, TOKEN_HEADS),
    "mala_linear": lambda: LinearAttention(TOKEN_DIM, TOKEN_HEADS),
    "mala_softmax": lambda: SoftmaxAttention(TOKEN_DIM, TOKEN_HEADS),
    "mavit_t": MavitT,
    "swin_t": SwinT,
}
