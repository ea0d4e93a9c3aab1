"""torchvision's Mask R-CNN, with the sizes and the training of experiments/bench/mask_rcnn.json.

Its own code is what is measured: the transform of the images, proposals, sampling and the losses
included. State-dict names are mmdet's, which are Fovea's; the background is the last class there.
"""

import torch
from torch import nn
from torchvision.models import resnet50
from torchvision.models.detection import MaskRCNN
from torchvision.models.detection.backbone_utils import _resnet_fpn_extractor
from torchvision.ops import FrozenBatchNorm2d

SIDE = 512
CLASSES = 80
# Objects of every image: left, top, width and height over the side of the image (those of
# src/training/tasks/detection/detection_batch.cpp).
OBJECTS = ((0.05, 0.10, 0.50, 0.60), (0.40, 0.30, 0.55, 0.45), (0.10, 0.70, 0.25, 0.20),
           (0.60, 0.05, 0.20, 0.30), (0.80, 0.80, 0.10, 0.12), (0.30, 0.55, 0.06, 0.05))


def objects():
    """Boxes with ellipses inside."""
    boxes = SIDE * torch.tensor([[x, y, x + w, y + h] for x, y, w, h in OBJECTS])
    at = torch.arange(SIDE) + 0.5
    u = (2 * at - boxes[:, :1] - boxes[:, 2:3]) / (boxes[:, 2:3] - boxes[:, :1])
    v = (2 * at - boxes[:, 1:2] - boxes[:, 3:]) / (boxes[:, 3:] - boxes[:, 1:2])
    masks = u[:, None, :]**2 + v[:, :, None]**2 <= 1
    return {"boxes": boxes, "labels": 1 + torch.arange(len(OBJECTS)),
            "masks": masks.to(torch.uint8)}


class MaskRcnn(nn.Module):
    """Images (b, 3, 512, 512) -> the sum of the losses. `frozen`: as torchvision trains it from
    weights of ImageNet, with fixed batch norms and neither the stem nor the first stage trained."""

    def __init__(self, frozen):
        super().__init__()
        body = resnet50(norm_layer=FrozenBatchNorm2d if frozen else nn.BatchNorm2d)
        for name, norm in body.named_modules():
            # Without statistics of their own, residual blocks would double the variance each.
            if name.endswith("bn3"):
                nn.init.constant_(norm.weight, 0.2)
        self.net = MaskRCNN(_resnet_fpn_extractor(body, 3 if frozen else 5), CLASSES + 1,
                            min_size=SIDE, max_size=SIDE, image_mean=[0.0] * 3, image_std=[1.0] * 3,
                            rpn_pre_nms_top_n_train=2000, rpn_post_nms_top_n_train=1000)

    def forward(self, x):
        return sum(self.net(list(x), [objects() for _ in x]).values())

    def state_dict(self):
        own = self.net.state_dict()
        named = {}
        for name, tensor in own.items():
            if name.startswith("backbone.body."):
                named["backbone." + name.removeprefix("backbone.body.")] = tensor
        for part, neck in (("inner_blocks", "lateral_convs"), ("layer_blocks", "fpn_convs")):
            for i in range(4):
                for kind in ("weight", "bias"):
                    named[f"neck.{neck}.{i}.conv.{kind}"] = own[f"backbone.fpn.{part}.{i}.0.{kind}"]
        for kind in ("weight", "bias"):
            for to, name in (("rpn_head.rpn_conv", "rpn.head.conv.0.0"),
                             ("rpn_head.rpn_cls", "rpn.head.cls_logits"),
                             ("rpn_head.rpn_reg", "rpn.head.bbox_pred"),
                             ("roi_head.bbox_head.shared_fcs.0", "roi_heads.box_head.fc6"),
                             ("roi_head.bbox_head.shared_fcs.1", "roi_heads.box_head.fc7"),
                             ("roi_head.mask_head.upsample",
                              "roi_heads.mask_predictor.conv5_mask")):
                named[f"{to}.{kind}"] = own[f"{name}.{kind}"]
            for i in range(4):
                named[f"roi_head.mask_head.convs.{i}.conv.{kind}"] = \
                    own[f"roi_heads.mask_head.{i}.0.{kind}"]
            # The background comes first, and has a box and a mask of its own.
            logits = own[f"roi_heads.box_predictor.cls_score.{kind}"]
            named[f"roi_head.bbox_head.fc_cls.{kind}"] = torch.cat([logits[1:], logits[:1]])
            named[f"roi_head.bbox_head.fc_reg.{kind}"] = \
                own[f"roi_heads.box_predictor.bbox_pred.{kind}"][4:]
            named[f"roi_head.mask_head.conv_logits.{kind}"] = \
                own[f"roi_heads.mask_predictor.mask_fcn_logits.{kind}"][1:]
        return named


BUILDERS = {"mask_rcnn": lambda: MaskRcnn(False), "mask_rcnn_frozen": lambda: MaskRcnn(True)}
