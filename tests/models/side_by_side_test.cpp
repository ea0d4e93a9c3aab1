// Explanations and ensembles run whole passes of one network in several threads.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "autograd/mode.h"
#include "backend/in_parallel.h"
#include "schema/json/parse.h"
#include "tests/models/network.h"
#include "tests/models/small_networks.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("networks: passes in several threads give the bits of one after another",
          "[models][host]") {
  for (const char* text : kSmallNetworks) {
    INFO(text);
    const schema::Value options = schema::parse(text, "network");
    const models::Entry& entry = entry_of(options.at("type").as_string());
    const auto model = build(options, cpu(), shape_for(entry));
    model->train(false);
    models::Inputs inputs = zeros_for(entry, 1, cpu());
    fill(inputs, entry);
    const auto pass = [&] {
      const autograd::NoGrad no_grad;
      std::vector<std::vector<double>> values;
      for (const Tensor& t : (*model)(inputs).tensors()) values.push_back(to_doubles(t));
      return values;
    };
    std::vector<std::vector<std::vector<double>>> found(2);
    in_parallel(cpu(), 2, [&](std::int64_t i) { found[static_cast<std::size_t>(i)] = pass(); });
    const auto alone = pass();
    REQUIRE(!alone.empty());
    CHECK(found[0] == alone);
    CHECK(found[1] == alone);
  }
}
