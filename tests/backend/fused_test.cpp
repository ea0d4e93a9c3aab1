// Every fused kernel of a device against its default body, which is made of primitives.
#include <set>

#include "tests/backend/fused_cases.h"
#include "tests/support/gpu.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// The device of the tests without its fused kernels.
class Composed final : public Backend {
 public:
  std::string name() const override { return "composed"; }
#define FOVEA_PRIMITIVE(kernel, parameters, arguments) \
  void kernel parameters const override { cpu().backend().kernel arguments; }
#define FOVEA_FUSED(kernel, parameters, arguments)
#include "backend/kernels.def"
};

std::vector<FusedCase> all_cases() {
  std::vector<FusedCase> all;
  for (const auto& part :
       {cases_of_rows(), cases_of_maps(), cases_of_attention(), cases_of_updates()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

// That of the test program; beside the CPU the first of each kind that is there.
std::vector<Device> devices() {
  std::vector<Device> all{cpu()};
  if (cpu().type() != DeviceType::kCpu) return all;
  for (const Device& gpu : gpus()) all.push_back(gpu);
  return all;
}

}  // namespace

TEST_CASE("fused kernels: each has a case", "[backend]") {
  std::set<std::string> covered;
  for (const FusedCase& c : all_cases()) covered.insert(c.kernel);
  const std::set<std::string> fused = {
#define FOVEA_PRIMITIVE(kernel, parameters, arguments)
#define FOVEA_FUSED(kernel, parameters, arguments) #kernel,
#include "backend/kernels.def"
  };
  CHECK(covered == fused);
}

TEST_CASE("dropout: every device drops the same", "[backend][gpu]") {
  for (const Device& device : devices()) {
    const auto dropped = [&](const Device& on) {
      const InPlaceOfCpu in_place(on);
      const Tensor x = Tensor::empty({1000}, DType::kFloat32, on);
      on.backend().fill(x, 0.3);
      on.backend().dropout({.key = 99, .p = 0.3}, x, x);
      return to_doubles(x);
    };
    CHECK(dropped(device) == dropped(make_cpu(1)));
  }
}

TEST_CASE("fused kernels: a device's agree with their default bodies", "[backend][gpu]") {
  const Composed composed;
  for (const Device& device : devices()) {
    const InPlaceOfCpu in_place(device);
    for (const FusedCase& c : all_cases()) {
      for (const DType stored : {DType::kFloat64, DType::kFloat32, DType::kBFloat16}) {
        if (stored == DType::kBFloat16 && !c.bfloat16) continue;
        if (c.large && !device.is_host()) continue;
        INFO(device.backend().name()
             << ": " << c.kernel << " " << c.variant << " " << name_of(stored));
        Operands for_fused(stored);
        Operands for_composed(stored);
        const std::vector<Tensor> fused = c.run(device.backend(), for_fused);
        const std::vector<Tensor> by_parts = c.run(composed, for_composed);
        REQUIRE(fused.size() == by_parts.size());
        for (std::size_t i = 0; i < fused.size(); ++i) {
          INFO("result " << i);
          const double scale = std::max(1.0, largest(to_doubles(by_parts[i])));
          CHECK(max_difference(fused[i], by_parts[i]) <= tolerance(stored) * scale);
        }
      }
    }
  }
}
