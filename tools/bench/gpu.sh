#!/bin/sh
# Fovea on a graphics processor, in under ten minutes on a fast machine: builds, runs every golden case on
# the device, then times training steps and attention beside PyTorch on the same card.
#   tools/bench/gpu.sh [DEVICE] [PYTHON]      DEVICE: cuda (default), cuda:1, opencl
# PYTHON is one that has PyTorch and NumPy (default: python3); without them the device is timed alone.
# What to expect: no failed case, and a time ratio of at most 0.8 to PyTorch's eager mode, 1.1 to its
# compiled one.
set -eu
cd "$(dirname "$0")/../.."
device=${1:-cuda}
python=${2:-python3}
models=vit,dgvit,resnet56_kcla,pvt_gdla,mavit_t,dformer
attention=dgvit_attention_4096,gdla_4096,gdla_16384,gdla_65536,mala_4096,mala_16384,mala_65536
attention=$attention,softmax_attention_4096,softmax_attention_16384

# Single precision as PyTorch's users of these cards have it.
case $device in
  cuda*) single=tf32 setting_of_single=train.allow_tf32=true ;;
  *) single=float32 setting_of_single=train.precision=float32 ;;
esac

cmake --preset release -DFOVEA_LEAVE_OUT= >/dev/null
cmake --build --preset release --target fovea inspect verify bench
bin=$PWD/build/release/bin
"$bin/inspect" --devices

# The full set of golden cases lies beside a checkout where there is one.
fixtures=tests/fixtures
[ ! -d ../shared/fixtures ] || fixtures=../shared/fixtures
for paper in dgsa gdla kcla mala dformer; do
  printf '%s: ' "$paper"
  "$bin/verify" --device "$device" "$fixtures/$paper" >"build/verify-$paper.txt" || :
  tail -n 1 "build/verify-$paper.txt"
  grep ' failed ' "build/verify-$paper.txt" || :
done

# Networks of small kernels, launched one by one and as graphs.
case $device in
  cuda*)
    for model in dgvit resnet56_kcla; do
      for graphs in false true; do
        printf '%s, cuda_graphs=%s: ' "$model" "$graphs"
        "$bin/bench" "experiments/bench/$model.json" --set "train.device=$device" \
          --set "train.cuda_graphs=$graphs" --set train.precision=bfloat16 --steps 20 | sed -n 2p
      done
    done
    ;;
esac

if ! "$python" -c 'import numpy, torch' 2>/dev/null; then
  echo "$python has no PyTorch: Fovea alone"
  for model in vit dgvit resnet56_kcla pvt_gdla mavit_t dformer; do
    for setting in $setting_of_single train.precision=bfloat16; do
      "$bin/bench" "experiments/bench/$model.json" --set "train.device=$device" --set "$setting" \
        --steps 5
    done
  done
  exit 0
fi
for cases in "$models" "$attention"; do
  "$python" tools/bench/compare_torch.py --device "$device" --models "$cases" \
    --precision $single,bfloat16 --pairs 1 --steps 5 || :
done
