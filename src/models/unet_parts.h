// What U-Nets are built from. kcla 3.5.
#pragma once

#include <optional>
#include <string>

#include "models/model.h"
#include "nn/convolution.h"
#include "nn/norm.h"

namespace fovea::models {

/// Twice 3x3 convolution (with bias), BN, ReLU: (b, in, h, w) -> (b, out, h, w). Names:
/// double_conv.{0, 1, 3, 4}.
class DoubleConv final : public nn::UnaryModule {
 public:
  DoubleConv(const nn::Build& build, std::int64_t in, std::int64_t out);
  std::string type() const override { return "DoubleConv"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  nn::Conv2d& conv1_;
  nn::BatchNorm2d& bn1_;
  nn::Conv2d& conv2_;
  nn::BatchNorm2d& bn2_;
};

/// Twice the size of x, bilinear with aligned corners.
Tensor doubled(const Tensor& x);
/// [skip, x] along the channels. x is padded with zeros, or cropped, around its centre to the size
/// of skip; of an odd difference the larger part is at the end.
Tensor with_skip(const Tensor& skip, const Tensor& x);

/// doubled(x), with_skip, DoubleConv (name "conv").
class Up final : public nn::Module {
 public:
  Up(const nn::Build& build, std::int64_t in, std::int64_t out);
  std::string type() const override { return "Up"; }
  Tensor operator()(const Tensor& x, const Tensor& skip);

 private:
  DoubleConv& conv_;
};

/// What every segmentation network is told about its input and output; null: as the data set.
struct DenseOptions {
  std::optional<std::array<std::int64_t, 2>> img_size;
  std::optional<std::int64_t> in_chans;
  std::optional<std::int64_t> num_classes;
};
/// Adds these keys to the fields of a network's options, which derive from DenseOptions.
template <class Options>
schema::Fields<Options>& add_dense_fields(schema::Fields<Options>& fields) {
  return fields
      .add("img_size", &DenseOptions::img_size, schema::at_least(1),
           "height and width, to count without a data set; null = the data set's")
      .add("in_chans", &DenseOptions::in_chans, schema::at_least(1),
           "channels of the images; null = the data set's")
      .add("num_classes", &DenseOptions::num_classes, schema::at_least(1),
           "maps that the network puts out; null = classes of the data set");
}

/// A network from images (b, c, h, w) to foreground probabilities (b, num_classes, h, w). Its
/// multiply-adds are also counted as the paper does (kcla 3.6).
class SegmentationNetwork : public Model {
 public:
  static constexpr Output kOutput = Output::kMasks;
  std::optional<std::int64_t> paper_macs(const std::vector<autograd::Event>&) const override;

 protected:
  /// Resolves what is null; throws ConfigError if the image is smaller than `reduction`, by which
  /// the network divides its sides.
  SegmentationNetwork(const nn::Build& build, const DenseOptions& options, const DataShape& data,
                      std::int64_t reduction);
  std::int64_t in_chans() const { return in_chans_; }
  std::int64_t num_classes() const { return num_classes_; }
  /// The last convolution, 1x1, called `name`.
  nn::Conv2d& add_head(const std::string& name, const nn::Build& build, std::int64_t in);
  /// (b, in_chans, h, w) -> the head's result, before the sigmoid.
  virtual Tensor logits(const Tensor& images, attention::Probe* probe) = 0;

 private:
  Tensor forward(const Tensor& images, attention::Probe* probe) final;

  DType activations_;
  std::int64_t in_chans_ = 0;
  std::int64_t num_classes_ = 0;
};

}  // namespace fovea::models
