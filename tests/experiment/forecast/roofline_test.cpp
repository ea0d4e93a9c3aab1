#include "experiment/forecast/roofline.h"

#include <catch2/catch.hpp>

#include <cstdint>

using namespace fovea;
using autograd::Event;
using experiment::roofline;

namespace {

Event event_of(std::int64_t macs, std::int64_t read, std::int64_t written) {
  Event event{.op = "op"};
  event.macs = macs;
  event.read_bytes = read;
  event.written_bytes = written;
  return event;
}

}  // namespace

TEST_CASE("roofline: arithmetic or bytes, whichever takes longer", "[forecast]") {
  const experiment::Roof roof{.operations = 1e12, .memory_bandwidth = 1e11};
  const Event product = event_of(1'000'000'000, 2000, 4000);  // 2 ms, against 60 ns
  const Event norm = event_of(0, 400'000'000, 400'000'000);   // 8 ms
  const Event tiny = event_of(0, 4, 4);
  Event product_back = event_of(2'000'000'000, 8000, 4000);
  Event norm_back = event_of(0, 800'000'000, 400'000'000);
  product_back.backward = norm_back.backward = true;
  Event update = event_of(0, 100'000'000, 100'000'000);
  update.update = true;
  const experiment::RooflineTimes times =
      roofline({product, norm, tiny, norm_back, product_back, update}, roof);
  CHECK(times.forward_s == Approx(2e9 / 1e12 + 8e8 / 1e11 + experiment::kLaunch));
  CHECK(times.backward_s == Approx(4e9 / 1e12 + 12e8 / 1e11));
  CHECK(times.update_s == Approx(2e8 / 1e11));
  // What is not trained has no backward pass; an operation that moves nothing is a launch.
  CHECK(roofline({norm}, roof).backward_s == 0);
  CHECK(roofline({Event{}}, roof).forward_s == experiment::kLaunch);
}
