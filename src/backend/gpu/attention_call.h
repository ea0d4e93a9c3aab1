// What attention of any kind tells the kernels of kernels/attention*.cl.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "backend/attention_groups.h"
#include "backend/gpu/launch.h"

namespace fovea::gpu {

/// Empty where the heads do not begin as a HeadWalk says.
std::optional<HeadWalk> head_walk(const HeadLayout& layout);

/// Heads first, first + step, ...
struct HeadWave {
  Index first, step, count;
};
/// All heads in as few waves as the groups allow: no two heads of a wave are of one group.
std::vector<HeadWave> head_waves(const HeadGroups& groups, std::int64_t heads);

/// All heads, of layouts that a HeadWalk can say.
struct GpuBackend::AttentionCall {
  AttentionCall(const AttentionArgs& args, const AttentionInputs& in);
  AttentionCall(const UnitAttentionArgs& args, const UnitAttentionInputs& in);
  void take(const HeadWave& wave);

  AttentionShape shape{};
  DType dtype;
  Real scale, region_mask;
  Tensor q, k, v, mask, table, regions, bias, padding, c1, c2;
};

template <class... More>
void GpuBackend::launch_attention(Kernel kernel, const AttentionCall& of, std::int64_t rows,
                                  const More&... more) const {
  const AttentionShape& s = of.shape;
  const std::int64_t blocks = (rows + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
  launch(kernel, of.dtype, s.batch * s.count * s.units * blocks, s, of.scale, of.region_mask, of.q,
         of.k, of.v, of.mask, of.table, of.regions, of.bias, of.padding, of.c1, of.c2, more...);
}

}  // namespace fovea::gpu
