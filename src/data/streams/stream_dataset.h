// One long text, cut into samples of equal length, each of which is to be continued token by token.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/streams/stream_options.h"

namespace fovea::data {

/// Name of the tokeniser in run folders and checkpoints.
inline constexpr const char* kTokeniserFile = "tokeniser.json";

/// The text of a part of a data set.
struct StreamText {
  std::string text;  // UTF-8
  std::string name;  // of its file or folder
  std::vector<std::filesystem::path> files;
};

/// The tokens of a part. Sample i predicts the tokens i * context + 1 to (i + 1) * context, as many
/// of them as there are; the first token of a text is never predicted.
class StreamPart final : public Part {
 public:
  /// Throws FileError for a text of less than two tokens.
  StreamPart(StreamText text, std::int64_t context,
             std::shared_ptr<const StreamTokeniser> tokeniser);
  /// Without a text.
  explicit StreamPart(std::shared_ptr<const StreamTokeniser> tokeniser)
      : tokeniser_(std::move(tokeniser)), described_(true) {}

  bool is_described() const override { return described_; }
  bool has_classes() const override { return false; }
  const std::vector<std::string>& class_names() const override { return no_classes_; }
  std::string name(std::int64_t i) const override;
  std::vector<std::filesystem::path> files() const override { return files_; }
  const StreamTokens& tokens() const { return tokens_; }
  const std::shared_ptr<const StreamTokeniser>& tokeniser() const { return tokeniser_; }
  /// Bytes that each token of the vocabulary stands for.
  std::int64_t bytes_of(std::int32_t token) const {
    return bytes_[static_cast<std::size_t>(token)];
  }

 private:
  std::shared_ptr<const StreamTokeniser> tokeniser_;
  std::vector<std::string> no_classes_;
  std::string name_;
  std::vector<std::filesystem::path> files_;
  StreamTokens tokens_;
  std::vector<std::int64_t> bytes_;
  std::int64_t context_ = 0;
  bool described_ = false;
};

/// Samples hold "tokens" (context), "next" (context), the token behind each of them, or kNoToken
/// behind the end of the text, and "bytes" (), how many the next tokens stand for.
class StreamDataset final : public Dataset {
 public:
  static constexpr std::int64_t kNoToken = -100;  // ops::CrossEntropyOptions::ignore_index

  StreamDataset(std::shared_ptr<const StreamPart> part, Split split,
                const std::vector<std::int64_t>& indices, const StreamOptions& options);

  const std::vector<Field>& fields() const override { return fields_; }
  SampleShape shape() const override;
  schema::Value description() const override;
  /// With draw.augment from a place that the epoch draws, options.shift.
  void prepare(std::int64_t i, const Draw& draw, Sample& into) const override;
  Sample get(std::int64_t i) const override;
  std::map<std::string, std::string> weight_files() const override;
  void check_weight_files(const std::map<std::string, std::string>& files,
                          const std::string& folder) const override;

  const StreamTokeniser& tokeniser() const { return *part_->tokeniser(); }

 private:
  std::shared_ptr<const StreamPart> part_;
  StreamOptions options_;
  std::vector<Field> fields_;
};

/// Null for another kind of data.
const StreamDataset* find_stream(const Dataset& dataset);

}  // namespace fovea::data
