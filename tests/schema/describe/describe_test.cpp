#include "schema/describe/describe.h"

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
| `inner.rate` | number | `0.5` | share |
| `part` | [part](#part) | `"one"` | which |
| `parts` | array of [part](#part) | `[]` | more |

## part

| type | meaning |
|---|---|
| `one` | the first |
| `wrapper` | around another |

| key | of | type | default | meaning |
|---|---|---|---|---|
| `inside` | `wrapper` | [part](#part) | `"one"` | it |

)");
}

TEST_CASE("describe_markdown: a key that several entries have stands once", "[schema]") {
  struct Base {
    int width = 8;
    bool bias = true;
    Inner inner;
  };
  struct Own : Base {
    double slope = 0.1;
  };
  const auto base = [](int width, const char* bias) {
    Base defaults;
    defaults.width = width;
    return Fields<Base>(defaults)
        .add("width", &Base::width, at_least(1), "channels")
        .add("bias", &Base::bias, bias)
        .add_object("inner", &Base::inner, Fields<Inner>{}.add("rate", &Inner::rate, "share"),
                    "in");
  };
  const auto entries = [&]() -> std::vector<Choice> {
    return {{"a", "first", std::make_shared<Fields<Base>>(base(8, "add a bias"))},
            {"b", "second", std::make_shared<Fields<Base>>(base(16, "add a bias"))},
            {"c", "third",
             std::make_shared<Fields<Own>>(Fields<Own>{}
                                               .include(base(8, "another bias"))
                                               .add("slope", &Own::slope, "of the line"))}};
  };
  struct Root {
    Component layer{"a", {}};
  };
  const std::string page = describe_markdown(
      Fields<Root>{}.add_component("layer", &Root::layer, {"layer", entries}, "which"), "Root");
  const auto at = page.find("## layer\n");
  REQUIRE(at != std::string::npos);
  CHECK(page.substr(at) == R"(## layer

| type | meaning | defaults |
|---|---|---|
| `a` | first |  |
| `b` | second | `width` `16` |
| `c` | third |  |

| key | of | type | default | meaning |
|---|---|---|---|---|
| `width` | every | integer >= 1 | `8` | channels |
| `inner` | every | object | see below | in |
| `inner.rate` | every | number | `0.5` | share |
| `bias` | `a`, `b` | boolean | `true` | add a bias |
| `bias` | `c` | boolean | `true` | another bias |
| `slope` | `c` | number | `0.1` | of the line |

)");
}

TEST_CASE("describe_markdown: neighbours are told by the first and the last", "[schema]") {
  struct Wide {
    int width = 8;
  };
  const auto wide = std::make_shared<Fields<Wide>>(
      Fields<Wide>{}.add("width", &Wide::width, at_least(1), "channels"));
  const auto with_width = [&](const std::string& which) {
    std::vector<Choice> entries;
    for (const char name : {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}) {
      const bool has = which.find(name) != std::string::npos;
      entries.push_back({{name}, "one", has ? wide : nullptr});
    }
    return describe_markdown(Fields<Outer>{}.add_component("part", &Outer::part,
                                                           {"part", [=] { return entries; }}, "it"),
                             "Root");
  };
  CHECK_THAT(with_width("abdfgh"), Catch::Contains("| `width` | every but `c`, `e` | integer"));
  CHECK_THAT(with_width("abd"), Catch::Contains("| `width` | `a`, `b`, `d` | integer"));
  CHECK_THAT(with_width("bcdef"), Catch::Contains("| `width` | `b` to `f` | integer"));
  CHECK_THAT(with_width("cfgh"), Catch::Contains("| `width` | `c`, `f` to `h` | integer"));
}

TEST_CASE("describe_markdown: what another registry tells word for word is a link", "[schema]") {
  struct Shared {
    int width = 8;
    int depth = 2;
    bool bias = true;
    bool own = false;
    double low = 1, high = 1;
  };
  const auto entries = [](int depth, const char* own) -> std::vector<Choice> {
    Shared defaults;
    defaults.depth = depth;
    return {{"x", "one",
             std::make_shared<Fields<Shared>>(Fields<Shared>(defaults)
                                                  .add("width", &Shared::width, "channels")
                                                  .add("depth", &Shared::depth, "blocks")
                                                  .add("bias", &Shared::bias, "a bias")
                                                  .add("own", &Shared::own, own)
                                                  .add("low", &Shared::low, own)
                                                  .add("high", &Shared::high, own))}};
  };
  struct Root {
    Component net{"x", {}}, part{"x", {}};
  };
  const auto page_of = [&](int depth) {
    return describe_markdown(
        Fields<Root>{}
            .add_component("net", &Root::net, {"net", [&] { return entries(2, "a"); }}, "it")
            .add_component("part", &Root::part,
                           {"part", [&, depth] { return entries(depth, "b"); }}, "it"),
        "Root");
  };
  CHECK_THAT(page_of(2), Catch::Contains(R"(| `x` | one |

As under [net](#net), of every: `width`, `depth`, `bias`.

| key | of | type | default | meaning |
|---|---|---|---|---|
| `own` | every | boolean | `false` | b |
| `low`, `high` | every | number | `1.0` | b |
)"));
  // Two keys are no reason to look elsewhere, and a key of another default is another key.
  CHECK_THAT(page_of(3), !Catch::Contains("As under") &&
                             Catch::Contains("| `depth` | every | integer | `3` | blocks |"));
}

TEST_CASE("registries: each once, those inside others' options too", "[schema]") {
  struct Root {
    Component part{"one", {}};
    Component again{"one", {}};
  };
  const auto fields = Fields<Root>{}
                          .add_component("part", &Root::part, {"part", parts}, "which")
                          .add_component("again", &Root::again, {"part", parts}, "which");
  const auto found = registries(fields);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == "part");
  CHECK(registries(outer_fields()).size() == 1);
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
