#include "data/images/image_options.h"

#include "data/augment/corruptions.h"
#include "data/augment/transforms.h"

namespace fovea::data {
namespace {

schema::Fields<ImageOptions> make_keys() {
  using O = ImageOptions;
  return schema::Fields<O>{}
      .include(split_fields())
      .add("normalise", &O::normalise, "subtract mean and divide by std")
      .add("mean", &O::mean, "mean of each channel in units of [0, 1]; empty: that of the data set")
      .add("std", &O::std, schema::greater_than(0),
           "standard deviation of each channel; empty: that of the data set")
      .add_component("augment", &O::augment, picture_transform_choices(),
                     "random changes of training samples, in this order, before the noise")
      .add("aug_repeats", &O::aug_repeats, schema::at_least(1),
           "repeated augmentation: each sample comes this many times in a row, and an epoch ends "
           "after as many samples as there are")
      .add_object(
          "mix", &O::mix, mix_fields(),
          "blends the images of a training batch and their classes, the first with the last")
      .add_object("noise", &O::noise, noise_fields(image_noise()), "corruptions (dgsa section 8)")
      .add_enum("on_bad_sample", &O::on_bad_sample, bad_sample_words(), kBadSampleHelp)
      .add("cache_bytes", &O::cache_bytes, schema::at_least(0),
           "decoded pixels kept in memory, in bytes")
      .no_effect();
}

}  // namespace

const schema::Fields<ImageOptions>& ImageOptions::keys() {
  static const schema::Fields<ImageOptions> keys = make_keys();
  return keys;
}

}  // namespace fovea::data
