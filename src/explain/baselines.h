// What stands in an image where parts of it were removed, for methods and scores. explain B.1.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "explain/questions.h"
#include "schema/fields.h"

namespace fovea::explain {

enum class Baseline {
  kZero,   // 0 after normalisation, the data's mean colour
  kMean,   // the mean of each channel of the image itself
  kBlack,  // the normalised value of intensity 0
  kBlur,   // the image behind a Gaussian
};

/// Their names, in the order above.
const std::vector<std::pair<std::string, Baseline>>& baselines();

struct BaselineOptions {
  Baseline baseline = Baseline::kZero;
  std::optional<double> sigma = {};  // of the Gaussian, in pixels; none: max(height, width) / 22.4
};

/// What the network's images were normalised with, a number for each channel.
struct Colours {
  std::vector<double> mean, std;
};

/// An image of the size of `x` with nothing of its content, or little of it. Sums are float64.
/// Throws ConfigError for kBlack without the colours of every channel.
Image baseline_image(const Image& x, const BaselineOptions& options, const Colours& colours);

/// The keys "baseline" and "sigma".
template <class Options>
schema::Fields<Options>& add_baseline(schema::Fields<Options>& fields) {
  return fields
      .add_enum("baseline", &Options::baseline, baselines(),
                "what replaces removed units: 0 after normalisation, the image's mean colour, "
                "black, or the blurred image")
      .add("sigma", &Options::sigma, schema::greater_than(0),
           "of blur, in pixels; null = the larger side / 22.4");
}

}  // namespace fovea::explain
