#include "schema/fields.h"

#include <catch2/catch.hpp>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "schema/compare.h"
#include "schema/json/parse.h"
#include "schema/load.h"

using namespace fovea;
using namespace fovea::schema;

namespace {

struct Dgsa {
  std::int64_t num_heads = 8;
  bool q_residual = false;
  double attn_drop = 0.0;
  std::string lambda_mode = "constant";
  bool operator==(const Dgsa&) const = default;
};

Fields<Dgsa> dgsa_fields(Dgsa defaults = {}) {
  return Fields<Dgsa>(defaults)
      .add("num_heads", &Dgsa::num_heads, at_least(1), "number of heads; must divide dim")
      .add("q_residual", &Dgsa::q_residual, "adds the queries to the output")
      .add("attn_drop", &Dgsa::attn_drop, at_least(0) && less_than(1), "dropout on weights")
      .add("lambda_mode", &Dgsa::lambda_mode, one_of({"constant", "schedule"}),
           "how lambda is set");
}

std::vector<Choice> attentions() {
  Dgsa vision;
  vision.q_residual = true;
  return {{"m_dgsa", "gated", std::make_shared<Fields<Dgsa>>(dgsa_fields())},
          {"m_dgsa_vision", "gated", std::make_shared<Fields<Dgsa>>(dgsa_fields(vision))},
          {"none", "nothing", nullptr}};
}

struct Ffn {
  double expansion = 4;
  bool operator==(const Ffn&) const = default;
};

Fields<Ffn> ffn_fields() {
  return Fields<Ffn>{}.add("expansion", &Ffn::expansion, greater_than(0), "hidden over dim");
}

enum class Mode { kFast, kExact };

struct Common {
  std::string name = "run";
  bool operator==(const Common&) const = default;
};

struct Model : Common {
  std::int64_t depth = 6;
  int patch_size = 4;
  std::optional<double> clip_grad = 1.0;
  std::vector<std::int64_t> dims = {64, 128};
  std::array<double, 2> betas = {0.9, 0.999};
  Mode mode = Mode::kExact;
  Ffn ffn{.expansion = 2};
  std::vector<Ffn> stages;
  Component attention{"m_dgsa", {}};
  std::optional<Component> corruption;
  std::vector<Component> augment;
  Value paper;
  bool operator==(const Model&) const = default;
};

Fields<Model> model_fields() {
  return Fields<Model>{}
      .include(Fields<Common>{}.add("name", &Common::name, "name of the run"))
      .add("depth", &Model::depth, at_least(1), "blocks")
      .add("patch_size", &Model::patch_size, at_least(1), "pixels")
      .add("clip_grad", &Model::clip_grad, greater_than(0), "largest norm of the gradient")
      .add("dims", &Model::dims, at_least(1), "widths")
      .add("betas", &Model::betas, in_range(0, 1), "decays of the moments")
      .add_enum("mode", &Model::mode, {{"fast", Mode::kFast}, {"exact", Mode::kExact}}, "how")
      .add_object("ffn", &Model::ffn, ffn_fields(), "feed-forward network")
      .add_object("stages", &Model::stages, ffn_fields(), "one for each stage")
      .add_component("attention", &Model::attention, attentions, "token attention")
      .add_component("corruption", &Model::corruption, {"attention", attentions}, "noise")
      .add_component("augment", &Model::augment, attentions, "augmentations")
      .add_any("paper", &Model::paper, "published row");
}

struct Root {
  Model model;
  Ffn train;
};

Fields<Root> root_fields() {
  return Fields<Root>{}
      .add_object("model", &Root::model, model_fields(), "network")
      .add_object("train", &Root::train, ffn_fields(), "training");
}

template <class Options>
std::string complaint(const Fields<Options>& fields, const Value& value,
                      const std::string& path = "") {
  try {
    fields.parse(value, path);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "(accepted)";
}

std::string complaint(const std::string& json) {
  return complaint(model_fields(), parse(json, "x.json"), "model");
}

std::string complaint_of_set(const std::string& assignment, const std::string& json = "{}") {
  Value root = parse(json, "x.json");
  apply_override(root, assignment);
  return complaint(root_fields(), root);
}

}  // namespace

TEST_CASE("fields: an empty object gives the defaults", "[schema]") {
  Model expected;
  expected.attention = {"m_dgsa", parse(R"({"type": "m_dgsa", "num_heads": 8, "q_residual": false,
      "attn_drop": 0.0, "lambda_mode": "constant"})",
                                        "x")};
  CHECK(model_fields().parse(Value::object()) == expected);
}

