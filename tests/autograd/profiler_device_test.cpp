// Times of a device that queues its work: what an operation takes shows only when the queue is
// read.
#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "backend/backend.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// Kernels of the CPU on the heap; every one is said to take a second of the device's own time.
class Queue final : public Backend {
 public:
  std::string name() const override { return "queue"; }
  Moment moment() const override { return {0, std::make_shared<double>(seconds_)}; }
  double seconds_between(const Moment& begin, const Moment& end) const override {
    ++asked_;
    return *static_cast<const double*>(end.event.get()) -
           *static_cast<const double*>(begin.event.get());
  }
  int asked() const { return asked_; }

#define FOVEA_KERNEL(kernel, parameters, arguments) \
  void kernel parameters const override {           \
    ++seconds_;                                     \
    host_.backend().kernel arguments;               \
  }
#include "backend/kernels.def"

 private:
  Device host_ = make_cpu(1);
  mutable double seconds_ = 0;
  mutable int asked_ = 0;
};

}  // namespace

TEST_CASE("profiler: times are those of the device, asked for at the end", "[autograd]") {
  const auto queue = std::make_shared<const Queue>();
  MemorySource memory = heap_memory();
  memory.address = [](MemoryHandle handle) { return reinterpret_cast<std::byte*>(handle); };
  const Device device(DeviceType::kOpenCl, memory, queue);
  const Tensor x = trainable(Tensor::from<float>({1, 2, 3}, {3}, device));
  autograd::Profiler profiler;
  {
    const autograd::Profile watch(profiler);
    autograd::backward(ops::sum(ops::mul(x, x)));
    CHECK(queue->asked() == 0);
  }
  const std::vector<autograd::Event>& events = profiler.events();
  REQUIRE(events.size() >= 4);
  CHECK(events.front().op == "mul");
  CHECK(events.front().seconds == 1);
  // One product for each side, and their sum.
  CHECK(events.back().op == "mul");
  CHECK(events.back().backward);
  CHECK(events.back().seconds >= 2);
  const auto count = static_cast<int>(events.size());
  CHECK(queue->asked() == count);
  CHECK(profiler.events().size() == events.size());
  CHECK(queue->asked() == count);
}
