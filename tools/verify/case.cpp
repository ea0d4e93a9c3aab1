#include "verify/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "autograd/mode.h"
#include "backend/devices.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "schema/json/parse.h"

namespace fovea::verify {
namespace {

bool begins_with(const std::string& text, std::string_view prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

Tolerance read_tolerance(const schema::Value& value) {
  const schema::Value* rule = value.find("rule");
  return {rule != nullptr && rule->as_string() == "l2", value.at("rtol").as_double(),
          value.at("atol").as_double()};
}

}  // namespace

Case::Case(const std::filesystem::path& path, const Device& device)
    : name_(path.filename().string()),
      folder_(path.parent_path()),
      touched_(std::make_shared<std::set<std::string>>()),
      device_(device) {
  TensorFile file = read_safetensors(path, device);
  const auto meta = [&](const std::string& key) -> std::string {
    const auto found = file.metadata.find(key);
    return found == file.metadata.end() ? "" : found->second;
  };
  operator_ = !meta("operator").empty() ? meta("operator") : meta("network");
  FOVEA_CHECK(
      !operator_.empty(), FileError,
      fmt::format("{}: no \"operator\" in the metadata; expected a golden case", path.string()));
  kind_ = meta("kind");
  const std::string mode = meta("mode");
  FOVEA_CHECK(mode.empty() || mode == "eval" || mode == "eval (no dropout)" || mode == "train",
              NotImplemented, fmt::format("mode \"{}\"", mode));
  training_ = mode == "train";
  const std::string loss = meta("loss");
  FOVEA_CHECK(loss.empty() || loss == "sum(output*upstream)" || loss == "cross_entropy(mean)" ||
                  loss.starts_with('{'),
              NotImplemented, fmt::format("loss \"{}\"", loss));
  config_ =
      Config(schema::parse(meta("config").empty() ? "{}" : meta("config"), name_ + " config"));
  const schema::Value tolerance = schema::parse(meta("tolerance"), name_ + " tolerance");
  // One for all, or one for outputs and one for gradients.
  const bool one = tolerance.find("output") == nullptr;
  output_ = read_tolerance(one ? tolerance : tolerance.at("output"));
  grad_ = read_tolerance(one ? tolerance : tolerance.at("grad"));
  tensors_ = std::move(file.tensors);
  metadata_ = std::move(file.metadata);
}

Case Case::of_part(const std::string& op, const Config& config) const {
  Case part = *this;
  part.operator_ = op;
  part.config_ = config;
  return part;
}

std::string Case::said(const std::string& key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? std::string() : found->second;
}

schema::Value Case::metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? schema::Value()
                                  : schema::parse(found->second, name_ + " " + key);
}

const Tensor& Case::at(const std::string& key) const {
  const auto found = tensors_.find(key);
  FOVEA_CHECK(found != tensors_.end(), FileError, fmt::format("{}: no tensor {}", name_, key));
  touched_->insert(key);
  return found->second;
}

std::vector<std::string> Case::untouched() const {
  std::vector<std::string> names;
  for (const auto& [key, tensor] : tensors_) {
    if (touched_->count(key) == 0) names.push_back(key);
  }
  return names;
}

Tensor Case::on_host(const std::string& key) const {
  const Tensor& x = at(key);
  return x.device().is_host() ? x : x.copy_on(make_cpu(1));
}

std::map<std::string, Tensor> Case::below(const std::string& prefix) const {
  std::map<std::string, Tensor> found;
  for (const auto& [key, tensor] : tensors_) {
    if (!begins_with(key, prefix)) continue;
    touched_->insert(key);
    found.emplace(key.substr(prefix.size()), tensor);
  }
  return found;
}

const Tolerance& Case::tolerance_of(const std::string& key) const {
  return begins_with(key, "grad_") ? grad_ : output_;
}

void Case::check_all_read() const {
  const std::vector<std::string> unread = config_.unread();
  FOVEA_CHECK(unread.empty(), NotImplemented,
              fmt::format("config: {} has no option {}", operator_, fmt::join(unread, ", ")));
}

void Case::refuse_input(const std::string& name) const {
  throw NotImplemented(fmt::format("{} takes no input \"{}\"", operator_, name));
}

std::vector<double> to_doubles(const Tensor& x) {
  const autograd::NoGrad no_grad;
  const Tensor wide = ops::cast(x, DType::kFloat64);
  const auto values = wide.host_values<double>();
  return {values.begin(), values.end()};
}

void Checker::fail(const std::string& complaint) {
  if (complaint_.empty()) complaint_ = complaint;
}

void Checker::compare(const std::string& key, const Tensor& got) {
  if (!got.defined()) {
    fail(fmt::format("{}: nothing was computed", key));
    return;
  }
  const Tensor& ref = case_.at(key);
  const bool scalars = got.numel() == 1 && ref.numel() == 1;
  if (!scalars && got.shape() != ref.shape()) {
    fail(fmt::format("{}: shape is {}, expected {}", key, to_string(got.shape()),
                     to_string(ref.shape())));
  }
  compare(key, to_doubles(got));
}

void Checker::compare(const std::string& key, const std::vector<double>& got) {
  const Tensor& ref = case_.at(key);
  compare_values(key, got, to_doubles(ref),
                 is_floating(ref.dtype()) ? case_.tolerance_of(key) : Tolerance{false, 0, 0});
}

void Checker::compare_within(const std::string& key, const std::vector<double>& got, double slack) {
  compare_values(key, got, to_doubles(case_.at(key)), Tolerance{false, 0, slack});
}

void Checker::compare_values(const std::string& key, const std::vector<double>& got,
                             const std::vector<double>& ref, Tolerance tolerance) {
  compared_.insert(key);
  if (got.size() != ref.size()) {
    fail(fmt::format("{}: {} values, expected {}", key, got.size(), ref.size()));
    return;
  }
  double worst = 0;
  double largest = 0;
  double squares = 0;
  double ref_squares = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < ref.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(ref[i])) continue;
    double difference = got[i] == ref[i] ? 0.0 : std::abs(got[i] - ref[i]);
    if (std::isnan(difference)) difference = std::numeric_limits<double>::infinity();
    if (difference > worst) {
      worst = difference;
      at = i;
    }
    if (std::isfinite(ref[i])) largest = std::max(largest, std::abs(ref[i]));
    squares += difference * difference;
    ref_squares += std::isfinite(ref[i]) ? ref[i] * ref[i] : 0.0;
  }
  const double error = tolerance.l2 ? std::sqrt(squares) : worst;
  const double allowed =
      tolerance.atol + tolerance.rtol * (tolerance.l2 ? std::sqrt(ref_squares) : largest);
  const double share = error == 0    ? 0
                       : allowed > 0 ? error / allowed
                                     : std::numeric_limits<double>::infinity();
  max_abs_ = std::max(max_abs_, worst);
  max_rel_ = std::max(max_rel_, worst / std::max({largest, tolerance.atol, 1e-30}));
  if (share > share_ || worst_.empty()) {
    share_ = share;
    worst_ = key;
  }
  if (!(share <= 1)) {
    fail(fmt::format("{}: element {} is {:.9g}, expected {:.9g}; error {:.3g} of {:.3g} allowed",
                     key, at, got[at], ref[at], error, allowed));
  }
}

void Checker::finish() {
  case_.check_all_read();
  for (const std::string& key : case_.untouched()) {
    if (begins_with(key, "input/")) case_.refuse_input(key.substr(6));
    fail(fmt::format("{}: nothing looked at it", key));
  }
  for (const auto& [key, tensor] : case_.below("")) {
    const bool given =
        begins_with(key, "input/") || begins_with(key, "param/") || begins_with(key, "upstream/");
    if (!given && compared_.count(key) == 0) fail(fmt::format("{}: was not compared", key));
  }
}

}  // namespace fovea::verify
