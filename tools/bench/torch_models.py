"""The networks of the comparison in PyTorch, as a good user would write them for speed.

State-dict names are Fovea's, so exported weights load there without a mapping. Shapes are given in
the words of the C++ sources: b samples, n tokens, dim channels. dgsa and kcla are the papers' keys.
"""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from cases import VOCABULARY

# Up to here two maps that are formed, fused and applied once beat two flash attentions, beyond it
# the other way round (float32, forward and backward, dim 256, 8 heads, one core with AVX-512:
# 65 tokens 39 against 77 ms, 129: 14 against 19, 257: 73 against 62, 1,024: 237 against 74).
MOST_TOKENS_FOR_MAPS = 192


def two_map_attention(q, k, v, c1, c2, mask=None):
    """(c1 A1 + c2 A2) V with A = softmax(q k^T / sqrt(d)) for each of two streams.

    q, k: (b, n, heads, 2, d); v: (b, n, heads, 2 d); c1 and c2 broadcast against (b, heads, n, 1);
    mask: (b, 1, 1, n), added to the scores, -inf where a key is padding.
    Returns (b, n, heads, 2 d).
    """
    b, n, heads, _, d = q.shape
    scale = d**-0.5
    if n <= MOST_TOKENS_FOR_MAPS:
        q1, q2 = (q * scale).permute(3, 0, 2, 1, 4).unbind(0)
        k1, k2 = k.permute(3, 0, 2, 4, 1).unbind(0)
        s1, s2 = q1 @ k1, q2 @ k2
        if mask is not None:
            s1, s2 = s1.add_(mask), s2.add_(mask)
        a1, a2 = torch.softmax(s1, -1), torch.softmax(s2, -1)
        u = torch.addcmul(c1 * a1, c2, a2) @ v.transpose(1, 2)
        return u.transpose(1, 2)
    # PyTorch's flash attention wants q, k and v of one width; zeros change no score. One call for
    # both streams is faster than two.
    q = F.pad(q, (0, d)).reshape(b, n, 2 * heads, 2 * d).transpose(1, 2)
    k = F.pad(k, (0, d)).reshape(b, n, 2 * heads, 2 * d).transpose(1, 2)
    v = v.transpose(1, 2).repeat_interleave(2, dim=1)
    u = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    return torch.addcmul(c1 * u[:, 0::2], c2, u[:, 1::2]).transpose(1, 2)


class SoftmaxAttention(nn.Module):
    def __init__(self, dim, heads, layer=1):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        b, n, dim = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.proj(y.transpose(1, 2).reshape(b, n, dim))


class RmsNorm(nn.Module):
    """nn.RMSNorm, but under autocast too its weight has the type of x: else PyTorch is slow."""

    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self.eps)


