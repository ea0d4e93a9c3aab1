#include "schema/load.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <string>

#include "base/error.h"
#include "base/file.h"

using namespace fovea;
using schema::Value;

namespace {

// A folder with a sub-folder "exp", the working folder meanwhile, so that names in messages are
// short and relative.
struct Folder {
  io::fs::path before = io::fs::current_path();
  io::fs::path path =
      io::fs::temp_directory_path() / ("fovea_load_test_" + std::to_string(::getpid()));
  Folder() {
    io::fs::remove_all(path);
    io::make_directories(path / "exp");
    io::fs::current_path(path / "exp");
  }
  ~Folder() {
    io::fs::current_path(before);
    io::fs::remove_all(path);
  }
};

void write(const std::string& name, const std::string& text) { io::write_atomic(name, text); }

std::string load_complaint(const std::string& file) {
  try {
    schema::load(file);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "(accepted)";
}

std::string complaint_of_override(Value root, const std::string& assignment) {
  try {
    schema::apply_override(root, assignment);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "(accepted)";
}

}  // namespace

TEST_CASE("load: objects merge, arrays are replaced, null clears, origins stay", "[schema]") {
  const Folder folder;
  write("base.json", R"({"name": "base",
    "model": {"depth": 8, "dims": [1, 2, 3], "attention": "m_dgsa", "drop": 0.1}})");
  write("child.json", R"({"extends": "base.json", "name": "child",
    "model": {"dims": [4], "attention": {"num_heads": 2}, "drop": null, "extra": null}})");
  const Value value = schema::load("child.json");
  CHECK(value.dump(0) ==
        R"({"name":"child","model":{"depth":8,"dims":[4],)"
        R"("attention":{"type":"m_dgsa","num_heads":2},"drop":null,"extra":null}})");
  const Value& model = value.at("model");
  CHECK(schema::to_string(model.at("depth").origin()) == "base.json:2:24");
  CHECK(schema::to_string(model.at("dims").origin()) == "child.json:2:23");
  CHECK(schema::to_string(model.at("attention").at("type").origin()) == "base.json:2:59");
  CHECK(model.at("drop").clears());
  CHECK_FALSE(model.at("extra").clears());
}

TEST_CASE("load: a chain of three and a parent in a sibling folder", "[schema]") {
  const Folder folder;
  io::make_directories("../common");
  write("../common/a.json", R"({"a": 1, "b": 1, "c": 1})");
  write("b.json", R"({"extends": "../common/a.json", "b": 2, "c": 2})");
  write("c.json", R"({"extends": "b.json", "c": 3})");
  const Value value = schema::load("c.json");
  CHECK(value.dump(0) == R"({"a":1,"b":2,"c":3})");
  CHECK(schema::to_string(value.at("a").origin()) == "../common/a.json:1:7");
}

TEST_CASE("load: cycles, missing parents and escapes are refused", "[schema]") {
  const Folder folder;
  write("a.json", R"({"extends": "b.json"})");
  write("b.json", R"({"extends": "./a.json"})");
  write("start.json", R"({"extends": "a.json"})");
  write("self.json", R"({"extends": "self.json"})");
  CHECK(load_complaint("a.json") == "a.json: extends b.json, which extends a.json");
  CHECK(load_complaint("start.json") == "a.json: extends b.json, which extends a.json");
  CHECK(load_complaint("self.json") == "self.json: extends itself");

  write("orphan.json", "{\n  \"extends\": \"none.json\"}");
  CHECK(load_complaint("orphan.json") == "orphan.json:2:14: extends: none.json: not found");
  write("number.json", R"({"extends": 3})");
  CHECK(load_complaint("number.json") ==
        "number.json:1:13: extends: expected string, got 3 (integer)");
  write("absolute.json", R"({"extends": "/etc/passwd"})");
  CHECK_THAT(load_complaint("absolute.json"),
             Catch::Contains("expected a path relative to this file"));
  write("escape.json", R"({"extends": "../../x.json"})");
  CHECK_THAT(load_complaint("escape.json"), Catch::Contains("leaves the folder above"));
  write("nul.json", R"({"extends": "b.json\u0000"})");
  CHECK_THAT(load_complaint("nul.json"), Catch::Contains("expected a path relative"));
  write("list.json", "[1]");
  CHECK(load_complaint("list.json") == "list.json:1:1: expected object, got array of 1");
  CHECK_THROWS_AS(schema::load("none.json"), FileError);
  CHECK_THROWS_AS(schema::load("."), FileError);
}

