#include "data/identity.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "schema/compare.h"

namespace fovea::data {
namespace {

constexpr std::int64_t kPiece = 4096;
constexpr std::int64_t kWhole = 4 * kPiece;  // files up to this are read whole
constexpr std::int64_t kStep = std::int64_t{1} << 16;
constexpr std::int64_t kMaxPieces = 64;

using Buffer = std::vector<char>;  // of kMaxPieces * kPiece

class Descriptor {
 public:
  explicit Descriptor(const char* path) : fd_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  std::int64_t size() const {
    struct stat status {};
    return ::fstat(fd_, &status) == 0 ? status.st_size : -1;
  }
  /// How many bytes were read, -1 for none because of an error.
  std::int64_t read(char* to, std::int64_t offset, std::int64_t count) const {
    return ::pread(fd_, to, static_cast<std::size_t>(count), offset);
  }

 private:
  int fd_;
};

// Size and sampled bytes of a file.
std::string digest_of(const std::string& path, Buffer& buffer) {
  const Descriptor file(path.c_str());
  std::int64_t size = file.read(buffer.data(), 0, kWhole + 1);  // most files take this one call
  std::int64_t known = size;
  if (size > kWhole) {
    size = file.size();
    known = 0;
    const std::int64_t step = std::max(kStep, size / (kMaxPieces - 1));
    for (std::int64_t at = 0; known < kMaxPieces * kPiece; at += step) {
      at = std::min(at, size - kPiece);
      if (file.read(buffer.data() + known, at, kPiece) != kPiece) return "unreadable";
      known += kPiece;
      if (at == size - kPiece) break;
    }
  }
  if (size < 0) return "unreadable";
  const std::string_view sampled(buffer.data(), static_cast<std::size_t>(known));
  return fmt::format("{} {}", size, hash_bytes(sampled));
}

struct Known {
  std::string name;  // below root
  std::string path;
  std::string digest;
};

// Opening a file is slow rather than work, so several are opened at once.
void digest_all(std::vector<Known>& files) {
  const std::size_t useful = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t workers =
      std::clamp<std::size_t>(files.size() / 128, 1, std::min<std::size_t>(useful, 8));
  const auto work = [&](std::size_t worker) {
    Buffer buffer(static_cast<std::size_t>(kMaxPieces * kPiece));
    for (std::size_t i = worker; i < files.size(); i += workers)
      files[i].digest = digest_of(files[i].path, buffer);
  };
  std::vector<std::jthread> others;
  for (std::size_t worker = 1; worker < workers; ++worker) others.emplace_back(work, worker);
  work(0);
}

}  // namespace

std::string content_hash(const Origin& origin) {
  std::vector<Known> files;
  for (const std::filesystem::path& file : origin.files)
    files.push_back({below(origin.root, file.string()), file.string(), ""});
  const auto by_name = [](const Known& a, const Known& b) { return a.name < b.name; };
  const auto same_name = [](const Known& a, const Known& b) { return a.name == b.name; };
  std::sort(files.begin(), files.end(), by_name);
  files.erase(std::unique(files.begin(), files.end(), same_name), files.end());
  digest_all(files);
  std::string text = origin.recipe + "\n";
  for (const Known& file : files) text += file.name + '\0' + file.digest + '\n';
  return schema::content_hash(schema::Value(text));
}

schema::Value fingerprint(const Splits& splits) {
  Origin origin{splits.any().root(), {}, splits.any().recipe()};
  schema::Value samples = schema::Value::object();
  for (const auto& part : splits.all()) {
    samples.set(std::string(name_of(part->split())), part->size());
    const auto files = part->files();
    origin.files.insert(origin.files.end(), files.begin(), files.end());
  }
  return schema::Value::object({{"hash", content_hash(origin)}, {"samples", samples}});
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
