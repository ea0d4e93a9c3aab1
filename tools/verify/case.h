// One golden case: a safetensors file with inputs, parameters and expected values, and the
// comparison of what was computed with what was expected.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "schema/json/value.h"
#include "tensor/safetensors.h"
#include "verify/config.h"

namespace fovea::verify {

/// max: max|got - ref| <= atol + rtol max|ref|; l2: |got - ref|_2 <= atol + rtol |ref|_2; per
/// tensor.
struct Tolerance {
  bool l2 = false;
  double rtol = 0;
  double atol = 0;
};

class Case {
 public:
  /// Throws FileError or ConfigError if the file is no golden case.
  Case(const std::filesystem::path& path, const Device& device);

  /// The same tensors with a part of the configuration as the whole one: what another operator, a
  /// network, reads of this case.
  Case of_part(const std::string& op, const Config& config) const;

  const std::string& name() const { return name_; }
  /// Where the file lies, and what it speaks of beside it.
  const std::filesystem::path& folder() const { return folder_; }
  const std::string& op() const { return operator_; }
  const std::string& kind() const { return kind_; }
  /// Names of all tensors that were never handed out.
  std::vector<std::string> untouched() const;
  const Config& config() const { return config_; }
  /// Throws NotImplemented unless all of the configuration was read. Before anything runs: a case
  /// with an option that nobody knows is not run without it.
  void check_all_read() const;
  /// Throws NotImplemented for an input that the operator does not take.
  [[noreturn]] void refuse_input(const std::string& name) const;
  /// Further metadata that is JSON; null where the file has none of that name.
  schema::Value metadata(const std::string& key) const;
  /// Further metadata as it stands; empty where the file has none of that name.
  std::string said(const std::string& key) const;
  bool training() const { return training_; }
  const Device& device() const { return device_; }

  bool has(const std::string& key) const { return tensors_.count(key) > 0; }
  /// A tensor of the file. Throws FileError naming a missing key.
  const Tensor& at(const std::string& key) const;
  /// The same in the host's memory, where data are prepared.
  Tensor on_host(const std::string& key) const;
  /// Tensors whose names begin with `prefix`, by the rest of the name.
  std::map<std::string, Tensor> below(const std::string& prefix) const;
  const Tolerance& tolerance_of(const std::string& key) const;

  // Values of the configuration.
  std::int64_t integer(const std::string& key) const { return config_.integer(key); }
  std::int64_t integer(const std::string& key, std::int64_t otherwise) const {
    return config_.integer(key, otherwise);
  }
  double number(const std::string& key) const { return config_.number(key); }
  double number(const std::string& key, double otherwise) const {
    return config_.number(key, otherwise);
  }
  bool flag(const std::string& key, bool otherwise = false) const {
    return config_.flag(key, otherwise);
  }
  std::string text(const std::string& key) const { return config_.text(key); }
  std::string text(const std::string& key, const std::string& otherwise) const {
    return config_.text(key, otherwise);
  }
  bool given(const std::string& key) const { return config_.given(key); }
  const schema::Value& value(const std::string& key) const { return config_.value(key); }

 private:
  std::string name_, operator_, kind_;
  std::filesystem::path folder_;
  std::map<std::string, std::string> metadata_;
  bool training_ = false;
  Config config_;
  Tolerance output_, grad_;
  std::map<std::string, Tensor> tensors_;
  std::shared_ptr<std::set<std::string>> touched_;  // shared with parts
  Device device_;
};

/// Collects comparisons; every expected value must be compared, and nothing else in the file may be
/// left unread.
class Checker {
 public:
  explicit Checker(const Case& c) : case_(c) {}

  /// Compares with the tensor `key` of the case. Integers must be equal; NaN equals NaN.
  void compare(const std::string& key, const Tensor& got);
  void compare(const std::string& key, const std::vector<double>& got);
  /// A tensor whose values may differ by `slack`, whatever the case's tolerance (colours on a
  /// rounding boundary).
  void compare_within(const std::string& key, const std::vector<double>& got, double slack);
  void fail(const std::string& complaint);

  /// Fails for values that were expected (anything that is no input, parameter or upstream
  /// gradient) and never compared, and for those that nothing read.
  void finish();
  bool passed() const { return complaint_.empty(); }
  const std::string& complaint() const { return complaint_; }
  double max_abs() const { return max_abs_; }
  double max_rel() const { return max_rel_; }
  double share() const { return share_; }  // largest error over its tolerance
  const std::string& worst() const { return worst_; }

 private:
  void compare_values(const std::string& key, const std::vector<double>& got,
                      const std::vector<double>& ref, Tolerance tolerance);

  const Case& case_;
  std::set<std::string> compared_;
  std::string complaint_;
  double max_abs_ = 0, max_rel_ = 0, share_ = 0;
  std::string worst_;
};

/// All values of any tensor as float64.
std::vector<double> to_doubles(const Tensor& x);

}  // namespace fovea::verify
