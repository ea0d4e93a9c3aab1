// A method of explanation: what it gives, of which networks, with which options. A method is one
// source file, which ends in FOVEA_EXPLANATION, and one line in explanations.def; what it computes
// from maps and gradients alone lies in maps/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "explain/baselines.h"
#include "explain/subject.h"
#include "schema/fields.h"
#include "schema/registry.h"
#include "tensor/random.h"

namespace fovea::explain {

/// What is to be explained.
struct ExplanationRequest {
  const Subject& subject;
  std::vector<std::int64_t> targets;  // the class of each sample
  std::vector<RandomStream> random;   // of each sample, for noise, masks and controls
  std::int64_t batch_size = 32;       // inputs in a pass of methods that make many, at most
  /// Draws that are given in place of random ones: noise (N, b, c, h, w) that is added to the
  /// input, masks (N, h, w) of every sample.
  Tensor noise = {}, masks = {};
  Colours colours = {};  // that images were normalised with, for the baseline "black"
};

/// The stream of a sample of a split, by its number, or of a file or text, by its name: the same
/// wherever it is explained.
RandomStream explanation_stream(std::uint64_t seed, std::int64_t sample);
RandomStream explanation_stream(std::uint64_t seed, const std::string& name);

/// Relevance of the places of every sample.
struct Explanation {
  std::vector<double> values;  // (b, grid.h, grid.w); of texts (b, 1, n), 0 at padding
  GridSize grid;
  bool is_signed = false;  // values may be negative
  /// Of methods that add up to the difference of two scores: the sum minus the difference, for each
  /// sample.
  std::vector<double> completeness_gap = {};
};

struct MethodInfo {
  std::string title;
  std::string source;
  bool class_specific = true;
  bool per_pixel = false;  // places are pixels or words; else patches, a layer's grid, or words
  bool controls = false;   // knows nothing of the network
};

/// One line of explanations.def.
struct Method : schema::Choice {
  static constexpr const char* kKind = "explanation";
  MethodInfo info;
  /// `options`: what was given of its own ones, as an object. Throws ConfigError, naming the
  /// method, for networks and inputs that it is not defined for.
  std::function<Explanation(const ExplanationRequest&, const schema::Value& options)> explain;
};

/// All of explanations.def.
const schema::Registry<Method>& methods();

template <class Options>
Method make_method(const char* name, MethodInfo info, schema::Fields<Options> fields,
                   Explanation (*explain)(const ExplanationRequest&, const Options&)) {
  auto own = std::make_shared<const schema::Fields<Options>>(std::move(fields));
  Method method;
  method.name = name;
  method.help = info.title + " (" + info.source + ")";
  method.fields = own;
  method.info = std::move(info);
  method.explain = [own, explain](const ExplanationRequest& request, const schema::Value& options) {
    return explain(request, own->parse(options));
  };
  return method;
}

}  // namespace fovea::explain

/// FOVEA_EXPLANATION(name, info, fields, explain): defines the entry that a line of
/// explanations.def refers to. `explain`: Explanation(const ExplanationRequest&, const Options&),
/// Options being what the fields describe. Inside namespace fovea::explain.
#define FOVEA_EXPLANATION(name, ...) \
  Method fovea_explanation_##name() { return make_method(#name, __VA_ARGS__); }
