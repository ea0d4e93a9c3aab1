#include "schema/registry.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "schema/fields.h"

using namespace fovea;
using namespace fovea::schema;

namespace {

struct Shape {
  std::int64_t sides = 3;
};

struct Entry : Choice {
  static constexpr const char* kKind = "shape";
  std::int64_t corners = 0;
};

Entry entry(const std::string& name, std::int64_t corners) {
  const auto fields = Fields<Shape>{}.add("sides", &Shape::sides, "how many");
  return {{name, "a " + name, std::make_shared<const Fields<Shape>>(fields)}, corners};
}

}  // namespace

TEST_CASE("registry: entries in their order, found and listed by name", "[schema]") {
  Registry<Entry> shapes = {entry("triangle", 3), entry("square", 4)};
  CHECK(shapes.find("square").corners == 4);
  shapes.add(entry("pentagon", 5));
  std::string names;
  for (const Entry& one : shapes) names += one.name + " ";
  CHECK(names == "triangle square pentagon ");
  const Choices choices = shapes.choices();
  CHECK(choices.kind == "shape");
  REQUIRE(choices.list().size() == 3);
  CHECK(choices.list()[2].help == "a pentagon");
  CHECK(choices.list()[2].fields->keys() == std::vector<std::string>{"sides"});
}

TEST_CASE("registry: an unknown name is answered with the nearest one", "[schema]") {
  Registry<Entry> shapes = {entry("triangle", 3), entry("square", 4)};
  CHECK_THROWS_AS(shapes.find("sqare"), ConfigError);
  CHECK_THROWS_WITH(shapes.find("sqare"),
                    "shape: no shape called \"sqare\"; did you mean \"square\"? run: fovea inspect "
                    "--list shape");
  CHECK_THROWS_WITH(shapes.find("x", "model.shape.type"),
                    "model.shape.type: no shape called \"x\"; run: fovea inspect --list shape");
  CHECK_THROWS_WITH(shapes.add(entry("square", 5)), "shape: there are two called \"square\"");
}

TEST_CASE("component: the type alone stands for all defaults", "[schema]") {
  const auto fields = Fields<Shape>{}.add("sides", &Shape::sides, "how many");
  CHECK(fields.parse(Component{"triangle", {}}).sides == 3);
}
