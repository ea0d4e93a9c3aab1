#include "training/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/backend.h"
#include "base/error.h"
#include "base/suggest.h"
#include "ops/elementwise.h"

namespace fovea::training {
namespace {

constexpr std::size_t kMostListed = 5;

bool ignored(const std::string& name, const LoadOptions& options) {
  return std::any_of(options.ignore.begin(), options.ignore.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

// Of a batch norm; PyTorch wrote none at first.
bool is_batch_counter(const std::string& name) { return name.ends_with("num_batches_tracked"); }

std::map<std::string, Tensor> without_wrapper(const std::map<std::string, Tensor>& tensors) {
  const std::string wrapper = "module.";
  std::map<std::string, Tensor> inner;
  for (const auto& [name, tensor] : tensors) {
    if (!name.starts_with(wrapper)) return tensors;
    inner[name.substr(wrapper.size())] = tensor;
  }
  return inner;
}

// "head.weight" -> "head.*": what a user would most likely want to skip together.
std::string pattern_for(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(0, dot) + ".*";
}

class Complaints {
 public:
  void add(const std::string& name, std::string sentence) {
    sentences_.push_back(std::move(sentence));
    const std::string pattern = pattern_for(name);
    if (std::find(patterns_.begin(), patterns_.end(), pattern) == patterns_.end()) {
      patterns_.push_back(pattern);
    }
  }

  void throw_if_any(const std::string& file, std::size_t of) const {
    if (sentences_.empty()) return;
    std::string text = file + ": ";
    for (std::size_t i = 0; i < std::min(sentences_.size(), kMostListed); ++i) {
      text += sentences_[i] + "; ";
    }
    if (sentences_.size() > kMostListed) {
      text += fmt::format("and {} more; ", sentences_.size() - kMostListed);
    }
    text += fmt::format("{} of {} tensors differ; pass", sentences_.size(), of);
    for (std::size_t i = 0; i < std::min(patterns_.size(), kMostListed); ++i) {
      text += " --init-ignore " + patterns_[i];
    }
    throw FileError(text + " to skip");
  }

 private:
  std::vector<std::string> sentences_;
  std::vector<std::string> patterns_;
};

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

LoadReport load_weights(const nn::Module& module, const std::map<std::string, Tensor>& given,
                        const std::string& file, const LoadOptions& options) {
  const autograd::NoGrad no_grad;
  const std::map<std::string, Tensor> tensors = without_wrapper(given);
  const std::map<std::string, Tensor> own = named_tensors(module);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : own) names.push_back(name);

  LoadReport report;
  Complaints complaints;
  std::vector<std::pair<Tensor, Tensor>> copies;  // from, to
  for (const auto& [name, tensor] : own) {
    const auto found = tensors.find(name);
    const bool fits = found != tensors.end() && found->second.shape() == tensor.shape() &&
                      is_floating(found->second.dtype()) == is_floating(tensor.dtype());
    if (fits && !ignored(name, options)) {
      check_finite(name, found->second, file);
      copies.emplace_back(found->second, tensor);
      continue;
    }
    report.kept.push_back(name);
    if (ignored(name, options)) continue;
    if (found == tensors.end() && is_batch_counter(name)) continue;
    if (found == tensors.end()) {
      complaints.add(name, fmt::format("{} is missing", name));
    } else {
      complaints.add(
          name, fmt::format("{} is {}{}, model has {}{}", name, to_string(found->second.shape()),
                            is_floating(found->second.dtype()) ? "" : " of integers",
                            to_string(tensor.shape()),
                            is_floating(tensor.dtype()) ? "" : " of integers"));
    }
  }
  for (const auto& [name, tensor] : tensors) {
    if (own.contains(name) || is_batch_counter(name)) continue;
    report.unused.push_back(name);
    if (!ignored(name, options)) {
      complaints.add(name,
                     fmt::format("{} is not in the model{}", name, did_you_mean(name, names)));
    }
  }
  complaints.throw_if_any(file, own.size());
  for (const auto& [from, to] : copies) backend(to).cast(ops::to(from, to.device()), to);
  report.loaded = static_cast<std::int64_t>(copies.size());
  return report;
}

}  // namespace fovea::training