TEST_CASE("fields: every kind of member is read", "[schema]") {
  const Model model = model_fields().parse(parse(R"({
    "name": "n", "depth": 2, "patch_size": 8, "clip_grad": null, "dims": [1], "betas": [0, 1],
    "mode": "fast", "ffn": {}, "stages": [{"expansion": 3}, {}],
    "attention": {"num_heads": 2, "type": "m_dgsa_vision"}, "corruption": "none",
    "augment": ["none", {"type": "m_dgsa"}], "paper": {"table": [1, null]}})",
                                                 "x.json"));
  CHECK(model.name == "n");
  CHECK(model.depth == 2);
  CHECK(model.patch_size == 8);
  CHECK_FALSE(model.clip_grad.has_value());
  CHECK(model.dims == std::vector<std::int64_t>{1});
  CHECK(model.betas == std::array<double, 2>{0, 1});
  CHECK(model.mode == Mode::kFast);
  CHECK(model.ffn.expansion == 2);  // the member's default, not that of its type
  CHECK(model.stages == std::vector<Ffn>{{3}, {4}});
  CHECK(model.attention.type == "m_dgsa_vision");
  CHECK(model.attention.options.members()[0].key == "type");
  const Dgsa options = dgsa_fields().parse(model.attention);
  CHECK(options.num_heads == 2);
  CHECK(options.q_residual);
  REQUIRE(model.corruption.has_value());
  CHECK(model.corruption->options.dump(0) == R"({"type":"none"})");
  REQUIRE(model.augment.size() == 2);
  CHECK(model.augment[1].options.at("num_heads").as_int() == 8);
  CHECK(model.paper.dump(0) == R"({"table":[1,null]})");
}

TEST_CASE("fields: parse(dump(o)) == o and dump has every key", "[schema]") {
  Model model = model_fields().parse(parse(R"({"clip_grad": null, "stages": [{}], "depth": 3,
      "attention": {"num_heads": 3}, "augment": ["m_dgsa"], "mode": "fast", "paper": [1]})",
                                           "x"));
  const Value dumped = model_fields().dump(model);
  CHECK(dumped.size() == model_fields().fields().size());
  CHECK(model_fields().parse(dumped) == model);
  CHECK(model_fields().parse(parse(dumped.dump(), "config.json")) == model);
  CHECK(model_fields().dump(model_fields().parse(dumped)) == dumped);
  CHECK(model_fields().resolve(dumped) == dumped);
  CHECK(dumped.at("attention").at("num_heads").as_int() == 3);
  CHECK(dumped.at("ffn").dump(0) == R"({"expansion":2.0})");
  // A struct built by hand has unresolved components; dump completes them.
  CHECK(model_fields().dump(Model{}).at("attention").size() == 5);
}

TEST_CASE("fields: integers given for numbers hash like numbers", "[schema]") {
  const auto hash = [](const char* text) {
    return content_hash(ffn_fields().resolve(parse(text, "x")));
  };
  CHECK(hash(R"({"expansion": 4})") == hash(R"({"expansion": 4.0})"));
  CHECK(hash("{}") == hash(R"({"expansion": 4e0})"));
}

TEST_CASE("fields: unknown keys name the nearest, else a synonym, and all known", "[schema]") {
  CHECK(complaint("{\"attention\": {\"heads\": 3}}") ==
        "x.json:1:16: model.attention.heads: unknown key; did you mean \"num_heads\"? (known: "
        "type, num_heads, q_residual, attn_drop, lambda_mode)");
  CHECK_THAT(
      complaint("{\"dept\": 3}"),
      Catch::StartsWith("x.json:1:2: model.dept: unknown key; did you mean \"depth\"? (known: "
                        "name, depth, "));
  CHECK(complaint("{\"ffn\": {\"zebra\": 3}}") ==
        "x.json:1:10: model.ffn.zebra: unknown key (known: expansion)");
  CHECK_THAT(complaint("{\"type\": \"x\"}"), Catch::Contains("model.type: unknown key"));
  CHECK_THAT(complaint("{\"expansion\": 3}"),
             Catch::Contains("did you mean \"model.ffn.expansion\"?"));
  CHECK_THAT(complaint("{\"zebra\": null}"), Catch::Contains("unknown key"));
}

