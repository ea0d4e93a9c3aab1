#include <array>
#include <cmath>
#include <vector>

#include "data/augment/pictures/warp.h"
#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

struct ElasticOptions {
  double prob = 0.5;
  double alpha = 1;
  double sigma = 50;
};

class Elastic final : public PictureTransform {
 public:
  explicit Elastic(const ElasticOptions& o) : o_(o) {}
  bool moves_pixels() const override { return true; }
  void apply(Planes x, const TransformContext& context) const override {
    if (!happens(context.stream, o_.prob)) return;
    const RandomStream noise = context.stream.fork("displacements");
    std::vector<float> moves(static_cast<std::size_t>(2 * x.plane()));
    for (std::size_t i = 0; i < moves.size(); ++i) moves[i] = 2 * noise.uniform(i) - 1;
    const Planes field{2, x.height, x.width, moves.data()};
    smooth(field, static_cast<std::int64_t>(std::ceil(3 * o_.sigma)), o_.sigma);
    warp(x, context.mask, true, [&](std::int64_t i, std::int64_t j) {
      const std::int64_t at = i * x.width + j;
      return std::array{static_cast<double>(i) + o_.alpha * double{field.channel(0)[at]},
                        static_cast<double>(j) + o_.alpha * double{field.channel(1)[at]}};
    });
  }

 private:
  ElasticOptions o_;
};

}  // namespace

FOVEA_TRANSFORM(elastic_transform, Elastic, kPictures | kMaskedPictures,
                "displace by smoothed noise: images bilinear, masks nearest",
                schema::Fields<ElasticOptions>{}
                    .add("prob", &ElasticOptions::prob, schema::in_range(0, 1), "probability")
                    .add("alpha", &ElasticOptions::alpha, schema::at_least(0),
                         "displacement in pixels for noise of 1, before smoothing")
                    .add("sigma", &ElasticOptions::sigma,
                         schema::greater_than(0) && schema::at_most(200),
                         "of the Gaussian that smooths the noise, in pixels"))

}  // namespace fovea::data
