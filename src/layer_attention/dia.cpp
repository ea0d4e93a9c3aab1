// DIANet: one cell with memory for all blocks of a stage scales the channels of their branches.
// kcla 2.5.

#include "layer_attention/channel_conv.h"
#include "layer_attention/gated_channels.h"
#include "layer_attention/sharing_unit.h"

namespace {

using namespace fovea;
using layer_attention::Family;
using layer_attention::SharingUnit;
using layer_attention::Slot;

struct DiaOptions {
  std::optional<std::int64_t> reduction;
};

const layer_attention::Info kDia{
    .title = "Dense-and-implicit attention (DIANet)",
    .source = "kcla 2.5",
    .names = {{{.blocks = "ModuleList"}, {.blocks = "ModuleList"}, {.blocks = "ModuleList"}}}};

class Dia final : public layer_attention::GatedChannels {
 public:
  class Shared final : public nn::Module {
   public:
    Shared(const Slot& slot, const DiaOptions& o)
        : unit(child<SharingUnit>("lstm", slot.build, slot.channels, reduction(slot, o), true)) {}
    std::string type() const override { return "DiaShared"; }
    SharingUnit& unit;

   private:
    static std::int64_t reduction(const Slot& slot, const DiaOptions& o) {
      return o.reduction.value_or(slot.family == Family::kImageNet ? 20 : 4);
    }
  };

  Dia(const Slot& slot, const DiaOptions&)
      : first_(slot.layer == 0), shared_(dynamic_cast<Shared&>(*slot.shared)) {}
  std::string type() const override { return "DIA"; }

 protected:
  Tensor gate(const layer_attention::Layer& in, layer_attention::State& state) override {
    auto& cell = state.get<layer_attention::CellState>(first_);
    cell = shared_.unit(layer_attention::pooled(in.x), cell);
    return cell.hidden;
  }

 private:
  bool first_;
  Shared& shared_;
};

}  // namespace

FOVEA_LAYER_ATTENTION(dia, Dia, kDia,
                      fovea::schema::Fields<DiaOptions>{}.add(
                          "reduction", &DiaOptions::reduction, fovea::schema::at_least(1),
                          "by how much the hidden layers of the cell are narrower; null = 4 for "
                          "small images, 20 for ImageNet (the published size)"))
