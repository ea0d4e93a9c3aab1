#!/usr/bin/env python3
"""Gives the weights of torchvision's detectors the names that Fovea reads.

    torchvision_detectors.py IN.safetensors OUT.safetensors [--coco]

IN is the state_dict() of fasterrcnn_resnet50_fpn, maskrcnn_resnet50_fpn or retinanet_resnet50_fpn,
saved by safetensors.torch.save_file; OUT is for faster_rcnn, mask_rcnn or retinanet over resnet50.
docs/evaluation.md says what else differs. Needs numpy and safetensors.
"""

import argparse
import re
import sys

import numpy
from safetensors.numpy import load_file, save_file

# Numbers of COCO's 90 categories that no object has. torchvision counts from 0, the background.
UNUSED = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}
COCO = [k for k in range(1, 91) if k not in UNUSED]

# In order; the first that fits counts. torchvision before 0.14 has names without ".0".
NAMES = [
    (r"backbone\.body\.(.+)", r"backbone.\1"),
    (r"backbone\.fpn\.inner_blocks\.(\d)(?:\.0)?\.(\w+)", r"neck.lateral_convs.\1.conv.\2"),
    (r"backbone\.fpn\.layer_blocks\.(\d)(?:\.0)?\.(\w+)", r"neck.fpn_convs.\1.conv.\2"),
    (r"backbone\.fpn\.extra_blocks\.p6\.(\w+)", r"neck.fpn_convs.3.conv.\1"),
    (r"backbone\.fpn\.extra_blocks\.p7\.(\w+)", r"neck.fpn_convs.4.conv.\1"),
    (r"rpn\.head\.conv(?:\.0\.0)?\.(\w+)", r"rpn_head.rpn_conv.\1"),
    (r"rpn\.head\.cls_logits\.(\w+)", r"rpn_head.rpn_cls.\1"),
    (r"rpn\.head\.bbox_pred\.(\w+)", r"rpn_head.rpn_reg.\1"),
    (r"roi_heads\.box_head\.fc6\.(\w+)", r"roi_head.bbox_head.shared_fcs.0.\1"),
    (r"roi_heads\.box_head\.fc7\.(\w+)", r"roi_head.bbox_head.shared_fcs.1.\1"),
    (r"roi_heads\.box_predictor\.cls_score\.(\w+)", r"roi_head.bbox_head.fc_cls.\1"),
    (r"roi_heads\.box_predictor\.bbox_pred\.(\w+)", r"roi_head.bbox_head.fc_reg.\1"),
    (r"roi_heads\.mask_head\.(\d)\.0\.(\w+)", r"roi_head.mask_head.convs.\1.conv.\2"),
    (r"roi_heads\.mask_predictor\.conv5_mask\.(\w+)", r"roi_head.mask_head.upsample.\1"),
    (r"roi_heads\.mask_predictor\.mask_fcn_logits\.(\w+)", r"roi_head.mask_head.conv_logits.\1"),
    (r"head\.classification_head\.conv\.(\d)(?:\.0)?\.(\w+)", r"bbox_head.cls_convs.\1.conv.\2"),
    (r"head\.classification_head\.cls_logits\.(\w+)", r"bbox_head.retina_cls.\1"),
    (r"head\.regression_head\.conv\.(\d)(?:\.0)?\.(\w+)", r"bbox_head.reg_convs.\1.conv.\2"),
    (r"head\.regression_head\.bbox_reg\.(\w+)", r"bbox_head.retina_reg.\1"),
]


def own_name(name):
    old = re.fullmatch(r"roi_heads\.mask_head\.mask_fcn(\d)\.(\w+)", name)
    if old:
        return f"roi_head.mask_head.convs.{int(old[1]) - 1}.conv.{old[2]}"
    for pattern, ours in NAMES:
        if re.fullmatch(pattern, name):
            return re.sub(pattern, ours, name)
    sys.exit(f"{name}: expected a Faster R-CNN, Mask R-CNN or RetinaNet over ResNet-50 with a feature "
             "pyramid, without norms in its heads (not v2)")


def rows_of(name, x, coco):
    """The rows of the classes: of torchvision the background is the first, here the last."""
    if ".fc_cls." in name:
        objects = x[COCO] if coco else x[1:]
        return numpy.concatenate([objects, x[:1]])
    if ".conv_logits." in name:
        return x[COCO] if coco else x[1:]
    if ".fc_reg." in name:
        of_class = x.reshape(-1, 4, *x.shape[1:])
        return (of_class[COCO] if coco else of_class[1:]).reshape(-1, *x.shape[1:])
    if ".retina_cls." in name and coco:  # anchor x class; class 0 is never an object
        return x.reshape(9, -1, *x.shape[1:])[:, COCO].reshape(-1, *x.shape[1:])
    return x


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("given", metavar="IN")
    parser.add_argument("made", metavar="OUT")
    parser.add_argument("--coco", action="store_true",
                        help="keep the 80 classes of COCO out of torchvision's 91")
    args = parser.parse_args()
    tensors, extra, left_out = {}, None, []
    for name, x in load_file(args.given).items():
        ours = own_name(name)
        if args.coco and ours.endswith(("fc_cls.bias", "retina_cls.bias")):
            classes = len(x) // (9 if "retina" in ours else 1)
            if classes != 91:
                sys.exit(f"--coco: {name} has {classes} classes; expected 91")
        if name == "backbone.fpn.extra_blocks.p6.weight":
            extra = x
        tensors[ours] = numpy.array(rows_of(ours, x, args.coco), order="C")
    # RetinaNet without "v2" makes P6 of P5 and has a ReLU before P7: other convolutions.
    if extra is not None and extra.shape[1] != 2048:
        left_out = [name for name in tensors if re.match(r"neck\.fpn_convs\.[34]\.", name)]
        for name in left_out:
            del tensors[name]
    save_file(tensors, args.made)
    print(f"{args.made}: {len(tensors)} tensors")
    if left_out:
        print("left out, since Fovea makes P6 of C5: " + ", ".join(sorted(left_out)))


if __name__ == "__main__":
    main()
