#include "explain/diagnostics/attention_metrics.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <set>

#include "backend/devices.h"
#include "tests/models/network.h"

using namespace fovea;
using explain::AttentionSample;
using schema::Value;

TEST_CASE("attention metrics: names are distinct and explained", "[explain]") {
  std::set<std::string> names;
  for (const explain::AttentionMetric& metric : explain::attention_metrics()) {
    CHECK(names.insert(metric.info.name).second);
    CHECK_FALSE(metric.help.empty());
    CHECK(explain::find_attention_metric(metric.info.name) == &metric);
  }
  CHECK(explain::find_attention_metric("top1") == nullptr);
}

TEST_CASE("attention metrics: at most 64 samples, evenly spaced", "[explain]") {
  CHECK(AttentionSample::count_of(64) == 64);
  CHECK(AttentionSample::count_of(65) == 33);  // every second one
  CHECK(AttentionSample::count_of(355) == 60);
  CHECK(AttentionSample::count_of(0) == 0);
  const AttentionSample few({"sink_rate"}, 64), many({"sink_rate"}, 1000), none({"sink_rate"}, 0);
  int wanted = 0;
  for (std::int64_t i = 0; i < 1000; ++i) wanted += many.wants(i) ? 1 : 0;
  CHECK(wanted == 63);  // every 16th
  CHECK((few.wants(0) && few.wants(63)));
  CHECK(std::isnan(none.measure().front().value));
}

TEST_CASE("attention metrics: padding of texts is not looked at", "[explain]") {
  for (const char* pool : {"avg", "token"}) {
    INFO(pool);
    const auto model = test::build(
        test::options_of("transformer", {{"embed_dim", 8},
                                         {"depth", 2},
                                         {"vocab_size", 11},
                                         {"max_len", 7},
                                         {"num_classes", 3},
                                         {"global_pool", pool},
                                         {"attention", Value::object({{"num_heads", 2}})}}),
        make_cpu(1), {});
    model->train(false);
    const auto measured = [&](const std::vector<std::int64_t>& ids) {
      AttentionSample sample({"attention_relative_entropy", "attention_effective_rank"}, 1);
      sample.add(*model, Tensor::from(ids, {1, std::ssize(ids)}, make_cpu(1)));
      return sample.measure();
    };
    const auto plain = measured({4, 9, 2}), padded = measured({4, 9, 2, 0, 0});
    REQUIRE(plain.size() == 2);
    for (std::size_t k = 0; k < 2; ++k)
      CHECK(plain[k].value == Approx(padded[k].value).epsilon(1e-5));
    CHECK((plain[0].value > 0 && plain[0].value <= 1));
  }
}
