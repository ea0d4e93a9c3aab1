// What methods share whose relevance is of pixels or of the numbers of words.
#pragma once

#include <vector>

#include "explain/baselines.h"
#include "explain/maps/pixels.h"
#include "explain/methods/method.h"

namespace fovea::explain {

/// What stands in place of what is removed, like the subject's x. Words become zeros. Throws
/// ConfigError, naming the method, for words or volumes and another baseline than zero.
Tensor baseline_of(const ExplanationRequest& request, const BaselineOptions& options,
                   const std::string& method);

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

}  // namespace fovea::explain
