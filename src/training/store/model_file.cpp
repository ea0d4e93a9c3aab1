#include "training/store/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "schema/json/parse.h"
#include "training/store/checkpoint_folder.h"

namespace fovea::training {
namespace {

using schema::Value;

constexpr const char* kFormat = "fovea-1";
constexpr std::size_t kLengthBytes = 8, kHashDigits = 16;
// Quotes inside of texts are escaped in a header, so that this stands there once.
constexpr std::string_view kHashKey = R"("hash":")";

std::string no_hash() { return std::string(kHashDigits, '0'); }

// Where the digits of the hash begin; nothing in a file without them.
std::optional<std::size_t> place_of_hash(std::string_view bytes) {
  if (bytes.size() < kLengthBytes) return std::nullopt;
  std::uint64_t length = 0;
  for (std::size_t k = 0; k < kLengthBytes; ++k)
    length |= std::uint64_t{static_cast<unsigned char>(bytes[k])} << (8 * k);
  const std::size_t end =
      kLengthBytes + static_cast<std::size_t>(std::min<std::uint64_t>(length, bytes.size()));
  const std::size_t at = bytes.substr(0, end).find(kHashKey);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t first = at + kHashKey.size();
  return first + kHashDigits <= bytes.size() ? std::optional(first) : std::nullopt;
}

// The value of "hash" is that of the bytes without it.
std::string hash_without(std::string& bytes, std::size_t at) {
  const std::string kept = bytes.substr(at, kHashDigits);
  bytes.replace(at, kHashDigits, no_hash());
  const std::string hash = hash_bytes(bytes);
  bytes.replace(at, kHashDigits, kept);
  return hash;
}

Value parsed(const std::map<std::string, std::string>& metadata, const std::string& key,
             const std::string& file) {
  const auto found = metadata.find(key);
  FOVEA_CHECK(found != metadata.end(), FileError, fmt::format("{}: has no {}", file, key));
  schema::Limits limits;
  limits.bytes = found->second.size();
  try {
    return schema::parse(found->second, file + ": " + key, limits);
  } catch (const ConfigError& error) {
    throw FileError(error.what());
  }
}

}  // namespace

bool is_model_file(const std::filesystem::path& path) { return path.extension() == kModelEnding; }

void write_model_file(const std::filesystem::path& path, const ModelFile& model) {
  Value files = Value::object();
  for (const auto& [name, text] : model.files) files.set(name, text);
  std::string bytes = serialise_safetensors({model.weights,
                                             {{"format", kFormat},
                                              {"config", model.config.dump(0)},
                                              {"files", files.dump(0)},
                                              {"about", model.about.dump(0)},
                                              {"hash", no_hash()}}});
  const auto at = place_of_hash(bytes);
  FOVEA_CHECK(at.has_value(), FileError, path.string() + ": header without a hash");
  bytes.replace(*at, kHashDigits, hash_without(bytes, *at));
  io::write_atomic(path, bytes);
}

ModelFile read_model_file(const std::filesystem::path& path, const Device& host) {
  return parse_model_file(io::read_text(path, kMostWeightBytes), path.string(), host);
}

ModelFile parse_model_file(std::string bytes, const std::string& name, const Device& host) {
  const auto at = place_of_hash(bytes);
  FOVEA_CHECK(
      at.has_value(), FileError,
      fmt::format("{}: is no file that fovea export wrote, or its beginning is damaged", name));
  const std::string hash = bytes.substr(*at, kHashDigits);
  FOVEA_CHECK(
      hash_without(bytes, *at) == hash, FileError,
      fmt::format("{}: content differs from its hash; the file is damaged or was cut short", name));
  TensorFile content = parse_safetensors(bytes, name, host);
  const std::string format = content.metadata["format"];
  FOVEA_CHECK(
      format == kFormat, FileError,
      fmt::format("{}: is of format \"{}\"; this program reads \"{}\"", name, format, kFormat));
  ModelFile model{std::move(content.tensors),
                  parsed(content.metadata, "config", name),
                  {},
                  parsed(content.metadata, "about", name),
                  hash};
  const Value files = parsed(content.metadata, "files", name);
  try {
    for (const Value::Member& file : files.members())
      model.files[file.key] = file.value.as_string();
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("{}: files: {}", name, error.what()));
  }
  return model;
}

}  // namespace fovea::training
