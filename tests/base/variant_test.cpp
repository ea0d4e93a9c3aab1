#include "base/variant.h"

#include <catch2/catch.hpp>
#include <new>
#include <string>
#include <vector>

namespace fovea {
namespace {

struct Copied {
  Copied() = default;
  Copied(const Copied&) { throw std::bad_alloc(); }
  Copied(Copied&&) noexcept = default;
  Copied& operator=(const Copied&) = default;
  Copied& operator=(Copied&&) noexcept = default;
};
using Lists = Variant<std::vector<int>, std::vector<Copied>, std::vector<std::string>>;

}  // namespace

TEST_CASE("variant: a copy that runs out of memory leaves nothing behind", "[base]") {
  const Lists lists(std::in_place_type<std::vector<Copied>>, 3);
  CHECK_THROWS_AS(Lists(lists), std::bad_alloc);
  Lists words = std::vector<std::string>{"a", "b"};
  CHECK_THROWS_AS(words = lists, std::bad_alloc);
  CHECK(std::get<std::vector<std::string>>(words) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("variant: copies and moves keep what is held", "[base]") {
  const Lists words = std::vector<std::string>{"a", "b"};
  Lists copy = words;
  CHECK(std::get<std::vector<std::string>>(copy) == std::get<std::vector<std::string>>(words));
  const Lists moved = std::move(copy);
  CHECK(std::get<std::vector<std::string>>(moved).size() == 2);
  copy = std::vector<int>{1};
  CHECK(copy.index() == 0);
}

}  // namespace fovea
