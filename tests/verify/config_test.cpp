// A case's words: what nothing reads, and what no option has, is not implemented.
#include "verify/config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "backend/devices.h"
#include "base/file.h"
#include "schema/json/parse.h"
#include "tensor/safetensors.h"
#include "tests/support/paths.h"
#include "verify/outcome.h"

using namespace fovea;
using schema::Value;
using verify::Config;
using verify::NotImplemented;

namespace {

Config config_of(const char* text) { return Config(schema::parse(text, "test")); }

// A golden case of the repository with another configuration, and what became of it.
class Changed {
 public:
  explicit Changed(const std::string& name)
      : file_(read_safetensors(test::source_dir() + "/tests/fixtures/" + name, cpu_)),
        config(schema::parse(file_.metadata.at("config"), name)),
        path_(io::fs::temp_directory_path() /
              fmt::format("fovea_changed_{}.safetensors", ::getpid())) {}
  ~Changed() { io::fs::remove(path_); }
  Changed(const Changed&) = delete;
  Changed& operator=(const Changed&) = delete;

  void add_input(const std::string& name) {
    file_.tensors.emplace("input/" + name, Tensor::from(std::vector<float>{1}, {1}, cpu_));
  }
  void set_metadata(const std::string& key, const std::string& value) {
    file_.metadata[key] = value;
  }
  verify::Outcome run() {
    file_.metadata["config"] = config.dump(0);
    write_safetensors(path_, file_);
    return verify::run(path_, cpu_);
  }

 private:
  Device cpu_ = make_cpu(1);
  TensorFile file_;

 public:
  Value config;

 private:
  io::fs::path path_;
};

}  // namespace

TEST_CASE("config: what was not read is known by its path", "[verify]") {
  const Config config = config_of(
      R"({"dim": 4, "other": null, "note": "for people", "part": {"depth": 2, "more": [1, 2]},
          "layers": [{"stride": 1}, {"stride": 2, "new": true}]})");
  CHECK(config.integer("dim") == 4);
  CHECK(config.at("part").integer("depth") == 2);
  for (std::size_t t = 0; t < 2; ++t) config.at("layers").at(t).integer("stride");
  CHECK(config.unread() == std::vector<std::string>{"other", "part.more", "layers[1].new"});
  CHECK_FALSE(config.given("other"));  // a null is an option that is not used
  config.value("part");                // a value with all that lies in it
  CHECK(config.has("layers"));         // asking is not reading
  CHECK(config.unread() == std::vector<std::string>{"layers[1].new"});
}

TEST_CASE("config: a value that no option has is not implemented", "[verify]") {
  const Config config = config_of(R"({"kind": "gs", "eps": 1e-5, "sides": [2, 4], "heads": "2"})");
  CHECK(config.choice("kind", {{"ls", 1}, {"gs", 2}}, 0) == 2);
  CHECK(config.choice("scheme", {{"ls", 1}}, 7) == 7);
  CHECK_THROWS_AS(config.choice("kind", {{"ls", 1}}, 0), NotImplemented);
  CHECK_NOTHROW(config.only("eps", 1e-5));
  CHECK_NOTHROW(config.only("missing", 3));
  CHECK_NOTHROW(config.only("sides", Value::array({2.0, 4.0})));
  CHECK_THROWS_WITH(config.only("eps", 1e-6), "config: eps is 1e-05; only 1e-06 is implemented");
  CHECK_THROWS_AS(config.integer("heads"), NotImplemented);
  CHECK_THROWS_WITH(config.integer("depth"), "config: depth is missing");
  const Config drops = config_of(R"({"drop": 0.1})");
  CHECK_NOTHROW(drops.nothing_dropped({"drop"}, false));
  CHECK_THROWS_AS(drops.nothing_dropped({"drop"}, true), NotImplemented);
}

TEST_CASE("verify: an option that nobody knows is not implemented, never something else",
          "[verify]") {
  const char* name = GENERATE("dgsa/mhsa_h4.safetensors", "gdla/mhsa_0.safetensors",
                              "kcla/kcla_stack_clamped.safetensors", "mala/deit_mala.safetensors",
                              "dformer/sw_msa_padded.safetensors", "dgsa/adamw_clip.safetensors");
  Changed changed(name);
  REQUIRE(changed.run().status == "passed");
  changed.config.set("frobnicate", nullptr);
  const verify::Outcome outcome = changed.run();
  CHECK(outcome.status == "not implemented");
  CHECK_THAT(outcome.detail, Catch::Contains("has no option frobnicate"));
}

TEST_CASE("verify: other values of a case's words fail or are not implemented", "[verify]") {
  Changed changed("dformer/sw_msa_padded.safetensors");
  SECTION("an option that is there") {
    changed.config.set("mask_padding", false);
    CHECK(changed.run().status == "failed");
  }
  SECTION("a property that is fixed") {
    changed.config.set("region_mask_value", -10.0);
    CHECK(changed.run().status == "not implemented");
  }
  SECTION("a word that is no choice") {
    changed.config.set("padding_mask", "none");
    CHECK(changed.run().status == "not implemented");
  }
  SECTION("a mode") {
    changed.set_metadata("mode", "quantised");
    CHECK(changed.run().detail == "mode \"quantised\"");
  }
  SECTION("an input") {
    changed.add_input("key_mask");
    CHECK_THAT(changed.run().detail, Catch::Contains("takes no input \"key_mask\""));
  }
}