TEST_CASE("fields: overrides are named as they were written", "[schema]") {
  CHECK(complaint_of_set("model.dept=3") ==
        "--set model.dept=3: unknown key model.dept; did you mean model.depth?");
  CHECK(complaint_of_set("model.attention.heads=3") ==
        "--set model.attention.heads=3: unknown key model.attention.heads; did you mean "
        "model.attention.num_heads?");
  CHECK(complaint_of_set("depth=3") ==
        "--set depth=3: unknown key depth; did you mean model.depth?");
  CHECK(complaint_of_set("train.q_residual=true") ==
        "--set train.q_residual=true: unknown key train.q_residual; did you mean "
        "model.attention.q_residual?");
  CHECK(complaint_of_set("train.zebra=3") ==
        "--set train.zebra=3: unknown key train.zebra (known: expansion)");
  CHECK(complaint_of_set("model.depth=many") ==
        "--set model.depth=many: model.depth: expected integer >= 1, got \"many\" (string)");
  CHECK(complaint_of_set("model.dept=null") ==
        "--set model.dept=null: unknown key model.dept; did you mean model.depth?");
}

TEST_CASE("fields: overrides take their type from the schema", "[schema]") {
  Value root = Value::object();
  apply_override(root, "model.name=1e3");
  apply_override(root, "train.expansion=2");
  const Root options = root_fields().parse(root);
  CHECK(options.model.name == "1e3");
  CHECK(options.train.expansion == 2.0);
  CHECK(complaint(R"({"name": 1000})") ==
        "x.json:1:10: model.name: expected string, got 1000 (integer)");
  CHECK(complaint_of_set("model={\"name\":1}") ==
        "--set model={\"name\":1}: model.name: expected string, got 1 (integer)");
}

TEST_CASE("fields: wrong types and ranges say what was expected and given", "[schema]") {
  CHECK(complaint("{\"depth\":\n  \"128\"}") ==
        "x.json:2:3: model.depth: expected integer >= 1, got \"128\" (string)");
  CHECK(complaint("{\"depth\": 0}") ==
        "x.json:1:11: model.depth: expected integer >= 1, got 0 (integer)");
  CHECK_THAT(complaint("{\"depth\": 2.0}"),
             Catch::EndsWith("expected integer >= 1, got 2.0 (number)"));
  CHECK_THAT(complaint("{\"clip_grad\": 0}"),
             Catch::EndsWith("expected number > 0 or null, got 0 (integer)"));
  CHECK_THAT(complaint("{\"dims\": [1, 0]}"),
             Catch::EndsWith("x.json:1:14: model.dims.1: expected integer >= 1, got 0 (integer)"));
  CHECK_THAT(complaint("{\"dims\": [null]}"), Catch::EndsWith("expected integer >= 1, got null"));
  CHECK_THAT(
      complaint("{\"betas\": [1]}"),
      Catch::EndsWith("model.betas: expected array of 2 number from 0 to 1, got array of 1"));
  CHECK_THAT(
      complaint("{\"mode\": \"fats\"}"),
      Catch::EndsWith("model.mode: expected one of \"fast\", \"exact\", got \"fats\" (string); "
                      "did you mean \"fast\"?"));
  CHECK_THAT(complaint("{\"ffn\": 3}"),
             Catch::EndsWith("model.ffn: expected object, got 3 (integer)"));
  CHECK_THAT(complaint("{\"patch_size\": 3000000000}"),
             Catch::EndsWith("expected integer from -2147483648 to 2147483647, got 3000000000"));
  CHECK_THAT(
      complaint("{\"attention\": {\"attn_drop\": 1}}"),
      Catch::EndsWith("model.attention.attn_drop: expected number >= 0 and < 1, got 1 (integer)"));
  CHECK(complaint("[]") == "x.json:1:1: model: expected object, got array of 0");
}

TEST_CASE("fields: unknown components name the registry to look into", "[schema]") {
  CHECK(
      complaint("{\"attention\": {\"type\": \"mdgsa\"}}") ==
      "x.json:1:24: model.attention.type: no attention called \"mdgsa\"; did you mean \"m_dgsa\"? "
      "run: fovea inspect --list attention");
  CHECK(
      complaint("{\"attention\": \"zebra\"}") ==
      "x.json:1:15: model.attention.type: no attention called \"zebra\"; run: fovea inspect --list "
      "attention");
  CHECK(complaint("{\"augment\": [{\"num_heads\": 3}]}") ==
        "x.json:1:14: model.augment.0: no type, expected {\"type\": ...} with one of m_dgsa, "
        "m_dgsa_vision, none; run: fovea inspect --list augment");
  CHECK_THAT(complaint("{\"attention\": {\"type\": 3}}"),
             Catch::Contains("expected the name of one attention, got 3 (integer)"));
  CHECK_THAT(complaint("{\"attention\": 3}"),
             Catch::EndsWith("expected attention, got 3 (integer)"));
}

