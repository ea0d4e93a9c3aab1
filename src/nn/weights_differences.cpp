#include "nn/weights_differences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/name_pattern.h"
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

// "blocks.*.ls1.gamma" for "blocks.3.ls1.gamma".
std::string with_any_number(const std::string& name) {
  std::string pattern;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    pattern += (begin > 0 ? "." : "") + (number ? "*" : part);
    begin = end + 1;
  }
  return pattern;
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

// Whether a pattern matches tensors that fit, other than biases.
bool WeightsDifferences::takes_what_fits(const std::string& pattern) const {
  return std::any_of(own_names_.begin(), own_names_.end(), [&](const std::string& name) {
    return !name.ends_with(".bias") && matches_pattern(name, pattern) && fits(name);
  });
}

void WeightsDifferences::say(const std::string& name, const std::string& said,
                             const std::string& hint) {
  ++differ_;
  const std::string pattern = with_any_number(name);
  const auto known =
      std::find_if(sentences_.begin(), sentences_.end(), [&](const Sentence& sentence) {
        return sentence.pattern == pattern && sentence.said == said;
      });
  if (known == sentences_.end()) {
    sentences_.push_back({name, pattern, said, hint, 1});
  } else {
    ++known->count;
  }
}

void WeightsDifferences::advise(std::vector<std::string>& patterns, const std::string& name) const {
  const std::string pattern = pattern_for(name);
  if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end())
    patterns.push_back(pattern);
}

// One pattern for those of several blocks, where it takes nothing that fits.
std::vector<std::string> WeightsDifferences::of_all_blocks(
    const std::vector<std::string>& patterns) const {
  std::map<std::string, std::size_t> times;
  for (const std::string& pattern : patterns) ++times[with_any_number(pattern)];
  std::set<std::string> done;
  std::vector<std::string> fewer;
  for (const std::string& pattern : patterns) {
    const std::string wide = with_any_number(pattern);
    const bool together = times[wide] > 1 && !takes_what_fits(wide);
    if (!together) fewer.push_back(pattern);
    if (together && done.insert(wide).second) fewer.push_back(wide);
  }
  return fewer;
}

void WeightsDifferences::missing(const std::string& name) {
  ++without_value_;
  missing_.push_back(name);
  say(name, "missing");
  advise(to_leave_random_, name);
}

void WeightsDifferences::other_shape(const std::string& name) {
  ++without_value_;
  const Tensor& from = given_.at(name);
  const Tensor& to = own_.at(name);
  say(name, fmt::format("{}, model has {}", shape_of(from), shape_of(to)));
  const bool positions = name == "pos_embed" && from.rank() == 3 && to.rank() == 3 &&
                         from.size(0) == to.size(0) && from.size(2) == to.size(2);
  if (positions) {
    positions_differ_ = true;
  } else {
    advise(to_leave_random_, name);
  }
}

void WeightsDifferences::left_over(const std::string& name) {
  left_over_.push_back(name);
  say(name, "not in the model", explains(name) ? "" : did_you_mean(name, own_names_));
  advise(to_leave_out_, name);
}

// The network that the file is of, where another one is recognised: leaving out surplus tensors, or
// using near names, would make a network that was never trained.
std::string WeightsDifferences::other_network() const {
  const bool mostly_fits = 2 * without_value_ <= own_.size();
  std::vector<KnownNetwork> known = known_networks(left_over_);
  if (known.empty() && mostly_fits) known = known_without(missing_);
  if (known.empty() || (!known.front().part && mostly_fits)) return {};
  std::string text = "; the file is ";
  std::vector<std::string> has;
  for (std::size_t i = 0; i < known.size(); ++i) {
    text += (i > 0 ? "; and " : "") + known[i].what;
    if (std::find(has.begin(), has.end(), known[i].has) == has.end()) has.push_back(known[i].has);
  }
  return text + ": " + fmt::format("{}", fmt::join(has, ", "));
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
                        flags(options_.random_flag, of_all_blocks(to_leave_random_)));
  if (!to_leave_out_.empty())
    text += fmt::format("; pass{} to leave out what the model does not have",
                        flags(options_.ignore_flag, of_all_blocks(to_leave_out_)));
  return text;
}

void WeightsDifferences::throw_if_any(const std::string& file) const {
  if (sentences_.empty()) return;
  std::string text = file + ": ";
  for (std::size_t i = 0; i < std::min(sentences_.size(), kMostListed); ++i) {
    const Sentence& s = sentences_[i];
    text += s.count == 1 ? fmt::format("{} is {}{}; ", shown(s.first), s.said, s.hint)
                         : fmt::format("{} ({} tensors) are {}{}; ", shown(s.pattern), s.count,
                                       s.said, with_any_number(s.hint));
  }
  if (sentences_.size() > kMostListed)
    text += fmt::format("and {} more; ", sentences_.size() - kMostListed);
  throw FileError(fmt::format("{}{} of {} tensors differ{}", text, differ_, own_.size(), advice()));
}

}  // namespace fovea::nn
