// Steps of making an image: which are shown, and that they follow each other.
#include "experiment/pictures/denoising_steps.h"

#include <catch2/catch.hpp>

#include "experiment/run/open_run.h"
#include "tensor/host.h"
#include "tests/experiment/fixture.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::experiment;

TEST_CASE("denoising steps: from the second to the last, each with what is seen in it",
          "[experiment]") {
  const schema::Value config = resolve(load_unresolved(
      fovea::test::source_dir() + "/experiments/smoke/dit.json",
      {"dataset.root=" + fovea::test::source_dir() + "/datasets/digits", "model.depth=1",
       "model.noise.steps=60", "eval.sampler={\"type\":\"ddim\",\"steps\":\"9\"}"}));
  experiment::test::Folder folder("denoising-steps");
  Run run(config, {});
  run.model().train(false);
  const auto steps = denoising_steps(run, 4, 4, 7);
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].step == 2);
  CHECK(steps[1].step == 4);
  CHECK(steps[2].step == 7);
  CHECK(steps[3].step == 9);
  CHECK(steps[3].timestep == 0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CHECK(steps[i].steps == 9);
    CHECK(steps[i].x.shape() == Shape{1, 1, 8, 8});
    CHECK(steps[i].x_start.shape() == Shape{1, 1, 8, 8});
    if (i > 0) CHECK(steps[i].timestep < steps[i - 1].timestep);
  }
  // The same seed, more of its steps; another seed, other noise.
  const auto all = denoising_steps(run, 4, 8, 7);
  REQUIRE(all.size() == 8);
  CHECK(host_doubles(all[2].x) == host_doubles(steps[1].x));
  CHECK(host_doubles(denoising_steps(run, 4, 1, 8)[0].x) != host_doubles(steps[3].x));
  CHECK(denoising_steps(run, -1, 1, 7)[0].step == 9);
  CHECK_THROWS_WITH(denoising_steps(run, 4, 9, 7),
                    "--steps 9: the run's sampler makes 9 steps; expected 1 to 8");
}