TEST_CASE("override: the right side is JSON where it reads as JSON", "[schema]") {
  Value root;
  for (const char* assignment :
       {"a.integer=1", "a.number=1e-3", "a.flag=true", "a.word=m_dgsa", "a.path=/data//x=1",
        "a.list=[1,2]", "a.object={\"type\":\"x\"}", "a.quoted=\"1\"", "a.empty=", "a.none=null"}) {
    schema::apply_override(root, assignment);
  }
  CHECK(root.dump(0) ==
        R"({"a":{"integer":1,"number":0.001,"flag":true,"word":"m_dgsa","path":"/data//x=1",)"
        R"("list":[1,2],"object":{"type":"x"},"quoted":"1","empty":"","none":null}})");
  CHECK(schema::to_string(root.at("a").at("object").at("type").origin()) ==
        "--set a.object={\"type\":\"x\"}");
  CHECK(schema::to_string(root.members()[0].key_origin) == "--set a.integer=1");
}

TEST_CASE("override: walks arrays, replaces wholly, opens the shorthand, clears", "[schema]") {
  Value root = schema::parse(
      R"({"list": [{"x": 1}, {"x": 2}], "attention": "m_dgsa", "model": {"a": 1, "b": 2}})", "x");
  schema::apply_override(root, "list.1.x=5");
  schema::apply_override(root, "attention.num_heads=4");
  schema::apply_override(root, "model={\"c\":3}");
  CHECK(root.dump(0) == R"({"list":[{"x":1},{"x":5}],)"
                        R"("attention":{"type":"m_dgsa","num_heads":4},"model":{"c":3}})");
  schema::apply_override(root, "model.c=null");
  schema::apply_override(root, "model.typo=null");
  CHECK(root.at("model").at("c").clears());
  CHECK_FALSE(root.at("model").at("typo").clears());
  CHECK(schema::find_path(root, "list.1.x")->as_int() == 5);
  CHECK(schema::find_path(root, "list.2.x") == nullptr);
  CHECK(schema::find_path(root, "attention.x") == nullptr);
}

TEST_CASE("override: malformed assignments are refused by name", "[schema]") {
  const Value root = schema::parse(R"({"list": [1, 2], "n": 3})", "x");
  CHECK(complaint_of_override(root, "epochs") ==
        "--set epochs: no '=', expected key=value such as train.epochs=1");
  CHECK_THAT(complaint_of_override(root, "a..b=1"),
             Catch::StartsWith("--set a..b=1: empty key in \"a..b\""));
  CHECK_THAT(complaint_of_override(root, "=1"), Catch::Contains("empty key"));
  CHECK(complaint_of_override(root, "list.2=1") ==
        "--set list.2=1: list has 2 items, no item \"2\"; items count from 0");
  CHECK_THAT(complaint_of_override(root, "list.-1=1"), Catch::Contains("no item \"-1\""));
  CHECK(complaint_of_override(root, "n.x=1") ==
        "--set n.x=1: n is 3 (integer), not an object; it has no key \"x\"");
  CHECK_THAT(complaint_of_override(root, "a={\"b\":"), Catch::Contains("unexpected end of file"));
  std::string deep = "a";
  for (int i = 0; i < 100; ++i) deep += ".a";
  CHECK_THAT(complaint_of_override(root, deep + "=1"), Catch::Contains("at most 64 keys"));
  CHECK_THAT(complaint_of_override(root, "a=\xFF"), Catch::Contains("not UTF-8"));
}
