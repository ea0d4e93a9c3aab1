#include "data/options.h"

#include "base/error.h"
#include "data/transforms.h"

namespace fovea::data {
namespace {

using schema::at_least;
using schema::Fields;
using schema::greater_than;
using schema::in_range;
using schema::less_than;

std::vector<std::string> corruption_names() {
  std::vector<std::string> names;
  for (const Corruption type : all_corruptions()) names.emplace_back(name_of(type));
  return names;
}

Fields<NoiseOptions> noise_fields(bool train) {
  Fields<NoiseOptions> fields;
  if (train) {
    fields.add("preset", &NoiseOptions::preset, schema::one_of({"", "noisy_train"}),
               "\"noisy_train\": types gaussian, salt_pepper, speckle, shot, gaussian_blur, "
               "occlusion at levels 0.1 to 0.5");
  }
  fields
      .add("types", &NoiseOptions::types, schema::one_of(corruption_names()),
           "corruptions to draw from; empty: no noise")
      .add("levels", &NoiseOptions::levels, greater_than(0) && less_than(1),
           "levels to draw from; what a level means is said at each type")
      .add("fill", &NoiseOptions::fill, in_range(0, 1), "grey value of an occlusion");
  if (train) {
    fields
        .add("prob", &NoiseOptions::prob, in_range(0, 1), "share of the samples that is corrupted")
        .check([](const NoiseOptions& o) {
          return o.preset.empty() || o.types.empty()
                     ? std::string()
                     : std::string("preset and types are both given; choose one");
        });
  }
  return fields;
}

Fields<CommonOptions> make_common_fields() {
  const auto noise =
      Fields<NoiseBySplit>{}
          .add_object("train", &NoiseBySplit::train, noise_fields(true),
                      "noise on training samples, drawn anew in every epoch")
          .add_object("eval", &NoiseBySplit::eval, noise_fields(false),
                      "the types and levels that a robustness evaluation walks through")
          .no_effect();  // only eval reads it
  return Fields<CommonOptions>{}
      .include(split_fields())
      .add("normalise", &CommonOptions::normalise, "subtract mean and divide by std")
      .add("mean", &CommonOptions::mean,
           "mean of each channel in units of [0, 1]; empty: that of the data set")
      .add("std", &CommonOptions::std, greater_than(0),
           "standard deviation of each channel; empty: that of the data set")
      .add_component("augment", &CommonOptions::augment, transform_choices(),
                     "random changes of training samples, in this order, before the noise")
      .add_object("noise", &CommonOptions::noise, noise, "corruptions (dgsa section 8)")
      .add_enum("on_bad_sample", &CommonOptions::on_bad_sample,
                {{"fail", OnBadSample::kFail}, {"skip", OnBadSample::kSkip}},
                "whether a sample that cannot be read ends the run or is left out and counted")
      .add("cache_bytes", &CommonOptions::cache_bytes, at_least(0),
           "decoded pixels kept in memory, in bytes")
      .no_effect();
}

}  // namespace

Noise make_noise(const NoiseOptions& options) {
  Noise noise{{}, options.levels, options.prob, options.fill};
  if (options.preset == "noisy_train") {
    noise.types = noisy_train().types;
    noise.levels = noisy_train().levels;
  }
  for (const std::string& name : options.types) noise.types.push_back(corruption_from_name(name));
  return noise;
}

const Fields<CommonOptions>& common_fields() {
  static const Fields<CommonOptions> fields = make_common_fields();
  return fields;
}

}  // namespace fovea::data
