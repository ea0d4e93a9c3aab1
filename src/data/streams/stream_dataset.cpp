#include "data/streams/stream_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

constexpr const char* kStream = "stream";  // of the description

const NoiseKind& stream_noise() {
  static const NoiseKind none;
  return none;
}

}  // namespace

StreamPart::StreamPart(StreamText text, std::int64_t context,
                       std::shared_ptr<const StreamTokeniser> tokeniser)
    : tokeniser_(std::move(tokeniser)),
      name_(std::move(text.name)),
      files_(std::move(text.files)),
      tokens_(tokeniser_->encode(text.text)),
      context_(context) {
  const std::int64_t predicted = std::ssize(tokens_) - 1;
  FOVEA_CHECK(predicted >= 1, FileError,
              fmt::format("{}: holds {} tokens; expected at least 2", name_, tokens_.size()));
  labels_.assign(static_cast<std::size_t>((predicted + context - 1) / context), 0);
  for (std::int64_t id = 0; id < tokeniser_->size(); ++id)
    bytes_.push_back(std::ssize(tokeniser_->piece(id)));
}

std::string StreamPart::name(std::int64_t i) const {
  return fmt::format("{}:{}", name_, i * context_);
}

StreamDataset::StreamDataset(std::shared_ptr<const StreamPart> part, Split split,
                             const std::vector<std::int64_t>& indices, const StreamOptions& options)
    : Dataset(part, split, options, {}, stream_noise()),
      part_(std::move(part)),
      options_(options),
      fields_{{"tokens", DType::kInt64, Collate::kStack, {options.context}},
              {"next", DType::kInt64, Collate::kStack, {options.context}},
              {"bytes", DType::kInt64, Collate::kStack, {}}} {
  choose(indices);
}

SampleShape StreamDataset::shape() const {
  SampleShape shape;
  shape.vocab_size = tokeniser().size();
  shape.max_len = options_.context;
  return shape;
}

schema::Value StreamDataset::description() const {
  return schema::Value::object({{kStream, schema::Value::object()}});
}

void StreamDataset::prepare(std::int64_t i, const Draw& draw, Sample& into) const {
  const StreamTokens& all = part_->tokens();
  const std::int64_t context = options_.context;
  const std::int64_t last = std::ssize(all) - 1;  // which only follows
  std::int64_t begin = source_index(i) * context;
  if (draw.augment && options_.shift && last > context) {
    const RandomStream epoch =
        RandomStream(draw.seed).fork("shift").fork(static_cast<std::uint64_t>(draw.epoch));
    begin = std::min(begin + epoch.below(context, 0), last - context);
  }
  auto* tokens = into.at("tokens").data<std::int64_t>();
  auto* next = into.at("next").data<std::int64_t>();
  std::int64_t bytes = 0;
  for (std::int64_t k = 0; k < context; ++k) {
    const std::int64_t at = begin + k;
    const bool there = at < last;
    tokens[k] = there ? all[static_cast<std::size_t>(at)] : 0;
    next[k] = there ? all[static_cast<std::size_t>(at + 1)] : kNoToken;
    if (there) bytes += part_->bytes_of(all[static_cast<std::size_t>(at + 1)]);
  }
  into.index = i;
  *into.at("bytes").data<std::int64_t>() = bytes;
}

Sample StreamDataset::get(std::int64_t i) const {
  Sample sample = blank();
  prepare(i, {}, sample);
  sample.name = name(i);
  return sample;
}

std::map<std::string, std::string> StreamDataset::weight_files() const {
  return {{kTokeniserFile, tokeniser().to_text()}};
}

void StreamDataset::check_weight_files(const std::map<std::string, std::string>& files,
                                       const std::string& folder) const {
  const std::string name = folder + "/" + kTokeniserFile;
  const auto found = files.find(kTokeniserFile);
  FOVEA_CHECK(found != files.end(), FileError,
              fmt::format("{}: not found; the checkpoint of a language model has one", name));
  const auto stored = parse_stream_tokeniser(found->second, name);
  FOVEA_CHECK(
      stored->to_value() == tokeniser().to_value(), FileError,
      fmt::format("{}: does not fit the data set: {} tokens against {}, or others; the data "
                  "set has changed since the weights were trained",
                  name, stored->size(), tokeniser().size()));
}

const StreamDataset* find_stream(const Dataset& dataset) {
  return dynamic_cast<const StreamDataset*>(&dataset);
}

Configured configured(StreamOptions options, OpenStreams open, const MakeOptions& how) {
  Configured result;
  result.options = options;
  result.options.split = {};  // `open` cuts
  // One tokeniser for all parts: that of the weights, or one that is made with train.
  const auto tokeniser = std::make_shared<std::shared_ptr<const StreamTokeniser>>();
  if (const std::string* text = how.weights ? how.weights->find(kTokeniserFile) : nullptr)
    *tokeniser = parse_stream_tokeniser(*text, how.weights->path_of(kTokeniserFile));
  result.open = [options, open = std::move(open),
                 tokeniser](Split split) -> std::shared_ptr<const Part> {
    std::optional<StreamText> text = open(split);
    if (!text) return nullptr;
    if (*tokeniser == nullptr) {
      const StreamTokeniserEntry& entry =
          stream_tokenisers().find(options.tokeniser.type, "dataset.tokeniser.type");
      const bool other = entry.learns && split != Split::kTrain;
      const std::optional<StreamText> train = other ? open(Split::kTrain) : std::nullopt;
      *tokeniser = entry.make(options.tokeniser, other ? train->text : text->text);
    }
    return std::make_shared<const StreamPart>(std::move(*text), options.context, *tokeniser);
  };
  result.make = [options](Split split, const auto& find) -> std::shared_ptr<const Dataset> {
    const std::optional<Chosen> chosen = find(split);
    if (!chosen) return nullptr;
    // What `open` above gave.
    auto part = std::static_pointer_cast<const StreamPart>(chosen->part);
    return std::make_shared<const StreamDataset>(std::move(part), split, chosen->indices, options);
  };
  result.describe =
      [options, tokeniser](const schema::Value& description) -> std::shared_ptr<const Dataset> {
    described_as(description, kStream);
    if (*tokeniser == nullptr) return nullptr;
    return std::make_shared<const StreamDataset>(std::make_shared<const StreamPart>(*tokeniser),
                                                 Split::kTest, std::vector<std::int64_t>(),
                                                 options);
  };
  return result;
}

}  // namespace fovea::data
