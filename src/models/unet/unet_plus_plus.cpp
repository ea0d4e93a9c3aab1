// UNet++ without deep supervision (Zhou et al., "UNet++: a nested U-Net architecture", 2018), a row
// of Table IV. Names are those of the common PyTorch implementation. kcla 3.5.

#include <fmt/format.h>

#include "models/dense.h"
#include "models/unet/unet_parts.h"
#include "nn/sizes.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using models::DataShape;

struct UNetPlusPlusOptions : models::ImageOptions {
  std::vector<std::int64_t> widths = {32, 64, 128, 256, 512};
};

// Twice 3x3 convolution (with bias), BN, ReLU.
class Node final : public nn::UnaryModule {
 public:
  Node(const nn::Build& build, std::int64_t in, std::int64_t out)
      : conv1_(child<nn::Conv2d>("conv1", build, in, out, ops::Sizes{3},
                                 ops::ConvOptions{.padding = {1}})),
        bn1_(child<nn::BatchNorm2d>("bn1", build, out)),
        conv2_(child<nn::Conv2d>("conv2", build, out, out, ops::Sizes{3},
                                 ops::ConvOptions{.padding = {1}})),
        bn2_(child<nn::BatchNorm2d>("bn2", build, out)) {}
  std::string type() const override { return "Node"; }

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor y = bn1_.with_relu(conv1_(x));
    return bn2_.with_relu(conv2_(y));
  }

 private:
  nn::Conv2d& conv1_;
  nn::BatchNorm2d& bn1_;
  nn::Conv2d& conv2_;
  nn::BatchNorm2d& bn2_;
};

// x(i, 0) is the encoder at resolution i; x(i, j) sees all of row i so far and x(i + 1, j - 1)
// enlarged.
class UNetPlusPlus final : public models::DenseNetwork {
 public:
  UNetPlusPlus(const nn::Build& build, const UNetPlusPlusOptions& o, const DataShape& data)
      : DenseNetwork(build, o, data) {
    check_size(std::int64_t{1} << (o.widths.size() - 1));
    nodes_.resize(o.widths.size());
    for (std::size_t j = 0; j < o.widths.size(); ++j) {
      for (std::size_t i = 0; i + j < o.widths.size(); ++i) {
        const std::int64_t before = i == 0 ? in_chans() : o.widths[i - 1];
        const std::int64_t in =
            j == 0 ? before : static_cast<std::int64_t>(j) * o.widths[i] + o.widths[i + 1];
        nodes_[i].push_back(&child<Node>(fmt::format("conv{}_{}", i, j), build, in, o.widths[i]));
      }
    }
    head_ = &add_head("final", build, o.widths[0]);
  }
  std::string type() const override { return "UNetPlusPlus"; }

 protected:
  std::vector<Tensor> maps(const Tensor& images, attention::Probe*) override {
    std::vector<std::vector<Tensor>> rows(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      rows[i].push_back((*nodes_[i][0])(i == 0 ? images : ops::max_pool(rows[i - 1][0], {2})));
    }
    for (std::size_t j = 1; j < nodes_.size(); ++j) {
      for (std::size_t i = 0; i + j < nodes_.size(); ++i) {
        const Tensor skips = rows[i].size() == 1 ? rows[i][0] : ops::concat(rows[i], 1);
        rows[i].push_back(
            (*nodes_[i][j])(models::with_skip(skips, models::doubled(rows[i + 1][j - 1]))));
      }
    }
    return {(*head_)(rows[0].back())};
  }

 private:
  std::vector<std::vector<Node*>> nodes_;
  nn::Conv2d* head_ = nullptr;
};

schema::Fields<UNetPlusPlusOptions> unet_plus_plus_fields() {
  schema::Fields<UNetPlusPlusOptions> fields;
  fields
      .add("widths", &UNetPlusPlusOptions::widths, nn::channel_count(),
           "channels of each resolution")
      .check([](const UNetPlusPlusOptions& o) {
        return o.widths.empty() ? std::string("widths is empty") : std::string();
      });
  return models::add_dense_fields(fields);
}

}  // namespace

FOVEA_MODEL(unet_plus_plus, UNetPlusPlus, "UNet++ without deep supervision (kcla 3.5)",
            unet_plus_plus_fields())
