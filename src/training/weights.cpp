#include "training/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "backend/backend.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "training/weights_differences.h"

namespace fovea::training {
namespace {

bool any_matches(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

// Of a batch norm; PyTorch wrote none at first.
bool is_batch_counter(const std::string& name) { return name.ends_with("num_batches_tracked"); }

void check_finite(const std::string& name, const Tensor& value, const std::string& file) {
  if (!is_floating(value.dtype())) return;
  const Tensor wide = value.dtype() == DType::kBFloat16 ? ops::cast(value, DType::kFloat32) : value;
  FOVEA_CHECK(
      backend(wide).all_finite(wide), FileError,
      fmt::format("{}: {} holds a value that is not finite; it was saved after training had "
                  "gone wrong",
                  file, name));
}

}  // namespace

bool matches(const std::string& pattern, const std::string& text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string::npos;  // last '*' seen, and what it has taken so far
  std::size_t taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::map<std::string, Tensor> named_tensors(const nn::Module& module) {
  std::map<std::string, Tensor> tensors;
  for (const nn::NamedTensor& named : module.parameters()) tensors[named.name] = named.tensor;
  for (const nn::NamedTensor& named : module.buffers()) tensors[named.name] = named.tensor;
  return tensors;
}

std::map<std::string, Tensor> to_host(const std::map<std::string, Tensor>& tensors,
                                      const Device& host) {
  const autograd::NoGrad no_grad;
  std::map<std::string, Tensor> copies;
  for (const auto& [name, tensor] : tensors) {
    copies[name] = tensor.device().is_host() ? tensor.detach() : ops::to(tensor, host);
  }
  return copies;
}

double scalar_of(const Tensor& x) {
  FOVEA_CHECK(x.numel() == 1, ShapeError,
              fmt::format("expected a scalar, got {}", to_string(x.shape())));
  return dispatch_float("scalar", x.dtype(), [&]<class T>(T value) {
    backend(x).copy_to_host(x, &value);
    return static_cast<double>(value);
  });
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

LoadReport load_weights(const nn::Module& module, const std::map<std::string, Tensor>& given,
                        const std::string& file, const LoadOptions& options) {
  const autograd::NoGrad no_grad;
  std::map<std::string, Tensor> tensors = without_wrapper(given);
  const std::map<std::string, Tensor> own = named_tensors(module);
  LoadReport report;
  report.tensors = std::ssize(own);
  for (auto at = tensors.begin(); at != tensors.end();) {
    const bool leave_out = any_matches(options.ignore, at->first);
    if (leave_out && !is_batch_counter(at->first)) report.unused.push_back(at->first);
    at = leave_out ? tensors.erase(at) : std::next(at);
  }

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
    if (found != tensors.end()) report.unused.push_back(name);
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
  for (const auto& [from, to] : copies) backend(to).cast(ops::to(from, to.device()), to);
  report.loaded = std::ssize(copies);
  return report;
}

}  // namespace fovea::training
