// Networks without gradients write over what nobody holds: who looks at what a module puts out sees
// it as it was, and changes no bit of the result.
#include <catch2/catch.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "autograd/hooks.h"
#include "autograd/mode.h"
#include "schema/json/parse.h"
#include "tests/models/network.h"
#include "tests/models/small_networks.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

struct HeldOutput {
  std::string name;
  Tensor value;
  std::vector<std::byte> bytes;  // when it was put out
};

std::vector<std::byte> held_bytes(const Tensor& x) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(x.bytes()));
  if (!bytes.empty()) x.download(bytes.data());
  return bytes;
}

void check_held_outputs(const std::vector<HeldOutput>& all) {
  for (const HeldOutput& seen : all) {
    INFO(seen.name);
    const bool same = held_bytes(seen.value) == seen.bytes;
    CHECK(same);
  }
}

void check_same_bytes(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = held_bytes(a[i]) == held_bytes(b[i]);
    CHECK(same);
  }
}

}  // namespace

TEST_CASE("networks without gradients: outputs of modules that are held do not change",
          "[models]") {
  const autograd::NoGrad no_grad;
  for (const char* text : kSmallNetworks) {
    INFO(text);
    const schema::Value options = schema::parse(text, "network");
    const models::Entry& entry = entry_of(options.at("type").as_string());
    const auto model = build(options, cpu(), shape_for(entry));
    model->train(false);
    models::Inputs inputs = zeros_for(entry, 2, cpu());
    fill(inputs, entry);
    const std::vector<Tensor> plain = (*model)(inputs).tensors();
    std::vector<HeldOutput> held;
    const autograd::ModuleHook hold = [&](const std::string& name, const Tensor& output) {
      held.push_back({name, output, held_bytes(output)});
      return output;
    };
    {
      const autograd::HookModules scope(hold);
      check_same_bytes((*model)(inputs).tensors(), plain);
    }
    REQUIRE(held.size() > 3);
    check_held_outputs(held);
    // With gradients nothing is written over.
    const autograd::EnableGrad gradients;
    check_same_bytes((*model)(inputs).tensors(), plain);
  }
}