TEST_CASE("fields: null clears inherited keys, means default, or none", "[schema]") {
  const Value base =
      parse(R"({"depth": 9, "clip_grad": 2, "attention": {"type": "m_dgsa", "num_heads": 2}})",
            "base.json");
  const Value child =
      parse(R"({"depth": null, "clip_grad": null, "attention": {"type": "none"}})", "child.json");
  CHECK(complaint(model_fields(), merge(base, child)) ==
        "base.json:1:62: attention.num_heads: unknown key (known: type); \"none\" is chosen at "
        "child.json:1:58");
  const Value clearing = parse(R"({"attention": {"num_heads": null}})", "last.json");
  const Model model = model_fields().parse(merge(merge(base, child), clearing));
  CHECK(model.depth == 6);
  CHECK_FALSE(model.clip_grad.has_value());
  CHECK(model.attention.options.dump(0) == R"({"type":"none"})");
}

TEST_CASE("fields: required keys, defaults by object, checks on several keys", "[schema]") {
  struct Data {
    std::string root;
    int low = 1;
    int high = 2;
  };
  Data defaults;
  defaults.high = 5;
  const auto fields =
      Fields<Data>(defaults)
          .add("root", &Data::root, "folder of the data")
          .required()
          .add("low", &Data::low, "least")
          .add("high", &Data::high, "most")
          .check([](const Data& data) { return data.low <= data.high ? "" : "low is above high"; });
  CHECK(fields.parse(parse(R"({"root": "x"})", "x.json")).high == 5);
  CHECK(complaint(fields, parse("\n{}", "x.json"), "dataset") ==
        "x.json:2:1: dataset: missing key \"root\", expected string: folder of the data");
  CHECK_THAT(complaint(fields, parse(R"({"root": null})", "x.json")),
             Catch::Contains("missing key"));
  CHECK(complaint(fields, parse(R"({"root": "x", "low": 6})", "x.json"), "dataset") ==
        "x.json:1:1: dataset: low is above high");
}

TEST_CASE("fields: options not given come from the default component of that type", "[schema]") {
  struct Net {
    Component attention{"m_dgsa", Value::object({{"num_heads", 3}})};
  };
  const auto fields =
      Fields<Net>{}.add_component("attention", &Net::attention, attentions, "mixer");
  const auto heads = [&](const char* text) {
    return fields.parse(parse(text, "x")).attention.options.at("num_heads").as_int();
  };
  CHECK(heads("{}") == 3);
  CHECK(heads(R"({"attention": {"q_residual": true}})") == 3);
  CHECK(heads(R"({"attention": "m_dgsa"})") == 3);
  CHECK(heads(R"({"attention": "m_dgsa_vision"})") == 8);
}

TEST_CASE("fields: options of the default component that hold for every type", "[schema]") {
  struct Net {
    Component attention{"m_dgsa", Value::object({{"num_heads", 3}, {"attn_drop", 0.5}})};
  };
  const auto fields = Fields<Net>{}
                          .add_component("attention", &Net::attention, attentions, "mixer")
                          .for_every_type({"num_heads"});
  const auto options = [&](const char* text) {
    return fields.parse(parse(text, "x")).attention.options.dump(0);
  };
  CHECK(options(R"({"attention": "m_dgsa_vision"})") ==
        R"({"type":"m_dgsa_vision","num_heads":3,"q_residual":true,"attn_drop":0.0,)"
        R"("lambda_mode":"constant"})");
  CHECK_THAT(options(R"({"attention": {"type": "m_dgsa_vision", "num_heads": 2}})"),
             Catch::Contains(R"("num_heads":2)"));
  CHECK(options(R"({"attention": "none"})") == R"({"type":"none"})");  // which has no such key
}

TEST_CASE("fields: a bare scalar stands for all items of an array of fixed length", "[schema]") {
  struct Image {
    std::array<std::int64_t, 2> img_size = {1, 1};
    std::vector<std::int64_t> steps;
  };
  const auto fields = Fields<Image>{}
                          .add("img_size", &Image::img_size, at_least(1), "height and width")
                          .add("steps", &Image::steps, "milestones");
  CHECK(fields.parse(parse(R"({"img_size": 32})", "a.json")).img_size ==
        std::array<std::int64_t, 2>{32, 32});
  CHECK_THROWS_AS(fields.parse(parse(R"({"img_size": 0})", "a.json")), ConfigError);
  CHECK_THROWS_AS(fields.parse(parse(R"({"steps": 3})", "a.json")), ConfigError);
}
