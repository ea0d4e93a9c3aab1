#include "data/files/packed_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "data/files/bytes.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;
class Inflater {
 public:
  Inflater(Bytes file, std::string_view name) : file_(file), name_(name) {
    FOVEA_CHECK(::inflateInit2(&stream_, 15 + 16) == Z_OK, FileError,
                fmt::format("{}: no memory to expand it", name));
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Appends at most `count` bytes; false at the end of the last member.
  bool read(std::vector<std::byte>& out, std::size_t count) {
    const std::size_t have = out.size();
    out.resize(have + count);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data() + have);
    stream_.avail_out = static_cast<uInt>(count);
    bool more = true;
    while (more && stream_.avail_out > 0) more = step();
    out.erase(out.end() - static_cast<std::ptrdiff_t>(stream_.avail_out), out.end());
    return more;
  }

 private:
  bool step() {
    if (stream_.avail_in == 0) {
      const std::size_t piece = std::min<std::size_t>(file_.size() - position_, 1u << 30);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(file_.data() + position_));
      stream_.avail_in = static_cast<uInt>(piece);
      position_ += piece;
    }
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      const std::size_t rest = file_.size() - position_ + stream_.avail_in;
      if (rest == 0) return false;
      // Several members in one file are one stream; anything else after the end is damage.
      FOVEA_CHECK(is_gzip(file_.subspan(file_.size() - rest)), FileError,
                  fmt::format("{}: {} bytes after the end of the gzip stream", name_, rest));
      ::inflateReset(&stream_);
      return true;
    }
    FOVEA_CHECK(
        status != Z_BUF_ERROR || stream_.avail_in > 0 || position_ < file_.size(), FileError,
        fmt::format("{}: gzip stream ends early; the copy or download was cut short", name_));
    FOVEA_CHECK(status == Z_OK || status == Z_BUF_ERROR, FileError,
                fmt::format("{}: gzip stream is damaged: {}", name_,
                            stream_.msg != nullptr ? stream_.msg : "unknown reason"));
    return true;
  }

  Bytes file_;
  std::string_view name_;
  std::size_t position_ = 0;
  z_stream stream_{};
};

}  // namespace

fs::path find_data_file(const fs::path& path, std::string_view page) {
  fs::path compressed = path;
  compressed += ".gz";
  for (const fs::path& candidate : {path, compressed}) {
    std::error_code code;
    const fs::file_status status = fs::status(candidate, code);
    if (fs::is_regular_file(status)) return candidate;
    if (status.type() == fs::file_type::not_found) continue;
    throw FileError(
        fmt::format("dataset.root: {}: {}; see {}", candidate.string(),
                    code ? "cannot be read: " + code.message() : "is not a regular file", page));
  }
  throw FileError(fmt::format("dataset.root: {}: not found; see {}", path.string(), page));
}

bool is_gzip(Bytes file) {
  return file.size() >= 2 && file[0] == std::byte{0x1f} && file[1] == std::byte{0x8b};
}

std::vector<std::byte> inflate_prefix(Bytes file, std::size_t count, std::string_view name) {
  std::vector<std::byte> out;
  Inflater(file, name).read(out, count);
  return out;
}

std::vector<std::byte> inflate(Bytes file, std::size_t max_bytes, std::string_view name) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  Inflater inflater(file, name);
  std::vector<std::byte> out;
  while (inflater.read(out, std::min(kChunk, max_bytes + 1 - out.size()))) {
    FOVEA_CHECK(out.size() <= max_bytes, FileError,
                fmt::format("{}: expands to more than the expected {} bytes", name, max_bytes));
  }
  FOVEA_CHECK(out.size() <= max_bytes, FileError,
              fmt::format("{}: expands to more than the expected {} bytes", name, max_bytes));
  return out;
}

std::string pack_gzip(std::string_view bytes) {
  constexpr int kFast = 1;  // maps of labels become small at any level
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  z_stream stream{};
  FOVEA_CHECK(::deflateInit2(&stream, kFast, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK,
              FileError, "gzip: no memory to compress");
  std::string packed;
  std::string out(kPiece, '\0');
  for (std::size_t at = 0, last = 0; last == 0;) {
    const std::size_t piece = std::min(kPiece, bytes.size() - at);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + at));
    stream.avail_in = static_cast<uInt>(piece);
    at += piece;
    last = at == bytes.size() ? 1 : 0;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(out.data());
      stream.avail_out = static_cast<uInt>(kPiece);
      ::deflate(&stream, last == 1 ? Z_FINISH : Z_NO_FLUSH);
      packed.append(out, 0, kPiece - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  ::deflateEnd(&stream);
  return packed;
}

std::vector<std::byte> read_packed(const fs::path& path, std::size_t max_bytes) {
  // Deflate cannot grow data by more than a few bytes in a thousand.
  std::vector<std::byte> file = io::read_bytes(path, max_bytes + max_bytes / 256 + 4096);
  if (is_gzip(file)) return inflate(file, max_bytes, path.string());
  FOVEA_CHECK(file.size() <= max_bytes, FileError,
              fmt::format("{}: holds {} bytes, at most {} expected", path.string(), file.size(),
                          max_bytes));
  return file;
}

}  // namespace fovea::data
