#include "backend/gpu/attention_call.h"

namespace fovea::gpu {

std::optional<HeadWalk> head_walk(const HeadLayout& layout) {
  const std::vector<std::int64_t>& offsets = layout.head_offsets;
  HeadWalk walk{.item = layout.batch_stride,
                .token = layout.token_stride,
                .first = 0,
                .per = 1,
                .outer = 0,
                .inner = 0};
  if (offsets.empty()) return walk;
  const auto heads = static_cast<std::int64_t>(offsets.size());
  const auto offset = [&](std::int64_t head) { return offsets[static_cast<std::size_t>(head)]; };
  walk.first = offset(0);
  if (heads > 1) walk.inner = offset(1) - offset(0);
  while (walk.per < heads && offset(walk.per) == walk.first + walk.per * walk.inner) ++walk.per;
  if (walk.per < heads) walk.outer = offset(walk.per) - walk.first;
  for (std::int64_t head = 0; head < heads; ++head) {
    if (offset(head) != walk.first + head / walk.per * walk.outer + head % walk.per * walk.inner)
      return std::nullopt;
  }
  return walk;
}

std::vector<HeadWave> head_waves(const HeadGroups& groups, std::int64_t heads) {
  std::vector<std::int64_t> group_of(static_cast<std::size_t>(heads));
  for (std::int64_t group = 0; group < groups.count(); ++group) {
    for (const std::int64_t head : groups[group]) group_of[static_cast<std::size_t>(head)] = group;
  }
  const auto apart = [&](const HeadWave& wave) {
    std::set<std::int64_t> met;
    for (Index i = 0; i < wave.count; ++i)
      met.insert(group_of[static_cast<std::size_t>(wave.first + i * wave.step)]);
    return std::ssize(met) == wave.count;
  };
  for (std::int64_t count = 1; count <= heads; ++count) {
    if (heads % count != 0) continue;
    std::vector<HeadWave> across, along;  // every count-th head, or heads beside each other
    for (std::int64_t i = 0; i < count; ++i) {
      across.push_back({i, count, heads / count});
      along.push_back({i * (heads / count), 1, heads / count});
    }
    for (const auto& waves : {across, along}) {
      if (std::all_of(waves.begin(), waves.end(), apart)) return waves;
    }
  }
  return {};  // there are no heads
}

GpuBackend::AttentionCall::AttentionCall(const AttentionArgs& args, const AttentionInputs& in)
    : dtype(in.q.dtype()),
      scale{args.scale, dtype},
      region_mask{0, dtype},
      q(in.q),
      k(in.k),
      v(in.v),
      mask(in.mask),
      c1(in.c1),
      c2(in.c2) {
  shape.batch = args.batch;
  shape.units = 1;
  shape.heads = args.heads;
  shape.queries = shape.tokens = args.queries;
  shape.keys = args.keys;
  shape.q[0] = head_walk(args.q).value();
  shape.q[1] = head_walk(args.q2).value();
  shape.k[0] = head_walk(args.k).value();
  shape.k[1] = head_walk(args.k2).value();
  shape.v = head_walk(args.v).value();
  shape.dim = static_cast<Int32>(args.q.dim);
  shape.width = static_cast<Int32>(args.v.dim);
  shape.maps = args.two_maps() ? 2 : 1;
  shape.causal = args.causal;
  shape.add = args.add;
  take({0, 1, args.heads});
}

GpuBackend::AttentionCall::AttentionCall(const UnitAttentionArgs& args,
                                         const UnitAttentionInputs& in)
    : dtype(in.q.dtype()),
      scale{args.scale, dtype},
      region_mask{args.region_mask, dtype},
      q(in.q),
      k(in.k),
      v(in.v),
      table(in.table),
      regions(in.regions),
      bias(in.bias),
      padding(in.padding) {
  shape.batch = args.batch;
  shape.units = args.units;
  shape.heads = args.heads;
  shape.queries = shape.keys = args.members;
  shape.tokens = args.tokens;
  shape.q[0] = head_walk(args.q).value();
  shape.k[0] = head_walk(args.k).value();
  shape.v = head_walk(args.v).value();
  shape.dim = static_cast<Int32>(args.q.dim);
  shape.width = static_cast<Int32>(args.v.dim);
  shape.maps = 1;
  shape.padding_attends = args.padding_attends;
  take({0, 1, args.heads});
}

void GpuBackend::AttentionCall::take(const HeadWave& wave) {
  shape.first_head = wave.first;
  shape.head_step = wave.step;
  shape.count = wave.count;
}

}  // namespace fovea::gpu
