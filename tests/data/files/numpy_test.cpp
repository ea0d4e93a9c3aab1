// Arrays of numpy: types, orders of axes, archives, and what is refused.
#include "data/files/numpy.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/data/array_files.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

NumpyArray decoded_array(const std::string& bytes) { return decode_npy(bytes_of(bytes), "a.npy"); }

const std::vector<float> kCounting = {0, 1, 2, 3, 4, 5};

}  // namespace

TEST_CASE("numpy: numbers of any type, rows or columns first", "[data]") {
  const NumpyArray rows = decoded_array(npy("<f4", "(2, 3)", raw_bytes(kCounting)));
  CHECK(rows.shape == std::vector<std::int64_t>{2, 3});
  CHECK(rows.values == kCounting);
  const std::string columns = raw_bytes(std::vector<double>{0, 3, 1, 4, 2, 5});
  CHECK(decoded_array(npy("<f8", "(2, 3)", columns, true)).values == kCounting);
  CHECK(decoded_array(npy("<i8", "(6,)", raw_bytes(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5})))
            .values == kCounting);
  CHECK(decoded_array(npy("|u1", "(6,)", std::string("\0\1\2\3\4\5", 6))).values == kCounting);
  CHECK(decoded_array(npy("<f4", "()", raw_bytes(std::vector<float>{7}))).values ==
        std::vector<float>{7});
  // The second version of the format has four bytes for the length of its header.
  std::string wide = npy("<f4", "(2, 3)", raw_bytes(kCounting));
  wide[6] = 2;
  wide.insert(10, std::string(2, '\0'));
  CHECK(decoded_array(wide).values == kCounting);
}

TEST_CASE("numpy: archives, compressed or not; other arrays are left alone", "[data]") {
  const std::string image = npy("<f4", "(2, 3)", raw_bytes(kCounting));
  for (const bool compressed : {false, true}) {
    const std::string file =
        zip({{"image.npy", image}, {"label.npy", image}, {"more.npy", "no array"}}, compressed);
    const auto arrays = decode_npz(bytes_of(file), {"image", "label"}, "a.npz");
    CHECK(arrays.size() == 2);
    CHECK(arrays.at("label").values == kCounting);
    CHECK_THROWS_WITH(decode_npz(bytes_of(file), {"image", "mask"}, "a.npz"),
                      "a.npz: holds no array \"mask\"; expected image, mask");
    CHECK_THROWS_WITH(decode_npz(bytes_of(file), {"more"}, "a.npz"),
                      "a.npz: more: is no array of numpy");
  }
}

TEST_CASE("numpy: damaged files end in one line", "[data]") {
  const std::string good = npy("<f4", "(2, 3)", raw_bytes(kCounting));
  const auto refused = [](const std::string& bytes, const std::string& message) {
    CHECK_THROWS_WITH(decoded_array(bytes),
                      Catch::StartsWith("a.npy: ") && Catch::Contains(message));
  };
  refused(good.substr(0, good.size() - 1),
          "header promises an array of 2 x 3, file holds 5 values");
  refused(good.substr(0, 40), "file holds 40; the copy or download was cut short");
  refused("PNG", "is no array of numpy");
  refused(npy(">f4", "(2, 3)", raw_bytes(kCounting)), "is an array of type >f4");
  refused(npy("<c8", "(3,)", raw_bytes(kCounting)), "is an array of type <c8");
  refused(npy("<f4", "(2, -3)", raw_bytes(kCounting)), "damaged shape");
  refused(npy("<f4", "(4294967296, 4294967296, 2)", raw_bytes(kCounting)), "header promises");
  refused(npy("<f4", "2", raw_bytes(kCounting)), "has no shape");
  // Every byte of an archive changed: an error or an array, nothing else.
  const std::string archive = zip({{"image.npy", good}}, true);
  for (std::size_t i = 0; i < archive.size(); ++i) {
    std::string bad = archive;
    bad[i] = static_cast<char>(bad[i] ^ 0x41);
    try {
      const auto arrays = decode_npz(bytes_of(bad), {"image"}, "a.npz");
      CHECK(arrays.size() == 1);
    } catch (const FileError& error) {
      CHECK_THAT(error.what(), Catch::StartsWith("a.npz: "));
    }
    CHECK_THROWS_AS(decode_npz(bytes_of(archive.substr(0, i)), {"image"}, "a.npz").at("image"),
                    FileError);
    if (i > archive.size() / 2) break;  // the list at the end is read by none
  }
}
