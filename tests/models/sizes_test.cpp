// Sizes that cannot be: every number among the options of every network, at the largest that its
// range allows, or 10^9 where it has no end.
#include <catch2/catch.hpp>

#include <sys/resource.h>

#include <ctime>
#include <functional>
#include <set>

#include "base/error.h"
#include "nn/sizes.h"
#include "schema/describe/description.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using schema::Value;

namespace {

using Kind = schema::Type::Kind;

// A default list with another first number: of the innermost list, where there are several.
Value with_first(const Value& list, const schema::Type& type, const Value& number) {
  if (type.kind != Kind::kArray) return number;
  Value changed = list.is_array() ? list : Value::array();
  const auto length = static_cast<std::size_t>(type.length < 0 ? 1 : type.length);
  while (changed.size() < length) changed.push_back(with_first(Value(), *type.item, number));
  Value result = Value::array({with_first(changed.at(0), *type.item, number)});
  for (std::size_t i = 1; i < changed.size(); ++i) result.push_back(changed.at(i));
  return result;
}

using Visit = std::function<void(const std::string& about, const Value& options)>;

// Calls `visit` with an object for every number among these options, and among those of the parts
// that can be chosen there.
void each_size(const schema::Description& fields, const std::string& path, int depth,
               const Visit& visit) {
  for (const schema::Field& field : fields.fields()) {
    const std::string at = path + "." + field.key;
    const schema::Type& inner = field.type.innermost();
    const auto below = [&](const std::string& about, const Value& value) {
      const bool list = field.type.kind == Kind::kArray;
      visit(about, Value::object({{field.key, list ? Value::array({value}) : value}}));
    };
    if (inner.kind == Kind::kInteger || inner.kind == Kind::kNumber) {
      constexpr std::int64_t kBeyond = 1'000'000'000;
      const auto set = [&](const Value& number) {
        visit(at + "=" + number.dump(0) + " " + field.help,
              Value::object({{field.key, with_first(field.default_value, field.type, number)}}));
      };
      const bool integer = inner.kind == Kind::kInteger;
      if (!field.range.high) {
        set(integer ? Value(kBeyond) : Value(1e9));
      } else if (integer) {
        set(static_cast<std::int64_t>(*field.range.high));
      } else {
        set(*field.range.high);
      }
    } else if (inner.kind == Kind::kObject) {
      each_size(*inner.object, at, depth, below);
    } else if (inner.kind == Kind::kComponent && depth < 2) {
      for (const schema::Choice& choice : inner.choices.list()) {
        if (choice.fields == nullptr) continue;
        each_size(*choice.fields, at + "=" + choice.name, depth + 1,
                  [&](const std::string& about, Value options) {
                    options.set("type", choice.name);
                    below(about, options);
                  });
      }
    }
  }
}

// Builds a network without memory for its numbers and runs it.
void build_and_run(const models::Entry& entry, const Value& options) {
  const Device meta = make_meta();
  const auto model = build(options, meta, shape_for(entry));
  const models::Inputs inputs = zeros_for(entry, 1, meta);
  const autograd::NoGrad no_grad;
  model->forward_dummy(inputs);
}

}  // namespace

TEST_CASE("sizes: no number of any network fills memory or takes long", "[models][host][long]") {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // What takes more memory ends with std::bad_alloc, which is no refusal.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  rlimit limited = before;
  limited.rlim_cur = rlim_t{6} << 30;
  REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
#endif
  std::set<std::string> seen;  // networks share most of their options
  int refused = 0, built = 0;
  for (const models::Entry& entry : models::entries()) {
    each_size(*entry.fields, "", 0, [&](const std::string& about, Value options) {
      if (!seen.insert(std::to_string(static_cast<int>(entry.interface)) + about).second) return;
      options.set("type", entry.name);
      INFO(options.dump(0));
      const std::clock_t begin = std::clock();  // of this process, on a busy machine too
      try {
        build_and_run(entry, options);
        ++built;
      } catch (const Error&) {
        ++refused;
      } catch (const std::exception& other) {
        FAIL_CHECK(other.what());
      }
      CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 20);
    });
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  setrlimit(RLIMIT_AS, &before);
#endif
  CHECK(refused > 100);
  CHECK(built > 10);
}

TEST_CASE("sizes: a network of too many parts is refused while it is small", "[models]") {
  const schema::Value blocks = schema::Value::array({1000, 1000, 1000, 1000});
  const Device meta = make_meta();
  const models::DataShape data{3, 64, 64, 5};
  CHECK_THROWS_WITH(build(options_of("vit", {{"depth", nn::kMostBlocks + 1}}), meta, data),
                    Catch::Contains("model.depth: expected integer from 1 to 1000, got 1001"));
  nn::Construction counted;
  for (std::int64_t i = 0; i < nn::Construction::kMostParts; ++i) counted.add();
  CHECK_THROWS_WITH(counted.add(), Catch::Contains("more than 400000 modules and parameters"));
  // Every stage may have as many blocks; counting starts anew with every network.
  for (int repeat = 0; repeat < 2; ++repeat)
    CHECK_NOTHROW(build(options_of("resnet18", {{"depths", blocks}}), meta, data));
}
