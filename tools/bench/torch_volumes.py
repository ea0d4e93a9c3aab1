"""D-Former and the 3D U-Net in PyTorch, as a good user would write them for speed.

State-dict names are Fovea's (torch_models.py). D-Former's tokens are grids (b, d, h, w, dim), which
are the same memory as maps (b, dim, d, h, w) that are channels_last_3d. dformer is the paper's key.
"""

import torch
import torch.nn.functional as F
from torch import nn

from torch_mala import Mlp

PATCH = (2, 4, 4)
UNIT = (2, 8, 8)
CLASSES = 14


def as_volume(x):
    return x.permute(0, 4, 1, 2, 3)


def as_grid(x):
    return x.permute(0, 2, 3, 4, 1)


class UnitAttention(nn.Module):
    """Local units, or dilated ones of every g-th token, that fill the grid. dformer 3.2."""

    def __init__(self, dim, heads, dilated):
        super().__init__()
        self.heads, self.dilated = heads, dilated
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, *sides, dim = x.shape
        unit = UNIT if sides[1] >= UNIT[1] else sides
        counts = [side // size for side, size in zip(sides, unit)]
        # (b, members and units of each axis, dim) with units before members in the result.
        pairs = [pair for size, count in zip(unit, counts)
                 for pair in ((size, count) if self.dilated else (count, size))]
        order = (0, 2, 4, 6, 1, 3, 5, 7) if self.dilated else (0, 1, 3, 5, 2, 4, 6, 7)
        back = (0, 4, 1, 5, 2, 6, 3, 7) if self.dilated else (0, 1, 4, 2, 5, 3, 6, 7)
        n = unit[0] * unit[1] * unit[2]
        x = x.view(b, *pairs, dim).permute(order).reshape(-1, n, dim)
        q, k, v = self.qkv(x).view(-1, n, 3, self.heads, dim // self.heads).unbind(2)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        y = self.proj(y.transpose(1, 2).reshape(-1, n, dim))
        return y.view(b, *counts, *unit, dim).permute(back).reshape(b, *sides, dim)


class ScopeBlock(nn.Module):
    """dformer 3.4."""

    def __init__(self, dim, heads, dilated):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = UnitAttention(dim, heads, dilated)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = Mlp(dim)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PatchMerging3d(nn.Module):
    """dformer 3.6."""

    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(8 * dim)
        self.reduction = nn.Linear(8 * dim, 2 * dim, bias=False)

    def forward(self, x):
        b, d, h, w, dim = x.shape
        x = x.view(b, d // 2, 2, h // 2, 2, w // 2, 2, dim).permute(0, 1, 3, 5, 2, 4, 6, 7)
        return self.reduction(self.norm(x.reshape(b, d // 2, h // 2, w // 2, 8 * dim)))


class PatchExpand3d(nn.Module):
    """dformer 3.7; tokens are normed where they are, then moved."""

    def __init__(self, dim):
        super().__init__()
        self.expand = nn.Linear(dim, 4 * dim, bias=False)
        self.norm = nn.LayerNorm(dim // 2)

    def forward(self, x):
        b, d, h, w, dim = x.shape
        x = self.norm(self.expand(x).view(b, d, h, w, 2, 2, 2, dim // 2))
        return x.permute(0, 1, 4, 2, 5, 3, 6, 7).reshape(b, 2 * d, 2 * h, 2 * w, dim // 2)


class FinalExpand(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.expand = nn.Linear(dim, PATCH[0] * PATCH[1] * PATCH[2] * dim, bias=False)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.norm(self.expand(x).view(*x.shape[:4], *PATCH, -1))


class Head(nn.Sequential):
    """dformer 3.8; only the classes' logits are moved to where the voxels are."""

    def __init__(self, dim):
        super().__init__(FinalExpand(dim), nn.Conv3d(dim, CLASSES, 1, bias=False))

    def forward(self, x):
        b, *sides, _ = x.shape
        y = F.linear(self[0](x), self[1].weight.flatten(1))
        y = y.permute(0, 7, 1, 4, 2, 5, 3, 6)
        return y.reshape(b, CLASSES, *(side * size for side, size in zip(sides, PATCH)))


class Stage(nn.Module):
    def __init__(self, dim, heads, depth, down=False, up=False):
        super().__init__()
        self.pos_block = nn.Module()
        self.pos_block.proj = nn.Sequential(nn.Conv3d(dim, dim, 3, padding=1, groups=dim))
        self.blocks = nn.ModuleList([ScopeBlock(dim, heads, i % 2 == 1) for i in range(depth)])
        if down:
            self.downsample = PatchMerging3d(dim)
        if up:
            self.upsample = PatchExpand3d(dim)
        self.next = "downsample" if down else "upsample" if up else None

    def forward(self, x):
        # In bfloat16 PyTorch needs three times as long for this convolution as in float32.
        with torch.autocast("cpu", enabled=False):
            positions = as_grid(self.pos_block.proj(as_volume(x.float())))
        x = x + positions.to(x.dtype)
        for block in self.blocks:
            x = block(x)
        return getattr(self, self.next)(x) if self.next else x


class PatchEmbed3d(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Conv3d(1, dim, PATCH, PATCH)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.norm(as_grid(self.proj(x)).contiguous())


class DFormerBackbone(nn.Module):
    def __init__(self, dim):
        super().__init__()
        depths, heads, dims = (2, 2, 6, 2), (3, 6, 12, 24), [dim << s for s in range(4)]
        self.patch_embed = PatchEmbed3d(dim)
        self.layers = nn.ModuleList([Stage(dims[s], heads[s], depths[s], down=s < 3)
                                     for s in range(4)])
        self.norm = nn.LayerNorm(dims[3])
        self.layers_up = nn.ModuleList([PatchExpand3d(dims[3])] + [
            Stage(dims[s], heads[s], depths[s], up=s > 0) for s in (2, 1, 0)])
        self.concat_back_dim = nn.ModuleDict({str(3 - s): nn.Linear(2 * dims[s], dims[s])
                                              for s in (2, 1, 0)})
        self.norm_up = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.patch_embed(x)
        skips, given = [], []
        for layer in self.layers:
            skips.append(x)
            x = layer(x)
        x = self.layers_up[0](self.norm(x))
        for j in (1, 2, 3):
            x = self.concat_back_dim[str(j)](torch.cat([x, skips[3 - j]], -1))
            x = self.layers_up[j](x)
            given.append(x)
        return self.norm_up(x), given[0]


class DFormer(nn.Module):
    """Trained on its full and half resolution; the third head of the public code never runs.
    dformer 4.1."""

    def __init__(self, dim=96):
        super().__init__()
        self.model_down = DFormerBackbone(dim)
        self.final = nn.ModuleList([Head(dim << i) for i in range(3)])

    def forward(self, x):
        return [head(y) for head, y in zip(self.final, self.model_down(x))]


class SingleConv(nn.Sequential):
    def __init__(self, dim, out):
        super().__init__()
        self.groupnorm = nn.GroupNorm(8 if dim >= 8 else 1, dim)
        self.conv = nn.Conv3d(dim, out, 3, padding=1, bias=False)
        self.act = nn.ReLU(inplace=True)


class DoubleConv(nn.Module):
    def __init__(self, dim, middle, out):
        super().__init__()
        self.basic_module = nn.Sequential()
        self.basic_module.SingleConv1 = SingleConv(dim, middle)
        self.basic_module.SingleConv2 = SingleConv(middle, out)

    def forward(self, x):
        return self.basic_module(x)


class UNet3d(nn.Module):
    """dformer 4.2."""

    def __init__(self, widths=(64, 128, 256, 512)):
        super().__init__()
        ins = (1, *widths)
        self.encoders = nn.ModuleList([DoubleConv(dim, max(out // 2, dim), out)
                                       for dim, out in zip(ins, widths)])
        self.decoders = nn.ModuleList([DoubleConv(skip + dim, skip, skip) for skip, dim
                                       in zip(widths[-2::-1], widths[:0:-1])])
        self.final_conv = nn.Conv3d(widths[0], CLASSES, 1)

    def forward(self, x):
        skips = []
        for encoder in self.encoders:
            x = encoder(F.max_pool3d(x, 2) if skips else x)
            skips.append(x)
        skips.pop()
        for decoder in self.decoders:
            x = decoder(torch.cat([skips.pop(), F.interpolate(x, scale_factor=2.0)], 1))
        return [self.final_conv(x)]


def nnunet(maps, labels, smooth=1e-5):
    """Cross-entropy less Dice without the background of maps of logits (b, k, d, h, w), each half
    the size and weight of the one before, weights of sum 1; labels (b, d, h, w). dformer 7.5."""
    total = 0
    for i, logits in enumerate(maps):
        step = 2**i
        target = labels[:, step // 2::step, step // 2::step, step // 2::step]
        log_p = F.log_softmax(logits.float(), 1)
        p = log_p.exp()
        hit = target.unsqueeze(1) == torch.arange(CLASSES).view(1, -1, 1, 1, 1)
        both, sums = (p * hit).sum((0, 2, 3, 4)), p.sum((0, 2, 3, 4)) + hit.sum((0, 2, 3, 4))
        dice = (2 * both + smooth) / (sums + smooth + 1e-8)
        total = total + (F.nll_loss(log_p, target) - dice[1:].mean()) / step
    return total / sum(2.0**-i for i in range(len(maps)))


BUILDERS = {"dformer": DFormer, "unet3d": UNet3d}
