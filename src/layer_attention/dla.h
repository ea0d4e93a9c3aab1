// Dynamic layer attention: what its two forms share. kcla 2.4.
#pragma once

#include "layer_attention/heads.h"
#include "layer_attention/sharing_unit.h"

namespace fovea::layer_attention {

/// The state that refreshes a sample: its own, or (a defect of the public code) that of the first
/// sample of the batch.
enum class DsuState { kPerSample, kBatch0 };

struct DlaOptions : HeadOptions {
  DlaOptions() { head_dim = std::nullopt; }
  std::optional<std::int64_t> reduction;
  DsuState dsu_state = DsuState::kPerSample;

  std::int64_t reduction_for(Family family) const;
};
schema::Fields<DlaOptions> dla_fields();
std::array<Names, 3> dla_names();

/// What the layers of a stage share: lstm, and with `excite` a depthwise 3x3 convolution.
class DlaShared : public nn::Module {
 public:
  DlaShared(const Slot& slot, const DlaOptions& options, bool excite);
  std::string type() const override { return "DynamicSharing"; }
  SharingUnit& unit() { return unit_; }
  nn::Conv2d& excite() { return *excite_; }

 private:
  SharingUnit& unit_;
  nn::Conv2d* excite_ = nullptr;
};

/// The refreshing state of each sample, or the first one for all.
CellState refreshing(const CellState& state, DsuState kind);

}  // namespace fovea::layer_attention
