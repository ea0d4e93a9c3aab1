// What methods share whose relevance is of pixels or of the numbers of words.
#pragma once

#include <vector>

#include "explain/maps/pixels.h"
#include "explain/methods/method.h"

namespace fovea::explain {

/// What stands in place of what is removed: 0, which is the mean colour of the data, or each
/// image's own mean colour. Words become zeros.
enum class Baseline { kZero, kMean };

/// Like the subject's x. Throws ConfigError, naming the method, for words and another one than
/// zero.
Tensor baseline_of(const Subject& subject, Baseline baseline, const std::string& method);

/// One number a place of an attribution like the subject's x.
Explanation of_places(const Subject& subject, const std::vector<double>& attribution,
                      Reduce reduce);

/// How many groups of the batch go into one pass.
std::int64_t groups_of(const ExplanationRequest& request);

template <class Options>
schema::Fields<Options>& add_reduce(schema::Fields<Options>& fields) {
  return fields.add_enum("reduce", &Options::reduce,
                         {{"sum", Reduce::kSum},
                          {"abs_sum", Reduce::kAbsSum},
                          {"abs_max", Reduce::kAbsMax},
                          {"l2", Reduce::kL2}},
                         "how the channels of a pixel, or the numbers of a word, become one: their "
                         "sum, the sum or the largest of their sizes, or their length");
}

template <class Options>
schema::Fields<Options>& add_baseline(schema::Fields<Options>& fields) {
  return fields.add_enum("baseline", &Options::baseline,
                         {{"zero", Baseline::kZero}, {"mean", Baseline::kMean}},
                         "what stands in place of what is removed: the mean colour of the data "
                         "(zero) or of the image; words become zeros");
}

}  // namespace fovea::explain
