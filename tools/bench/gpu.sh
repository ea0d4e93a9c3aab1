#!/bin/sh
# Fovea on a graphics processor: builds, runs every golden case on the device (of CUDA, a small one under
# compute-sanitizer too, where that is installed), then times training steps and attention beside PyTorch on
# the same card. Goes on where something fails, says so at the end, and then exits with 1.
#   tools/bench/gpu.sh [DEVICE] [PYTHON]      DEVICE: cuda (default), cuda:1, opencl
# PYTHON is one that has PyTorch and NumPy (default: python3); without them the device is timed alone.
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

failed=
fail() {
  echo "FAILED: $1" >&2
  failed="$failed
  $1"
}
finish() {
  [ -n "$failed" ] || exit 0
  echo "failed:$failed" >&2
  exit 1
}

cmake --preset release -DFOVEA_LEAVE_OUT= >/dev/null
cmake --build --preset release --target fovea inspect verify bench
bin=$PWD/build/release/bin
"$bin/inspect" --devices

# The full set of golden cases lies beside a checkout where there is one.
fixtures=tests/fixtures
[ ! -d ../shared/fixtures ] || fixtures=../shared/fixtures
for paper in dgsa gdla kcla mala dformer; do
  printf '%s: ' "$paper"
  "$bin/verify" --device "$device" "$fixtures/$paper" >"build/verify-$paper.txt" ||
    fail "verify $paper (build/verify-$paper.txt)"
  tail -n 1 "build/verify-$paper.txt"
  grep ' failed ' "build/verify-$paper.txt" || :
done

case $device in
  cuda*)
    if command -v compute-sanitizer >/dev/null; then
      for tool in memcheck racecheck synccheck; do
        compute-sanitizer --tool $tool --error-exitcode 9 "$bin/verify" --device "$device" \
          tests/fixtures/kcla >"build/$tool.txt" 2>&1 || fail "compute-sanitizer $tool (build/$tool.txt)"
      done
    else
      echo "compute-sanitizer is not installed: left out"
    fi
    ;;
esac

# Networks of small kernels, launched one by one and as graphs.
case $device in
  cuda*)
    for model in dgvit resnet56_kcla; do
      for graphs in false true; do
        printf '%s, cuda_graphs=%s: ' "$model" "$graphs"
        "$bin/bench" "experiments/bench/$model.json" --set "train.device=$device" \
          --set "train.cuda_graphs=$graphs" --set train.precision=bfloat16 --steps 20 \
          >build/graphs.txt || fail "bench $model, cuda_graphs=$graphs"
        sed -n 2p build/graphs.txt
      done
    done
    ;;
esac

if ! "$python" -c 'import numpy, torch' 2>/dev/null; then
  echo "$python has no PyTorch: Fovea alone"
  for model in vit dgvit resnet56_kcla pvt_gdla mavit_t dformer; do
    for setting in $setting_of_single train.precision=bfloat16; do
      "$bin/bench" "experiments/bench/$model.json" --set "train.device=$device" --set "$setting" \
        --steps 5 || fail "bench $model, $setting"
    done
  done
  finish
fi
for cases in "$models" "$attention"; do
  "$python" tools/bench/compare_torch.py --device "$device" --models "$cases" \
    --precision $single,bfloat16 --pairs 1 --steps 5 || fail "compare_torch.py $cases"
done
finish