class TwoStreams(nn.Module):
    """What DIFF attention and M-DGSA share: projections and the norm of each head."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.stream_dim = dim // (2 * heads)
        self.q_proj = nn.Linear(dim, dim, bias=False)
        self.k_proj = nn.Linear(dim, dim, bias=False)
        self.v_proj = nn.Linear(dim, dim, bias=False)
        self.out_proj = nn.Linear(dim, dim, bias=False)
        self.subln = RmsNorm(2 * self.stream_dim)

    def attend(self, x, q, c1, c2, scale, mask):
        """out_proj(scale norm((c1 A1 + c2 A2) V)): (b, n, dim)."""
        b, n, dim = x.shape
        streams = (b, n, self.heads, 2, self.stream_dim)
        k, v = self.k_proj(x).view(streams), self.v_proj(x).view(b, n, self.heads, -1)
        u = two_map_attention(q.view(streams), k, v, c1, c2, mask)
        return self.out_proj((self.subln(u) * scale).reshape(b, n, dim))


class Differential(TwoStreams):
    """dgsa 2.3."""

    def __init__(self, dim, heads, layer=1):
        super().__init__(dim, heads)
        self.lambda_init = 0.8 - 0.6 * math.exp(-0.3 * (layer - 1))
        for name in ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"):
            self.register_parameter(name, nn.Parameter(0.1 * torch.randn(self.stream_dim)))

    def forward(self, x, mask=None):
        first = torch.exp(torch.dot(self.lambda_q1, self.lambda_k1).float())
        second = torch.exp(torch.dot(self.lambda_q2, self.lambda_k2).float())
        c2 = (second - first - self.lambda_init).to(x.dtype)
        return self.attend(x, self.q_proj(x), torch.ones_like(c2), c2, 1 - self.lambda_init, mask)


class GatedDifferential(TwoStreams):
    """M-DGSA with lambda = 0.8; DGViT has the inner residual, DGT not. dgsa 2.2."""

    def __init__(self, dim, heads, layer=1, residual=True):
        super().__init__(dim, heads)
        self.residual = residual
        self.gate = nn.Linear(dim, heads)

    def forward(self, x, mask=None):
        q = self.q_proj(x)
        g = torch.sigmoid(self.gate(x)).transpose(1, 2).unsqueeze(-1)  # (b, heads, n, 1)
        y = self.attend(x, q, g, g - 1, 0.2, mask)
        return y + q if self.residual else y


class Mlp(nn.Module):
    def __init__(self, dim, expansion=4, activation=F.gelu):
        super().__init__()
        self.activation = activation
        self.fc1 = nn.Linear(dim, expansion * dim)
        self.fc2 = nn.Linear(expansion * dim, dim)

    def forward(self, x):
        return self.fc2(self.activation(self.fc1(x)))


class SwiGlu(nn.Module):
    """Packed: fc1 gives both halves. dgsa 2.5."""

    def __init__(self, dim, expansion=4):
        super().__init__()
        self.fc1 = nn.Linear(dim, expansion * dim)
        self.fc2 = nn.Linear(expansion * dim // 2, dim)

    def forward(self, x):
        a, b = self.fc1(x).chunk(2, dim=-1)
        return self.fc2(F.silu(a) * b)


class MixFfn(nn.Module):
    """The feed-forward network of PVTv2 on the tokens of a square grid."""

    def __init__(self, dim, expansion, side):
        super().__init__()
        hidden = expansion * dim
        self.side = side
        self.fc1 = nn.Linear(dim, hidden)
        self.dwconv = nn.Module()
        self.dwconv.dwconv = nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x):
        x = self.fc1(x)
        b, n, hidden = x.shape
        x = x.transpose(1, 2).view(b, hidden, self.side, self.side)
        x = self.dwconv.dwconv(x).flatten(2).transpose(1, 2)
        return self.fc2(F.gelu(x))


class Block(nn.Module):
    def __init__(self, dim, attention, ffn):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = attention
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = ffn

    def forward(self, x, mask=None):
        x = x + self.attn(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    """dgsa 3.2: class token, learned positions, pre-norm blocks, a linear head."""

    def __init__(self, attention, ffn, img_size=32, patch_size=4, dim=256, depth=8, heads=8,
                 classes=10):
        super().__init__()
        self.patch_embed = nn.Module()
        self.patch_embed.proj = nn.Conv2d(3, dim, patch_size, patch_size)
        tokens = (img_size // patch_size) ** 2 + 1
        self.cls_token = nn.Parameter(0.02 * torch.randn(1, 1, dim))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, tokens, dim))
        self.blocks = nn.Sequential(
            *(Block(dim, attention(dim, heads, i + 1), ffn(dim)) for i in range(depth)))
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.head = nn.Linear(dim, classes)

    def forward(self, images):
        x = self.patch_embed.proj(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


def sinusoidal_positions(n, dim):
    """Sines at even and cosines at odd channels: (n, dim). dgsa 2.7."""
    rates = 10000 ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    angles = torch.arange(n, dtype=torch.float64)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()


class TextTransformer(nn.Module):
    """dgsa 3.3: scaled embedding, sinusoidal positions, pre-norm blocks, mean over the words.

    Word 0 is padding: no token attends to it and the mean leaves it out. Blocks of our own are a
    little faster than nn.TransformerEncoder, whose fast path is for inference only.
    """

    def __init__(self, attention, ffn, vocabulary=VOCABULARY, max_len=256, dim=256, depth=4,
                 heads=8, classes=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim, padding_idx=0)
        nn.init.normal_(self.embed.weight[1:], std=dim**-0.5)
        self.scale = dim**0.5
        self.register_buffer("positions", sinusoidal_positions(max_len, dim), persistent=False)
        self.blocks = nn.ModuleList(
            Block(dim, attention(dim, heads, i + 1), ffn(dim)) for i in range(depth))
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.head = nn.Linear(dim, classes)

    def forward(self, ids):
        words = ids != 0
        x = torch.add(self.positions[:ids.shape[1]], self.embed(ids), alpha=self.scale)
        mask = torch.zeros_like(words, dtype=x.dtype).masked_fill_(~words, -math.inf)
        for block in self.blocks:
            x = block(x, mask[:, None, None])
        words = words.to(x.dtype).unsqueeze(-1)
        return self.head((self.norm(x) * words).sum(1) / words.sum(1))


class Bottleneck(nn.Module):
    def __init__(self, channels, planes, stride, project):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, planes, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, 4 * planes, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * planes)
        self.downsample = nn.Sequential(
            nn.Conv2d(channels, 4 * planes, 1, stride, bias=False),
            nn.BatchNorm2d(4 * planes)) if project else None

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return F.relu(y, inplace=True)


class CifarResNet(nn.Module):
    """Bottleneck ResNet of depth 9 n + 2 for 32 x 32 images. kcla 3.1."""

    def __init__(self, depth, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        channels = 16
        for stage, planes in enumerate((16, 32, 64), start=1):
            blocks = []
            for i in range((depth - 2) // 9):
                stride = 2 if i == 0 and stage > 1 else 1
                blocks.append(Bottleneck(channels, planes, stride, project=i == 0))
                channels = 4 * planes
            setattr(self, f"layer{stage}", nn.Sequential(*blocks))
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


class ChannelConv(nn.Conv1d):
    """A kernel along the channels; its size is that of kcla 2.0."""

    def __init__(self, channels):
        kernel = int((math.log2(channels) + 1) / 2) // 2 * 2 + 1
        super().__init__(1, 1, kernel, padding=kernel // 2, bias=False)

    def forward(self, y):
        return super().forward(y.unsqueeze(1)).squeeze(1)


class Kcla(nn.Module):
    """Key-correlated layer attention without drop path. kcla 2.9."""

    def __init__(self, channels, previous, head_dim=16, p=0.7):
        super().__init__()
        self.heads = channels // head_dim
        self.Wq, self.Wk = ChannelConv(channels), ChannelConv(channels)
        self.Wv = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.head_att = nn.Linear(self.heads, self.heads, bias=False)
        self.bn_attention = nn.BatchNorm2d(channels)
        temperatures = torch.linspace(math.log(p), -math.log(p), self.heads).exp()
        self.register_buffer("divisors", 1 / temperatures, persistent=False)
        if previous:
            self.adjust_channel = nn.Conv2d(previous, channels, 1, stride=2, groups=self.heads,
                                            bias=False)
            self.u_Wk = ChannelConv(channels)
            self.u_bn = nn.BatchNorm2d(channels)

    # With its five axes it would be in the way of channels_last.
    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "norm_d"] = self.divisors.view(1, -1, 1, 1, 1)

    def keys(self, conv, x):
        k = conv(x.mean((2, 3))).view(x.shape[0], self.heads, -1)
        return k, k.norm(dim=2)

    def weights(self, norms):
        return (norms / self.divisors).clamp(max=10).exp()

    def per_channel(self, z, x):
        return z.repeat_interleave(x.shape[1] // self.heads, 1)[:, :, None, None]

    def forward(self, x, state):
        k, norms = self.keys(self.Wk, x)
        q = self.Wq(x.mean((2, 3))).view_as(k)
        if state is not None and state[0].shape != x.shape:
            u, z = state
            z = z.repeat_interleave(u.shape[1] // z.shape[1], 1)[:, :, None, None]
            u = self.u_bn(self.adjust_channel(u / z))
            z = self.weights(self.keys(self.u_Wk, u)[1])
            state = u * self.per_channel(z, x), z
        w = self.weights(norms)
        u = x * self.per_channel(w, x)
        z = w
        if state is not None:
            u, z = state[0] + u, state[1] + z
        gate = torch.sigmoid(self.head_att((q * k).sum(2) / norms)) / (z + 1e-3)
        o = self.Wv(u) * self.per_channel(gate, x)
        return x + F.relu(self.bn_attention(o)), (u, z)


class KclaResNet(nn.Module):
    """CifarResNet with KCLA in every block; names are those of its public code."""

    def __init__(self, depth, classes=10):
        super().__init__()
        plain = CifarResNet(depth, classes)
        self.conv1, self.bn1, self.fc = plain.conv1, plain.bn1, plain.fc
        self.stages = nn.ModuleList(
            nn.ModuleList(stage) for stage in (plain.layer1, plain.layer2, plain.layer3))
        for channels, stage in zip((64, 128, 256), self.stages):
            for i, block in enumerate(stage):
                block.kcla = Kcla(channels, channels // 2 if i == 0 else None)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        state = None
        for stage in self.stages:
            for block in stage:
                x, state = block.kcla(block(x), state)
        return self.fc(x.mean((2, 3)))


BUILDERS = {
    "vit": lambda: ViT(SoftmaxAttention, Mlp),
    "diff_vit": lambda: ViT(Differential, SwiGlu),
    "dgvit": lambda: ViT(GatedDifferential, SwiGlu),
    "vit_s16": lambda: ViT(SoftmaxAttention, Mlp, img_size=224, patch_size=16, dim=384, depth=12,
                           heads=6, classes=1000),
    "transformer": lambda: TextTransformer(SoftmaxAttention, partial(Mlp, activation=F.relu)),
    "diff_transformer": lambda: TextTransformer(Differential, SwiGlu),
    "dgt": lambda: TextTransformer(partial(GatedDifferential, residual=False), SwiGlu),
    "m_dgsa": lambda: GatedDifferential(256, 8),
    "softmax_attention": lambda: SoftmaxAttention(128, 4),
    "resnet20": partial(CifarResNet, depth=20),
    "resnet56": partial(CifarResNet, depth=56),
    "resnet56_kcla": partial(KclaResNet, depth=56),
    "mix_ffn": lambda: MixFfn(32, 8, 56),
}
