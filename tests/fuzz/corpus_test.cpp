// Files that readers must take (valid-*), files that they must refuse (damaged-*), and thousands of
// damaged copies of both, which may be taken or refused but must do no harm. Under the sanitizers
// harm ends the test. What a fuzzer finds goes into tests/fuzz/corpus as damaged-<what>.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "tensor/random.h"
#include "tests/fuzz/readers.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::test;

namespace {

struct Seed {
  std::string name;
  std::string bytes;
  bool valid() const { return name.starts_with("valid-"); }
};

std::vector<Seed> seeds_of(const Reader& reader) {
  std::vector<Seed> seeds;
  const auto folder = io::fs::path(source_dir()) / "tests/fuzz/corpus" / reader.name;
  for (const auto& entry : io::fs::directory_iterator(folder)) {
    seeds.push_back({entry.path().filename().string(), io::read_text(entry.path())});
  }
  std::sort(seeds.begin(), seeds.end(), [](auto& a, auto& b) { return a.name < b.name; });
  return seeds;
}

/// Damages of one file; each is a function of the draw alone.
class Damage {
 public:
  explicit Damage(std::uint64_t key) : stream_(key) {}

  std::string operator()(std::string file) {
    for (auto left = 1 + below(3); left > 0; --left) file = once(std::move(file));
    return file;
  }

 private:
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(stream_.below(static_cast<std::int64_t>(bound), draw_++));
  }

  std::string once(std::string file) {
    if (file.empty()) return std::string(1 + below(4), static_cast<char>(below(256)));
    const std::size_t at = below(file.size());
    const std::size_t length = 1 + below(std::min<std::size_t>(16, file.size() - at));
    switch (below(7)) {
      case 0:  // a bit
        file[at] = static_cast<char>(file[at] ^ (1 << below(8)));
        return file;
      case 1:  // a byte that readers care for
        file[at] = "\0\xff\x7f\x80\n\"{}[],:-09e."[below(18)];
        return file;
      case 2:  // cut short
        return file.substr(0, at);
      case 3:  // a piece left out
        return file.erase(at, length);
      case 4:  // a piece twice
        return file.insert(at, file.substr(at, length));
      case 5:  // a number of four bytes
        for (std::size_t i = at; i < std::min(at + 4, file.size()); ++i) {
          file[i] = static_cast<char>(below(2) == 0 ? 0xff : below(256));
        }
        return file;
      default:  // two pieces change places
        std::rotate(file.begin() + static_cast<std::ptrdiff_t>(at),
                    file.begin() + static_cast<std::ptrdiff_t>(at + length / 2),
                    file.begin() + static_cast<std::ptrdiff_t>(at + length));
        return file;
    }
  }

  RandomStream stream_;
  std::uint64_t draw_ = 0;
};

}  // namespace

TEST_CASE("readers: valid files are read, damaged ones refused in one line", "[fuzz]") {
  for (const Reader& reader : readers()) {
    const std::vector<Seed> seeds = seeds_of(reader);
    INFO(reader.name);
    CHECK(std::any_of(seeds.begin(), seeds.end(), [](const Seed& s) { return s.valid(); }));
    for (const Seed& seed : seeds) {
      INFO(seed.name);
      if (seed.valid()) {
        CHECK_NOTHROW(reader.read(seed.bytes));
        continue;
      }
      try {
        reader.read(seed.bytes);
        FAIL_CHECK("was read");
      } catch (const Error& error) {
        CHECK(std::string(error.what()).find('\n') == std::string::npos);
      }
    }
  }
}

TEST_CASE("readers: files damaged at random end in a message or in content", "[fuzz]") {
  constexpr int kCopies = 1000;  // of each file
  for (const Reader& reader : readers()) {
    for (const Seed& seed : seeds_of(reader)) {
      for (int copy = 0; copy < kCopies; ++copy) {
        INFO(reader.name << ", " << seed.name << ", copy " << copy);
        Damage damage(static_cast<std::uint64_t>(copy));
        const std::string file = damage(seed.bytes);
        try {
          reader.read(file);
        } catch (const Error&) {  // what it should throw, if anything
        } catch (const std::exception& error) {
          FAIL_CHECK(error.what());
        }
      }
    }
  }
}
