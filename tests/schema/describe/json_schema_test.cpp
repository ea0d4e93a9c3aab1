#include "schema/describe/json_schema.h"

#include <catch2/catch.hpp>

#include "schema/fields.h"

using namespace fovea::schema;

namespace {

struct Attention {
  std::int64_t num_heads = 8;
  double attn_drop = 0;
};
struct Root {
  std::string name;
  std::string mode = "a";
  std::int64_t seed = 0;
  int depth = 3;
  std::optional<double> rate;
  std::array<std::int64_t, 2> size = {4, 4};
  std::vector<double> levels;
  Value paper;
  Attention inner;
  Component attention{"softmax", {}};
  std::vector<Component> parts;
};

Fields<Attention> attention_fields() {
  return Fields<Attention>{}
      .add("num_heads", &Attention::num_heads, at_least(1), "number of heads")
      .add("attn_drop", &Attention::attn_drop, at_least(0) && less_than(1), "dropout");
}

std::vector<Choice> attentions() {
  return {{"softmax", "the usual one", std::make_shared<Fields<Attention>>(attention_fields())},
          {"none", "nothing", nullptr}};
}

Fields<Root> root_fields() {
  return Fields<Root>{}
      .add("name", &Root::name, "what it is called")
      .required()
      .add("mode", &Root::mode, one_of({"a", "b"}), "how")
      .add("seed", &Root::seed, at_least(0), "of everything")
      .add("depth", &Root::depth, "blocks")
      .add("rate", &Root::rate, greater_than(0), "share")
      .add("size", &Root::size, at_least(1), "height and width")
      .add("levels", &Root::levels, in_range(0, 1), "levels")
      .add_any("paper", &Root::paper, "free")
      .add_object("inner", &Root::inner, attention_fields(), "inside")
      .add_component("attention", &Root::attention, {"attention", attentions}, "which")
      .add_component("parts", &Root::parts, {"attention", attentions}, "more");
}

std::string line(const Value& value) { return value.dump(0); }

}  // namespace

TEST_CASE("json_schema: types, ranges, words, defaults and help of an object", "[schema]") {
  const Value schema = json_schema(root_fields());
  CHECK(schema.at("additionalProperties") == Value(false));
  const Value& keys = schema.at("properties");
  CHECK(keys.size() == 11);
  CHECK(line(keys.at("name")) ==
        R"j({"type":["string","null"],"description":"what it is called (required)"})j");
  CHECK(line(keys.at("mode")) == R"({"enum":["a","b",null],"description":"how","default":"a"})");
  CHECK(line(keys.at("seed")) ==
        R"({"type":["integer","null"],"minimum":0,"description":"of everything","default":0})");
  CHECK(keys.at("depth").at("maximum") == Value(2147483647));
  CHECK(keys.at("rate").at("exclusiveMinimum") == Value(0.0));
  CHECK(keys.at("rate").at("default").is_null());
  // One number stands for both.
  CHECK(line(keys.at("size").at("anyOf")) ==
        R"([{"items":{"type":"integer","minimum":1},"type":"array","minItems":2,"maxItems":2},)"
        R"({"type":["integer","null"],"minimum":1}])");
  CHECK(line(keys.at("levels").at("items")) == R"({"type":"number","minimum":0.0,"maximum":1.0})");
  CHECK(line(keys.at("paper")) == R"({"description":"free","default":null})");
  const Value& drop = keys.at("inner").at("properties").at("attn_drop");
  CHECK(drop.at("minimum") == Value(0.0));
  CHECK(drop.at("exclusiveMaximum") == Value(1.0));
}

TEST_CASE("json_definitions: what a part with a type may hold depends on its type", "[schema]") {
  const Value schema = json_schema(root_fields());
  const Value& part = schema.at("properties").at("attention");
  CHECK(line(part.at("allOf")) == R"([{"$ref":"#/definitions/attention"}])");
  CHECK(part.at("default") == Value("softmax"));
  const Value definitions = json_definitions(root_fields());
  REQUIRE(definitions.size() == 3);
  const Value& attention = definitions.at("attention");
  CHECK(line(attention.at("type")) == R"(["object","string","null"])");
  CHECK(line(attention.at("properties").at("type").at("enum")) == R"(["softmax","none"])");
  const Value& rules = attention.at("allOf");
  REQUIRE(rules.size() == 4);  // a bare name, either entry, no type
  CHECK(rules.at(0).at("then").at("enum").size() == 2);
  CHECK(line(rules.at(1).at("then")) == R"({"$ref":"#/definitions/attention.softmax"})");
  CHECK(rules.at(3).at("then").at("properties").find("num_heads") != nullptr);
  CHECK(rules.at(3).at("then").at("additionalProperties") == Value(false));
  const Value& softmax = definitions.at("attention.softmax");
  CHECK(softmax.at("additionalProperties") == Value(false));
  CHECK(softmax.at("properties").size() == 3);
  CHECK(definitions.at("attention.none").at("properties").size() == 1);
}
