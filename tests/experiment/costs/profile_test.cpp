#include "experiment/costs/profile.h"

#include <catch2/catch.hpp>

#include "backend/devices.h"
#include "tests/support/paths.h"

using namespace fovea;

TEST_CASE("profile: shares add up and memory is that of the parts", "[experiment]") {
  const auto e = experiment::parse(experiment::resolve(
      experiment::load_unresolved(fovea::test::source_dir() + "/experiments/bench/dgvit.json",
                                  {"train.batch_size=4", "model.depth=1", "model.embed_dim=32",
                                   "model.attention.num_heads=2"})));
  const Device device = make_cpu(2);
  const experiment::StepProfile profile = experiment::profile_step(e, device);
  double share = 0;
  bool attends = false;
  for (const experiment::ProfileRow& row : profile.rows) {
    share += row.share;
    attends = attends || (row.op == "two_map_attention" && row.backward && row.macs_per_step > 0);
  }
  CHECK(share == Approx(1));
  CHECK(attends);
  // AdamW keeps two numbers for every parameter; the allocator rounds up.
  CHECK(profile.parameter_bytes >= profile.gradient_bytes);
  CHECK(profile.optimiser_bytes >= 2 * profile.gradient_bytes);
  CHECK(profile.optimiser_bytes <= profile.parameter_bytes * 9 / 4);
  CHECK(profile.peak_bytes > profile.saved_bytes + profile.parameter_bytes);
  const schema::Value json = experiment::to_json(profile);
  CHECK(json.at("profile").size() == profile.rows.size());
  CHECK(json.at("peak_bytes").as_int() == profile.peak_bytes);
}
