#include "models/heads/fpn.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/elementwise.h"

namespace fovea::models {

Fpn::Fpn(const nn::Build& outer, const FpnOptions& o)
    : start_(static_cast<std::size_t>(o.start_level)),
      inputs_(o.in_channels.size()),
      outputs_(static_cast<std::size_t>(o.num_outs)) {
  FOVEA_CHECK(o.start_level >= 0 && start_ < inputs_, ConfigError,
              fmt::format("fpn: start_level is {} with {} levels", o.start_level, inputs_));
  const std::size_t used = inputs_ - start_;
  FOVEA_CHECK(outputs_ >= used, ConfigError,
              fmt::format("fpn: num_outs is {} with {} levels from level {} on; expected at "
                          "least as many",
                          o.num_outs, used, o.start_level));
  nn::Build build = outer;
  build.init = nn::Init::kXavier;
  const ops::ConvOptions same{.padding = {1}};
  for (std::size_t i = 0; i < used; ++i) {
    lateral_convs_.push_back(&child<nn::Conv2d>(fmt::format("lateral_convs.{}.conv", i), build,
                                                o.in_channels[start_ + i], o.out_channels,
                                                ops::Sizes{1}));
    fpn_convs_.push_back(&child<nn::Conv2d>(fmt::format("fpn_convs.{}.conv", i), build,
                                            o.out_channels, o.out_channels, ops::Sizes{3}, same));
  }
  if (o.extra_convs == ExtraConvs::kNone) return;
  const ops::ConvOptions halving{.stride = {2}, .padding = {1}};
  for (std::size_t i = used; i < outputs_; ++i) {
    const std::int64_t in = i == used ? o.in_channels.back() : o.out_channels;
    fpn_convs_.push_back(&child<nn::Conv2d>(fmt::format("fpn_convs.{}.conv", i), build, in,
                                            o.out_channels, ops::Sizes{3}, halving));
  }
}

std::vector<Tensor> Fpn::operator()(const std::vector<Tensor>& levels) {
  const auto scope = enter();
  FOVEA_CHECK(levels.size() == inputs_, ShapeError,
              fmt::format("fpn: {} maps; expected {}", levels.size(), inputs_));
  const std::size_t used = lateral_convs_.size();
  std::vector<Tensor> maps(used);
  for (std::size_t i = used; i-- > 0;) {
    maps[i] = (*lateral_convs_[i])(levels[start_ + i]);
    if (i + 1 == used) continue;
    const ops::Sizes size{maps[i].size(2), maps[i].size(3)};
    maps[i] = ops::add(maps[i], ops::resize(maps[i + 1], size, ops::Interpolation::kNearest));
  }
  for (std::size_t i = 0; i < used; ++i) maps[i] = (*fpn_convs_[i])(maps[i]);
  for (std::size_t i = used; i < outputs_; ++i) {
    if (i < fpn_convs_.size()) {
      maps.push_back((*fpn_convs_[i])(i == used ? levels.back() : maps.back()));
    } else {
      maps.push_back(ops::max_pool(maps.back(), {1}, {2}));
    }
  }
  return maps;
}

}  // namespace fovea::models
