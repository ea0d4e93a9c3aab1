// What lies in dataset.cache_folder is believed only where it is what was written.
#include "data/volumes/volume_cache.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

PreparedVolume small_volume() {
  PreparedVolume volume;
  volume.size = {2, 2, 3};
  volume.values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  volume.labels = {0, 1, 2, 0, 1, kIgnoredVoxel, 0, 0, 0, 2, 2, 1};
  volume.place.file = {2, 4, 5};
  volume.place.first = {0, 1, 2};
  volume.place.box = {2, 2, 3};
  volume.place.spacing = {3, 1, 1};
  volume.place.prepared_spacing = {2, 1, 1};
  note_voxels(volume, 3);
  return volume;
}

void check_equal(const PreparedVolume& a, const PreparedVolume& b) {
  CHECK(a.channels == b.channels);
  CHECK(a.size == b.size);
  CHECK(a.values == b.values);
  CHECK(a.labels == b.labels);
  CHECK(a.voxels == b.voxels);
  CHECK(a.labelled == b.labelled);
  CHECK(a.place.file == b.place.file);
  CHECK(a.place.first == b.place.first);
  CHECK(a.place.box == b.place.box);
  CHECK(a.place.spacing == b.place.spacing);
  CHECK(a.place.prepared_spacing == b.place.prepared_spacing);
  CHECK(a.place.turn == b.place.turn);
}

VolumePlan small_plan() {
  VolumePlan plan;
  plan.ct = true;
  plan.spacing = {2.5, 1, 1};
  plan.channels = {{.low = -100, .high = 250, .mean = 40, .std = 60}};
  return plan;
}

// Every bit of every byte, one at a time.
template <class Check>
void each_flip(const std::string& bytes, const Check& check) {
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      check(flipped);
    }
  }
}

}  // namespace

TEST_CASE("volume cache: what is packed is unpacked", "[data][volumes]") {
  check_equal(unpack_volume(pack_volume(small_volume()), "x", 3), small_volume());
  CHECK(unpack_plan(pack_plan(small_plan()), "x").text() == small_plan().text());
}

TEST_CASE("volume cache: a flipped bit is refused or changes nothing", "[data][volumes]") {
  const std::string volume = pack_volume(small_volume());
  int taken = 0;
  each_flip(volume, [&](const std::string& flipped) {
    try {
      const PreparedVolume found = unpack_volume(flipped, "x", 3);
      const std::string again = pack_volume(found);
      REQUIRE(again == volume);
      ++taken;
    } catch (const FileError&) {
    }
  });
  CHECK(taken < 100);  // of the padding behind the header
  const std::string plan = small_plan().text();
  each_flip(pack_plan(small_plan()), [&](const std::string& flipped) {
    try {
      const std::string found = unpack_plan(flipped, "x").text();
      REQUIRE(found == plan);
    } catch (const FileError&) {
    }
  });
}

TEST_CASE("volume cache: a file under another one's name is refused", "[data][volumes]") {
  const std::string volume = pack_volume(small_volume(), "one");
  check_equal(unpack_volume(volume, "x", 3, {}, "one"), small_volume());
  CHECK_THROWS_WITH(unpack_volume(volume, "x", 3, {}, "two"),
                    "x: its content is not what it was written with");
  const std::string plan = pack_plan(small_plan(), "one");
  CHECK(unpack_plan(plan, "x", "one").text() == small_plan().text());
  CHECK_THROWS_WITH(unpack_plan(plan, "x", "two"),
                    "x: its content is not what it was written with");
}

TEST_CASE("volume cache: labels, places and plans that cannot be are refused", "[data][volumes]") {
  CHECK_THROWS_WITH(unpack_volume(pack_volume(small_volume()), "x", 2),
                    "x: its labels are not those of 2 classes for each voxel");
  PreparedVolume volume = small_volume();
  volume.place.first[2] = 3;
  CHECK_THROWS_WITH(unpack_volume(pack_volume(volume), "x", 3), "x: is no place in a volume");
  volume = small_volume();
  volume.place.spacing[0] = 0;
  CHECK_THROWS_WITH(unpack_volume(pack_volume(volume), "x", 3), "x: is no place in a volume");
  volume = small_volume();
  volume.place.turn.from = {0, 0, 1};
  CHECK_THROWS_AS(unpack_volume(pack_volume(volume), "x", 3), FileError);
  VolumePlan plan = small_plan();
  plan.spacing[1] = -1;
  CHECK_THROWS_AS(unpack_plan(pack_plan(plan), "x"), FileError);
  CHECK_THROWS_AS(unpack_plan(small_plan().text(), "x"), FileError);
}
