#include "experiment/forecast/roofline.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <utility>

using namespace fovea;
using autograd::Event;
using experiment::roofline;

namespace {

Event forward(const char* op, std::int64_t macs, std::int64_t bytes, Shape output, Shape input) {
  Event event;
  event.op = event.module = op;
  event.macs = macs;
  event.output_bytes = bytes;
  event.output = std::move(output);
  event.input = std::move(input);
  return event;
}

Event backward(const char* op, std::int64_t macs) {
  Event event;
  event.op = event.module = op;
  event.backward = true;
  event.macs = macs;
  return event;
}

}  // namespace

TEST_CASE("roofline: arithmetic or bytes, whichever takes longer", "[forecast]") {
  const experiment::Roof roof{.operations = 1e12, .memory_bandwidth = 1e11};
  const Event product =
      forward("linear", 1'000'000'000, 4000, {10, 100}, {10, 50});  // 2 ms, against 60 ns
  const Event norm = forward("norm", 0, 400'000'000, {100'000'000}, {100'000'000});  // 8 ms
  const Event tiny = forward("add", 0, 4, {1}, {1});
  const Event product_back = backward("linear", 2'000'000'000), norm_back = backward("norm", 0);
  const experiment::RooflineTimes times =
      roofline({product, norm, tiny, norm_back, product_back}, roof);
  CHECK(times.forward_s == Approx(2e9 / 1e12 + 8e8 / 1e11 + experiment::kLaunch));
  CHECK(times.backward_s == Approx(4e9 / 1e12 + 16e8 / 1e11));
  // What is not trained has no backward pass; an operation without outputs is a launch.
  CHECK(roofline({norm}, roof).backward_s == 0);
  CHECK(roofline({Event{}}, roof).forward_s == experiment::kLaunch);
}
