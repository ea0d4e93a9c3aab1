// The words of --forecast.
#include "experiment/forecast/settings.h"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/paths.h"

using namespace fovea;
using experiment::ForecastSettings;
using experiment::read_forecast_settings;
using experiment::SumKind;

TEST_CASE("forecast: gpus and a network are enough", "[forecast]") {
  const ForecastSettings settings = read_forecast_settings("gpus=64 net=400G");
  CHECK(settings.ranks == 64);
  CHECK(settings.network.net == Approx(50e9));
  CHECK(settings.network.node_net == Approx(50e9));
  CHECK(settings.network.latency == Approx(5e-6));
  CHECK(settings.network.ranks_per_node == 1);
  CHECK(settings.sum == SumKind::kOrdered);
  CHECK(settings.overlap == experiment::kOverlapOfTrain);
  CHECK(settings.batch == 0);
  CHECK_FALSE(settings.zero);
  CHECK_FALSE(settings.is_calculated());
}

TEST_CASE("forecast: every word is read", "[forecast]") {
  const ForecastSettings settings = read_forecast_settings(
      "  ranks=16 net=12.5GB/s\tlatency=0.2ms ranks_per_node=8 node_net=2400Gbit/s "
      "host_copy=20GB/s "
      "sum=ring overlap=0.9 zero=1 batch=4096 card=h100 tflops=400 memory_bandwidth=3TB/s "
      "memory=64GB share=0.25 speed=20x ");
  CHECK(settings.network.net == Approx(12.5e9));
  CHECK(settings.network.latency == Approx(2e-4));
  CHECK(settings.network.ranks_per_node == 8);
  CHECK(settings.network.node_net == Approx(300e9));
  CHECK(settings.host_copy.value() == Approx(20e9));
  CHECK(settings.sum == SumKind::kRing);
  CHECK(settings.overlap == Approx(0.9));
  CHECK(settings.zero);
  CHECK(settings.batch == 4096);
  CHECK(settings.card == "h100");
  CHECK(settings.tflops.value() == 400);
  CHECK(settings.memory_bandwidth.value() == Approx(3e12));
  CHECK(settings.memory.value() == Approx(64e9));
  CHECK(settings.share == 0.25);
  CHECK(settings.speed == 20);
  CHECK(settings.is_calculated());
}

TEST_CASE("forecast: words that mean nothing are named", "[forecast]") {
  using Catch::Matchers::Contains;
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "--forecast: no ranks or gpus, expected at least 'gpus=64 net=400G'"},
      {"   ", "no ranks or gpus"},
      {"gpus=64", "--forecast: no net"},
      {"gpus=64 net", "--forecast net: expected key=value"},
      {"gpus=64 =400G", "expected key=value"},
      {"gpus=64 net=400G gpu=3", "did you mean \"gpus\"?"},
      {"gpus=64 net=400G latncy=5us", "did you mean \"latency\"?"},
      {"gpus=64 net=400G xyzzy=5", "--forecast xyzzy=5: "},
      {"gpus=64 ranks=64 net=400G", "--forecast: ranks and gpus are one thing"},
      {"gpus=64 net=1G net=2G", "net is given twice"},
      {"gpus=0 net=400G", "--forecast: no ranks or gpus"},
      {"gpus=-1 net=400G", "from 0 to 1048576"},
      {"gpus=1048577 net=400G", "from 0 to 1048576"},
      {"gpus=1e300 net=400G", "--forecast gpus=1e300: "},
      {"gpus=99999999999999999999999 net=400G", "--forecast gpus=9999"},
      {"gpus=nan net=400G", "expected integer"},
      {"gpus= net=400G", "--forecast gpus=: expected key=value"},
      {"gpus=2.5 net=400G", "expected integer"},
      {"gpus=\"4\" net=400G", "expected integer"},
      {"gpus=4 net=", "--forecast net=: expected key=value"},
      {"gpus=4 net=0", "expected string like 400G"},
      {"gpus=4 net=-400G", "expected string like 400G"},
      {"gpus=4 net=nan", "expected string like 400G"},
      {"gpus=4 net=inf", "expected string like 400G"},
      {"gpus=4 net=1e300", "expected string like 400G"},
      {"gpus=4 net=1e-300", "expected string like 400G"},
      {"gpus=4 net=1e999G", "expected string like 400G"},
      {"gpus=4 net=400GG", "expected string like 400G"},
      {"gpus=4 net=400m", "expected string like 400G"},
      {"gpus=4 net=G", "expected string like 400G"},
      {"gpus=4 net=400G latency=5", "expected string like 5us"},
      {"gpus=4 net=400G latency=-5us", "expected string like 5us"},
      {"gpus=4 net=400G latency=5Gs", "expected string like 5us"},
      {"gpus=4 net=400G latency=11s", "expected string like 5us"},
      {"gpus=4 net=400G overlap=1.5", "from 0 to 1"},
      {"gpus=4 net=400G overlap=nan", "expected number"},
      {"gpus=4 net=400G zero=2", "from 0 to 1"},
      {"gpus=4 net=400G batch=-1", "from 0 to"},
      {"gpus=4 net=400G sum=tree", "\"ordered\", \"ring\""},
      {"gpus=4 net=400G card=h1000", "\"h100\""},
      {"gpus=4 net=400G speed=0x", "like 20x"},
      {"gpus=4 net=400G memory=80", "like 80GB"},
      {"gpus=4 net=400G ranks_per_node=0", "from 1 to"},
      {"gpus=4 net=400G tflops=100", "tflops and memory_bandwidth together"},
      {"gpus=4 net=400G memory_bandwidth=1TB/s", "tflops and memory_bandwidth together"},
      {"gpus=4 net=400G share=0.3", "share belongs to card"},
  };
  for (const auto& [words, message] : wrong) {
    INFO(words);
    CHECK_THROWS_WITH(read_forecast_settings(words), Contains(message));
    CHECK_THROWS_AS(read_forecast_settings(words), ConfigError);
  }
  const std::string endless = "gpus=4 net=" + std::string(100000, '9') + "\x1b[2J";
  try {
    read_forecast_settings(endless);
    FAIL("was read");
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()).size() < 1000);
    CHECK(std::string(error.what()).find('\x1b') == std::string::npos);
  }
}

TEST_CASE("forecast: the documentation has every word", "[forecast][documentation]") {
  const std::string page = io::read_text(io::fs::path(test::source_dir()) / "docs/forecast.md");
  for (const std::string& key : experiment::forecast_keys()) {
    INFO(key);
    CHECK(page.find("`" + key + "=") != std::string::npos);
  }
}
