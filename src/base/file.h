// All files are opened and written here. A write leaves either the complete old file or the
// complete new one. Whatever is no regular file (a pipe, a socket, a device) is refused before it
// can block. Tests can make the k-th system call fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea::io {

namespace fs = std::filesystem;

/// A file opened to be read. Throws FileError if it is missing or unreadable, and at once for what
/// is no file: a folder, pipe, socket or device.
class ReadFile {
 public:
  explicit ReadFile(const fs::path& path);
  ~ReadFile();
  ReadFile(const ReadFile&) = delete;
  ReadFile& operator=(const ReadFile&) = delete;
  std::uint64_t size() const;
  /// Reads up to `to.size()` bytes from `offset` on and returns how many there were; fewer only at
  /// the end of the file.
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> to) const;
  /// Reads exactly `to.size()` bytes. Throws FileError where the file ends before.
  void read_all_at(std::uint64_t offset, std::span<std::byte> to) const;

 private:
  fs::path path_;
  int fd_ = -1;
};

/// Whole content of a file. Throws FileError if it is missing, unreadable, no file (ReadFile), or
/// larger than `max_bytes`.
std::string read_text(const fs::path& path, std::uint64_t max_bytes = std::uint64_t{1} << 30);
std::vector<std::byte> read_bytes(const fs::path& path,
                                  std::uint64_t max_bytes = std::uint64_t{1} << 36);

/// Its first bytes, at most `count` of them.
std::vector<std::byte> read_beginning(const fs::path& path, std::size_t count);

/// Writes a file beside `path`, fsyncs it and renames it over `path`; on any failure the old file
/// is untouched, the new one removed, and FileError says which step failed and why. What is no file
/// (a folder, pipe, device) is refused; a link is replaced by the file.
void write_atomic(const fs::path& path, std::string_view content);

/// An append-only or new file with checked writes. Used for logs and for tensors too large to hold
/// twice. Throws FileError on every failed call, and where the path is a link or no regular file:
/// the target of a link belongs to someone else.
class File {
 public:
  enum class Mode { kCreate, kAppend };
  File(const fs::path& path, Mode mode);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Cuts the file to `bytes`; used on resume to drop log lines newer than the checkpoint.
  void truncate(std::uint64_t bytes);
  std::uint64_t size() const;
  void sync();   // fsync
  void close();  // reports errors, unlike the destructor

 private:
  fs::path path_;
  int fd_ = -1;
};

/// mkdir -p; FileError when impossible.
void make_directories(const fs::path& path);
/// True if anything stands at a path, also a link that leads nowhere.
bool exists_at_all(const fs::path& path);
/// True for the name of a temporary file of write_atomic, "<name>.<process>.tmp"; its own name, or
/// "".
std::string temporary_of(const std::string& name);
/// Makes the entries of a folder durable.
void sync_directory(const fs::path& path);
/// Moves a file or folder to another name on the same file system, where no full folder is.
/// Durable.
void move(const fs::path& from, const fs::path& to);
/// Removes a file or a whole folder; FileError when impossible.
void remove_all(const fs::path& path);

/// Test hook: called with the name of a system call ("open", "write", "fsync", "rename", "mkdir",
/// "unlink", "truncate") before it is made; a non-zero return is the errno it shall
/// fail with. An empty function removes the hook. Not for use outside tests.
void set_fault_hook(std::function<int(std::string_view call)> hook);

}  // namespace fovea::io
