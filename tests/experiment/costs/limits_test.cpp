#include "experiment/costs/limits.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

#include "autograd/mode.h"
#include "experiment/costs/profile.h"

using namespace fovea;
using autograd::Event;
using experiment::limit_of;
using experiment::ProfileRow;

namespace {

// Round numbers: 1e11 operations a second of float32, 4e11 of bfloat16.
Peaks round_peaks() {
  Peaks peaks;
  peaks.float32 = {1e11, 8e10};
  peaks.bfloat16 = {2e11, 4e11};
  peaks.float64 = {5e10, 5e10};
  peaks.levels = {{"L1", 1000, 1e11, 1e11, 1e11, 1e10, 1e10},
                  {"L2", 10'000, 5e10, 4e10, 5e10, 1e10, 1e10},
                  {"memory", 0, 2e10, 1e10, 1e10, 2e10, 1.5e10}};
  return peaks;
}

Event event_of(std::int64_t macs, std::int64_t read, std::int64_t written) {
  Event event{.op = "op"};
  event.macs = macs;
  event.read_bytes = read;
  event.written_bytes = written;
  return event;
}

void check_limit(const Event& event, double seconds, const char* what) {
  const experiment::Limit limit = limit_of(event, round_peaks());
  CHECK(limit.seconds == Approx(seconds));
  CHECK(limit.what == what);
}

}  // namespace

TEST_CASE("limits: arithmetic or bytes, whichever takes longer", "[experiment]") {
  // 1e9 multiply-adds at 1e11 operations a second: 20 ms.
  check_limit(event_of(1'000'000'000, 100, 100), 0.02, "products");
  // Without multiply-adds bytes are all there is: 600 are copied in L1, and 200 more are read.
  check_limit(event_of(0, 500, 300), 600 / 1e11 + 200 / 1e11, "L1");
  // 4000 and 4000 more do not fit into L1.
  check_limit(event_of(0, 4000, 4000), 8000 / 5e10, "L2");
  // Past the caches: copies at 1.5e10, and what is only written at 2e10.
  check_limit(event_of(0, 1'000'000, 3'000'000), 2e6 / 1.5e10 + 2e6 / 2e10, "memory");
  // 1000 bytes and one more.
  check_limit(event_of(0, 1000, 0), 1000 / 1e11, "L1");
  check_limit(event_of(0, 1001, 0), 1001 / 5e10, "L2");
  // Nothing is moved: a view, or multiply-adds that another operation does.
  check_limit(event_of(0, 0, 0), 0, "");
  check_limit(event_of(1000, 0, 0), 0, "");
}

TEST_CASE("limits: products of each type have their own peak", "[experiment]") {
  Event event = event_of(1'000'000'000, 8, 8);
  event.dtype = DType::kBFloat16;
  check_limit(event, 2e9 / 4e11,
              "products");  // the product of the backend is the faster of the two
  event.dtype = DType::kFloat64;
  check_limit(event, 2e9 / 5e10, "products");
}

TEST_CASE("profile: rows have the limits of their calls", "[experiment]") {
  const Peaks peaks = round_peaks();
  const auto step = [] {
    autograd::Profiler* profiler = autograd::mode().profiler;
    Event product = event_of(1'000'000, 4000, 4000);  // 20 us
    product.op = "linear";
    product.seconds = 40e-6;
    Event map = event_of(0, 4000, 4000);  // 160 ns
    map.op = "relu";
    map.seconds = 160e-9;
    Event view{.op = "reshape"};
    for (const Event& event : {product, product, map, view}) profiler->add(event);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const std::vector<ProfileRow> rows = experiment::profile(step, &peaks, 2);
  const auto row_of = [&](const std::string& op) {
    for (const ProfileRow& row : rows) {
      if (row.op == op) return row;
    }
    FAIL(op);
    return ProfileRow{};
  };
  const ProfileRow linear = row_of("linear");
  CHECK(linear.calls_per_step == 2);
  CHECK(linear.ms_per_step == Approx(0.08));
  CHECK(linear.least_ms == Approx(0.04));
  CHECK(linear.lost_ms() == Approx(0.04));
  CHECK(linear.limit == "products");
  CHECK(linear.bytes_per_step == 16'000);
  CHECK(linear.numbers_per_step == 2000);
  CHECK(row_of("relu").limit == "L2");
  CHECK(row_of("relu").least_ms == Approx(160e-6));
  CHECK(row_of("relu").lost_ms() == Approx(0).margin(1e-12));
  CHECK(row_of("reshape").limit == "");
  CHECK(row_of("reshape").lost_ms() == 0);
  // What no operation accounts for is lost.
  const ProfileRow other = row_of("(other: bookkeeping)");
  CHECK(other.ms_per_step > 0.5);
  CHECK(other.lost_ms() == other.ms_per_step);

  const ProfileRow total = experiment::total_of(rows);
  CHECK(total.share == Approx(1));
  CHECK(total.least_ms == Approx(0.04016));
  CHECK(total.limit == "products");
  const std::string text = experiment::limits_text(rows);
  // Most is lost in what is not known; the last line is the whole step.
  CHECK(text.find("(other: bookkeeping)") < text.find("linear"));
  CHECK(text.find("linear") < text.find("relu"));
  CHECK(text.find("relu") < text.find("whole step"));
  const schema::Value json = experiment::to_json(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].op == "linear") {
      CHECK(json.at(i).at("limit").as_string() == "products");
      CHECK(json.at(i).at("limit_share").as_double() == Approx(0.5));
      CHECK(json.at(i).at("lost_ms").as_double() == Approx(0.04));
    }
    if (rows[i].op == "reshape") CHECK(json.at(i).at("limit_share").is_null());
  }
  // Without peaks nothing is said of limits.
  CHECK(experiment::to_json(experiment::profile(step, nullptr, 1)).at(0).find("limit") == nullptr);
}
