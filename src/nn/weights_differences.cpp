#include "nn/weights_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/shown.h"
#include "base/suggest.h"
#include "nn/known_networks.h"

namespace fovea::nn {
namespace {

constexpr std::size_t kMostListed = 5;

std::string shape_of(const Tensor& tensor) {
  return to_string(tensor.shape()) + (is_floating(tensor.dtype()) ? "" : " of integers");
}

std::string flags(const std::string& flag, const std::vector<std::string>& patterns) {
  std::string text;
  for (std::size_t i = 0; i < std::min(patterns.size(), kMostListed); ++i)
    text += " " + flag + " " + patterns[i];
  return text;
}

}  // namespace

WeightsDifferences::WeightsDifferences(const Tensors& own, const Tensors& given,
                                       const LoadOptions& options)
    : own_(own), given_(given), options_(options) {
  for (const auto& [name, tensor] : own) own_names_.push_back(name);
}

bool WeightsDifferences::fits(const std::string& name) const {
  const auto to = own_.find(name), from = given_.find(name);
  return to != own_.end() && from != given_.end() && to->second.shape() == from->second.shape();
}

// "head.weight" -> "head.*": what a user would most likely want to treat together. The name alone
// where the pattern would take more than a bias that fits.
std::string WeightsDifferences::pattern_for(const std::string& name) const {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return name;
  const std::string module = name.substr(0, dot + 1);
  for (auto sibling = own_.lower_bound(module);
       sibling != own_.end() && sibling->first.starts_with(module); ++sibling) {
    if (fits(sibling->first) && !sibling->first.ends_with(".bias")) return name;
  }
  return module + "*";
}

void WeightsDifferences::add(std::vector<std::string>& patterns, const std::string& name,
                             std::string sentence) {
  sentences_.push_back(std::move(sentence));
  const std::string pattern = pattern_for(name);
  if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end())
    patterns.push_back(pattern);
}

void WeightsDifferences::missing(const std::string& name) {
  ++without_value_;
  missing_.push_back(name);
  add(to_leave_random_, name, fmt::format("{} is missing", shown(name)));
}

void WeightsDifferences::other_shape(const std::string& name) {
  ++without_value_;
  const Tensor& from = given_.at(name);
  const Tensor& to = own_.at(name);
  const std::string sentence =
      fmt::format("{} is {}, model has {}", name, shape_of(from), shape_of(to));
  const bool positions = name == "pos_embed" && from.rank() == 3 && to.rank() == 3 &&
                         from.size(0) == to.size(0) && from.size(2) == to.size(2);
  if (!positions) return add(to_leave_random_, name, sentence);
  positions_differ_ = true;
  sentences_.push_back(sentence);
}

void WeightsDifferences::left_over(const std::string& name) {
  left_over_.push_back(name);
  add(to_leave_out_, name,
      fmt::format("{} is not in the model{}", shown(name),
                  explains(name) ? "" : did_you_mean(name, own_names_)));
}

// The network that the file is of, where another one is recognised: leaving out surplus tensors, or
// using near names, would make a network that was never trained.
std::string WeightsDifferences::other_network() const {
  const bool mostly_fits = 2 * without_value_ <= own_.size();
  std::vector<KnownNetwork> known = known_networks(left_over_);
  if (known.empty() && mostly_fits) known = known_without(missing_);
  if (known.empty() || (!known.front().part && mostly_fits)) return {};
  std::string text = "; the file is ";
  for (std::size_t i = 0; i < known.size(); ++i) text += (i > 0 ? "; and " : "") + known[i].what;
  return text + ": " + known.front().has;
}

// The prefix of the file's names without which most of the network's names have a tensor.
std::string WeightsDifferences::prefix_to_strip() const {
  std::set<std::string> prefixes;
  for (const auto& [name, tensor] : given_) {
    constexpr int kMostParts = 8;
    std::size_t dot = name.find('.');
    for (int i = 0; i < kMostParts && dot != std::string::npos; ++i, dot = name.find('.', dot + 1))
      prefixes.insert(name.substr(0, dot + 1));
  }
  const auto count = [&](const std::string& prefix) {
    return std::count_if(own_names_.begin(), own_names_.end(), [&](const std::string& name) {
      const auto found = given_.find(prefix + name);
      return found != given_.end() && found->second.shape() == own_.at(name).shape();
    });
  };
  // A stage of a Swin has the names of a ViT.
  const auto is_part_of_another = [&](const std::string& prefix) {
    std::vector<std::string> others;
    for (const std::string& name : left_over_)
      if (!name.starts_with(prefix)) others.push_back(name);
    const std::vector<KnownNetwork> known = known_networks(others);
    return !known.empty() && !known.front().part;
  };
  for (const std::string& prefix : prefixes) {
    if (2 * count(prefix) > std::ssize(own_names_) && !is_part_of_another(prefix)) return prefix;
  }
  return {};
}

std::string WeightsDifferences::advice() const {
  if (options_.random_flag.empty()) return {};
  if (const std::string prefix = prefix_to_strip(); !prefix.empty())
    return fmt::format("; pass --strip-prefix {}", prefix);
  if (const std::string other = other_network(); !other.empty()) return other;
  if (2 * without_value_ > own_.size())
    return "; these are the weights of another network, or their names need --rename";
  std::string text;
  if (positions_differ_) text += "; pass --interpolate-pos-embed to resample pos_embed";
  if (!to_leave_random_.empty())
    text += fmt::format("; pass{} to leave random numbers there",
                        flags(options_.random_flag, to_leave_random_));
  if (!to_leave_out_.empty())
    text += fmt::format("; pass{} to leave out what the model does not have",
                        flags(options_.ignore_flag, to_leave_out_));
  return text;
}

void WeightsDifferences::throw_if_any(const std::string& file) const {
  if (sentences_.empty()) return;
  std::string text = file + ": ";
  for (std::size_t i = 0; i < std::min(sentences_.size(), kMostListed); ++i)
    text += sentences_[i] + "; ";
  if (sentences_.size() > kMostListed)
    text += fmt::format("and {} more; ", sentences_.size() - kMostListed);
  throw FileError(
      fmt::format("{}{} of {} tensors differ{}", text, sentences_.size(), own_.size(), advice()));
}

}  // namespace fovea::nn
