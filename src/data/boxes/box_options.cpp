#include "data/boxes/box_options.h"

#include <fmt/format.h>

#include <set>

#include "base/shown.h"
#include "data/augment/corruptions.h"
#include "data/augment/transforms.h"

namespace fovea::data {
namespace {

schema::Fields<BoxOptions> make_box_keys() {
  using O = BoxOptions;
  return schema::Fields<O>{}
      .include(split_fields())
      .add("min_size", &O::min_size, schema::in_range(1, 8192),
           "the shorter side of an image becomes this, in evaluations, and in training where "
           "augment sets no size (mala 7.2)")
      .add("max_size", &O::max_size, schema::in_range(1, 8192),
           "the shorter side becomes less where the longer one would exceed this")
      .add("antialias", &O::antialias,
           "average over pixels when shrinking, as Pillow; false: the four neighbours, as mmdet")
      .add("size_divisor", &O::size_divisor, schema::in_range(1, 1024),
           "batches get zeros below and to the right, up to a multiple of this")
      .add("masks", &O::masks,
           "whether objects have masks, which take a byte for each pixel of their image")
      .add("normalise", &O::normalise, "subtract mean and divide by std")
      .add("mean", &O::mean, "mean of each channel in units of [0, 1]; empty: that of the data set")
      .add("std", &O::std, schema::greater_than(0),
           "standard deviation of each channel; empty: that of the data set")
      .add_component("augment", &O::augment, transform_choices(kBoxedPictures),
                     "random changes of training samples, in this order, before the noise")
      .add("filter_empty", &O::filter_empty,
           "leave out of train the images without an object, and those with a side below "
           "min_image_side")
      .add("min_image_side", &O::min_image_side, schema::at_least(0),
           "pixels that filter_empty asks for")
      .add("group_by_aspect", &O::group_by_aspect,
           "images that are wider than tall have batches of their own, which saves padding")
      .add_object("noise", &O::noise, noise_fields(image_noise()), "corruptions (dgsa section 8)")
      .add_enum("on_bad_sample", &O::on_bad_sample, bad_sample_words(), kBadSampleHelp)
      .check([](const O& o) {
        return o.min_size <= o.max_size ? std::string() : std::string("min_size is above max_size");
      });
}

}  // namespace

SampleShape BoxOptions::usual_shape(std::int64_t classes, std::int64_t channels) const {
  const auto padded = [&](std::int64_t side) {
    return (side + size_divisor - 1) / size_divisor * size_divisor;
  };
  return {.channels = channels,
          .height = padded(min_size),
          .width = padded(max_size),
          .classes = classes};
}

std::string classes_problem(const std::vector<std::string>& classes) {
  std::set<std::string> seen;
  for (const std::string& name : classes) {
    if (!seen.insert(name).second) return fmt::format("classes names {} twice", shown(name));
  }
  return {};
}

const schema::Fields<BoxOptions>& BoxOptions::keys() {
  static const schema::Fields<BoxOptions> keys = make_box_keys();
  return keys;
}

}  // namespace fovea::data
