#include "data/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "base/cores.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/threads.h"
#include "schema/compare.h"

namespace fovea::data {
namespace {

constexpr std::int64_t kPiece = 4096;
constexpr std::int64_t kWhole = 4 * kPiece;  // files up to this are read whole
constexpr std::int64_t kStep = std::int64_t{1} << 16;
constexpr std::int64_t kMaxPieces = 64;

using Buffer = std::vector<std::byte>;  // of kMaxPieces * kPiece

// Size and sampled bytes of a file.
std::string digest_of(const std::string& path, Buffer& buffer) {
  try {
    const io::ReadFile file(path);
    const auto read = [&](std::int64_t to, std::int64_t offset, std::int64_t count) {
      const std::span<std::byte> piece(buffer.data() + to, static_cast<std::size_t>(count));
      return static_cast<std::int64_t>(file.read_at(static_cast<std::uint64_t>(offset), piece));
    };
    std::int64_t size = read(0, 0, kWhole + 1);  // most files take this one call
    std::int64_t known = size;
    if (size > kWhole) {
      size = static_cast<std::int64_t>(file.size());
      known = 0;
      const std::int64_t step = std::max(kStep, size / (kMaxPieces - 1));
      for (std::int64_t at = 0; known < kMaxPieces * kPiece; at += step) {
        at = std::min(at, size - kPiece);
        if (at < 0 || read(known, at, kPiece) != kPiece) return "unreadable";
        known += kPiece;
        if (at == size - kPiece) break;
      }
    }
    const std::string_view sampled(reinterpret_cast<const char*>(buffer.data()),
                                   static_cast<std::size_t>(known));
    return fmt::format("{} {}", size, hash_bytes(sampled));
  } catch (const FileError&) {
    return "unreadable";
  }
}

struct Known {
  std::string name;  // below root
  std::string path;
  std::string digest;
};

// The digest of a whole file; the end of a packed one holds a checksum of everything.
std::string whole_digest_of(const std::string& path, Buffer& buffer) {
  if (path.ends_with(".gz")) return digest_of(path, buffer);
  try {
    return hash_file(path);
  } catch (const FileError&) {
    return "unreadable";
  }
}

// Opening a file is mostly waiting, so several are opened at once.
void digest_all(std::vector<Known>& files, bool whole) {
  const std::size_t workers =
      std::clamp<std::size_t>(files.size() / 128, 1, std::clamp(usable_cores(), 1, 8));
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    Buffer buffer(static_cast<std::size_t>(kMaxPieces * kPiece));
    for (std::size_t i = next++; i < files.size(); i = next++)
      files[i].digest = (whole ? whole_digest_of : digest_of)(files[i].path, buffer);
  };
  const auto others = start_threads(workers - 1, work);
  work();
}

// Each file of the data set once, by name.
std::vector<Known> digests_of(const Origin& origin) {
  std::vector<Known> files;
  for (const std::filesystem::path& file : origin.files)
    files.push_back({below(origin.root, file.string()), file.string(), ""});
  const auto by_name = [](const Known& a, const Known& b) { return a.name < b.name; };
  const auto same_name = [](const Known& a, const Known& b) { return a.name == b.name; };
  std::sort(files.begin(), files.end(), by_name);
  files.erase(std::unique(files.begin(), files.end(), same_name), files.end());
  digest_all(files, origin.whole);
  return files;
}

std::string hash_of(const std::string& recipe, const std::vector<Known>& files) {
  std::string text = recipe + "\n";
  for (const Known& file : files) text += file.name + '\0' + file.digest + '\n';
  return schema::content_hash(schema::Value(text));
}

}  // namespace

std::string content_hash(const Origin& origin) {
  return hash_of(origin.recipe, digests_of(origin));
}

schema::Value fingerprint(const Splits& splits) {
  const auto all = splits.all();
  if (all.empty()) return {};
  Origin origin{all.front()->root(), {}, all.front()->recipe()};
  schema::Value samples = schema::Value::object(), hashes = schema::Value::object();
  for (const auto& part : all) {
    samples.set(std::string(name_of(part->split())), part->size());
    const auto files = part->files();
    origin.files.insert(origin.files.end(), files.begin(), files.end());
  }
  const std::vector<Known> known = digests_of(origin);
  for (const auto& part : all) {
    std::set<std::string> names;
    for (const auto& file : part->files()) names.insert(below(origin.root, file.string()));
    std::vector<Known> own;
    std::copy_if(known.begin(), known.end(), std::back_inserter(own),
                 [&](const Known& file) { return names.contains(file.name); });
    hashes.set(std::string(name_of(part->split())), hash_of(origin.recipe, own));
  }
  return schema::Value::object(
      {{"hash", hash_of(origin.recipe, known)}, {"samples", samples}, {"parts", hashes}});
}

bool same_content(const schema::Value& before, const schema::Value& now) {
  if (before.is_null() || now.is_null()) return true;
  const schema::Value* was = before.find("parts");
  if (was == nullptr) return before.at("hash") == now.at("hash");
  const auto& parts = now.at("parts").members();
  return std::all_of(parts.begin(), parts.end(), [&](const schema::Value::Member& part) {
    const schema::Value* hash = was->find(part.key);
    return hash != nullptr && *hash == part.value;
  });
}

std::string sample_lists(const Splits& splits) {
  std::string text;
  for (const auto& part : splits.all()) {
    text += fmt::format("{}\n  \"{}\": [", text.empty() ? "{" : ",", name_of(part->split()));
    for (std::int64_t i = 0; i < part->size(); ++i) {
      text += i == 0 ? "\n    " : ",\n    ";
      text += schema::Value(below(part->root(), part->name(i))).dump(0);
    }
    text += "]";
  }
  return text + "\n}\n";
}

}  // namespace fovea::data
