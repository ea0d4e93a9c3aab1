#include "schema/describe.h"

#include <catch2/catch.hpp>

#include "schema/fields.h"

using namespace fovea::schema;

namespace {

struct Inner {
  double rate = 0.5;
};
struct Outer {
  int depth = 2;
  std::string mode = "a";
  std::string root;
  Inner inner;
  Component part{"one", {}};
  std::vector<Component> parts;
};

// Contains itself, as a registry of wrappers does.
std::vector<Choice> parts() {
  struct Wrapper {
    Component inside{"one", {}};
  };
  return {{"one", "the first", nullptr},
          {"wrapper", "around another",
           std::make_shared<Fields<Wrapper>>(Fields<Wrapper>{}.add_component(
               "inside", &Wrapper::inside, {"part", parts}, "it"))}};
}

Fields<Outer> outer_fields() {
  return Fields<Outer>{}
      .add("depth", &Outer::depth, at_least(1), "blocks | layers")
      .add("mode", &Outer::mode, one_of({"a", "b"}), "how")
      .add("root", &Outer::root, "folder")
      .required()
      .add_object("inner", &Outer::inner, Fields<Inner>{}.add("rate", &Inner::rate, "share"), "in")
      .add_component("part", &Outer::part, parts, "which")
      .add_component("parts", &Outer::parts, {"part", parts}, "more");
}

}  // namespace

TEST_CASE("describe_markdown: tables of keys, objects and registries", "[schema]") {
  CHECK(describe_markdown(outer_fields(), "Experiment") == R"(## Experiment

| key | type | default | meaning |
|---|---|---|---|
| `depth` | integer >= 1 | `2` | blocks \| layers |
| `mode` | one of "a", "b" | `"a"` | how |
| `root` | string | required | folder |
| `inner` | object | see below | in |
| `part` | part | `"one"` | which |
| `parts` | array of part | `[]` | more |

### `inner`

| key | type | default | meaning |
|---|---|---|---|
| `rate` | number | `0.5` | share |

### part `one`

the first

### part `wrapper`

around another

| key | type | default | meaning |
|---|---|---|---|
| `inside` | part | `"one"` | it |

)");
}

TEST_CASE("describe_text: one aligned line for each key", "[schema]") {
  const std::string text = describe_text(outer_fields());
  CHECK_THAT(text, Catch::StartsWith("  depth   integer >= 1"));
  CHECK_THAT(text, Catch::Contains("\n    rate  number"));
  CHECK_THAT(text, Catch::Contains("which (one, wrapper)\n"));
}

TEST_CASE("suggestions: a registry that contains itself is searched once", "[schema]") {
  CHECK_THROWS_WITH(outer_fields().parse(Value::object({{"zebra", 1}})),
                    Catch::Contains("zebra: unknown key (known: depth"));
}
