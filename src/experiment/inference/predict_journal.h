// How far a pass of `predict` has come, kept in its folder, so that one that was interrupted goes
// on where it ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/claim.h"
#include "base/file.h"
#include "schema/json/value.h"

namespace fovea::experiment {

/// <out>/predict.json     the settings of the pass, and its "result" once it is complete
/// <out>/predict.journal  until then, a line for each step: the inputs that are done, and how long
///                        the files were that grow. What they have beyond that is cut off by the
///                        pass that goes on: a row that was half written, or whose line was not.
class PredictJournal {
 public:
  /// Inputs are done in their order.
  struct State {
    std::int64_t done = 0;
    std::int64_t failed = 0;  // of these
  };

  /// Reads what is there, where the pass `continues`; writes nothing. Throws ConfigError, with what
  /// differs, where the settings are not those of the pass, FileError where the folder holds
  /// something else.
  PredictJournal(std::filesystem::path out, schema::Value settings, bool continues);

  /// Where the pass before this one ended.
  const State& begin() const { return begin_; }
  /// Whether nothing is missing.
  bool complete() const { return complete_; }

  /// A file in the folder that grows, of the length that it had at begin(). The first call makes
  /// the folder. Throws FileError, also where another program predicts into it.
  io::File& file(const std::string& name);
  /// So much is done and written.
  void note(const State& state);
  /// The pass is complete.
  void finish(const State& state);

 private:
  void open();

  std::filesystem::path out_;
  schema::Value settings_;
  State begin_;
  bool complete_ = false;
  std::map<std::string, std::uint64_t> bytes_;  // of the files that grow, at begin_
  std::uint64_t read_ = 0;                      // bytes of the journal up to there
  std::optional<io::Claim> lock_;
  std::unique_ptr<io::File> journal_;
  std::map<std::string, std::unique_ptr<io::File>> files_;
};

}  // namespace fovea::experiment
