#include "nn/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "backend/backend.h"
#include "base/error.h"
#include "base/name_pattern.h"
#include "nn/weights_differences.h"
#include "ops/in_place.h"

namespace fovea::nn {
namespace {

bool any_matches(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches_pattern(name, pattern); });
}

// Of a batch norm; early versions of PyTorch wrote none.
bool is_batch_counter(const std::string& name) { return name.ends_with("num_batches_tracked"); }

// Tensors that files have although the network's public code does not use them.
void take_out_unused(const Module& module, const std::map<std::string, Tensor>& own,
                     std::map<std::string, Tensor>& tensors, LoadReport& report) {
  std::erase_if(tensors, [&](const auto& named) {
    const bool unused = !own.contains(named.first) && module.is_unused(named.first);
    if (unused && !is_batch_counter(named.first)) report.known_unused.push_back(named.first);
    return unused;
  });
  report.unused.insert(report.unused.end(), report.known_unused.begin(), report.known_unused.end());
}

void check_finite(const std::string& name, const Tensor& value, const std::string& file) {
  if (!is_floating(value.dtype())) return;
  FOVEA_CHECK(
      are_finite({value}), FileError,
      fmt::format("{}: {} holds a value that is not finite; it was saved after training had "
                  "gone wrong",
                  file, name));
}

}  // namespace

std::map<std::string, Tensor> named_tensors(const Module& module) {
  std::map<std::string, Tensor> tensors;
  for (const NamedTensor& named : module.parameters()) tensors[named.name] = named.tensor;
  for (const NamedTensor& named : module.buffers()) tensors[named.name] = named.tensor;
  return tensors;
}

std::map<std::string, Tensor> without_wrapper(const std::map<std::string, Tensor>& tensors) {
  const std::string wrapper = "module.";
  std::map<std::string, Tensor> inner;
  for (const auto& [name, tensor] : tensors) {
    if (!name.starts_with(wrapper)) return tensors;
    inner[name.substr(wrapper.size())] = tensor;
  }
  return inner;
}

std::map<std::string, Tensor> with_own_names(const Module& module,
                                             const std::map<std::string, Tensor>& tensors) {
  const auto in_file = [&](const std::string& name) { return tensors.contains(name); };
  std::map<std::string, std::string> own;
  std::map<std::string, int> times;  // that a name is given
  for (const auto& [name, tensor] : tensors) {
    own[name] = module.own_name(name, in_file);
    ++times[own[name]];
  }
  std::map<std::string, Tensor> renamed;
  for (const auto& [name, tensor] : tensors) {
    if (!own[name].empty()) renamed.emplace(times[own[name]] > 1 ? name : own[name], tensor);
  }
  return renamed;
}

LoadReport load_weights(const Module& module, const std::map<std::string, Tensor>& given,
                        const std::string& file, const LoadOptions& options) {
  const autograd::NoGrad no_grad;
  std::map<std::string, Tensor> tensors = without_wrapper(given);
  const std::map<std::string, Tensor> own = named_tensors(module);
  LoadReport report;
  report.tensors = std::ssize(own);
  std::map<std::string, Tensor> left_out;
  for (auto at = tensors.begin(); at != tensors.end();) {
    const bool leave_out = any_matches(options.ignore, at->first);
    if (leave_out && !is_batch_counter(at->first)) report.unused.push_back(at->first);
    if (leave_out) left_out.insert(*at);
    at = leave_out ? tensors.erase(at) : std::next(at);
  }

  tensors = with_own_names(module, tensors);
  left_out = with_own_names(module, left_out);
  take_out_unused(module, own, tensors, report);
  WeightsDifferences differences(own, tensors, options);
  std::vector<std::pair<Tensor, Tensor>> copies;  // from, to
  for (const auto& [name, tensor] : own) {
    const auto found = tensors.find(name);
    const bool fits = found != tensors.end() && found->second.shape() == tensor.shape() &&
                      is_floating(found->second.dtype()) == is_floating(tensor.dtype());
    if (fits) {
      check_finite(name, found->second, file);
      copies.emplace_back(found->second, tensor);
      continue;
    }
    if (found == tensors.end() && is_batch_counter(name)) continue;
    report.random.push_back(name);
    if (found != tensors.end()) {
      report.unused.push_back(name);
      report.other_shape.push_back(name);
    } else if (left_out.contains(name)) {
      report.left_out.push_back(name);
    }
    if (any_matches(options.random, name)) continue;
    if (found == tensors.end()) {
      differences.missing(name);
    } else {
      differences.other_shape(name);
    }
  }
  for (const auto& [name, tensor] : tensors) {
    if (own.contains(name) || is_batch_counter(name)) continue;
    differences.left_over(name);
  }
  differences.throw_if_any(file);
  for (const auto& [from, to] : copies) ops::copy_into(from, to);
  report.loaded = std::ssize(copies);
  return report;
}

}  // namespace fovea::nn
