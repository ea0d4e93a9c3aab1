#include "base/recent_table.h"

#include <catch2/catch.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using fovea::HashOfNumbers;
using fovea::RecentTable;

namespace {

// Neither copied nor moved, as plans of libraries are not.
struct Plan {
  Plan(int of, int* count) : number(of), alive(count) { ++*alive; }
  ~Plan() { --*alive; }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  int number;
  int* alive;
};

}  // namespace

TEST_CASE("recent table: what was asked for longest ago is given up", "[base]") {
  int alive = 0, made = 0;
  RecentTable<int, Plan> table(3);
  const auto ask = [&](int key) -> Plan& {
    return table.get(key, [&] {
      ++made;
      return Plan(key, &alive);
    });
  };
  for (const int key : {1, 2, 3}) CHECK(ask(key).number == key);
  CHECK(made == 3);
  const Plan* const first = &ask(1);  // now 2 is the oldest
  CHECK(made == 3);
  ask(4);
  CHECK(alive == 3);
  CHECK(table.size() == 3);
  CHECK(&ask(1) == first);
  ask(3);
  CHECK(made == 4);
  ask(2);  // made again, in place of 4
  CHECK(made == 5);
  CHECK(&ask(1) == first);
  ask(3);
  CHECK(made == 5);
  ask(4);
  CHECK(made == 6);
  CHECK(alive == 3);
}

TEST_CASE("recent table: one entry is enough, and all are given up at the end", "[base]") {
  int alive = 0;
  {
    RecentTable<std::string, Plan> table(1);
    for (const char* key : {"a", "b", "b", "a"})
      CHECK(table.get(key, [&] { return Plan(key[0], &alive); }).number == key[0]);
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}

TEST_CASE("recent table: what cannot be made is not kept", "[base]") {
  RecentTable<int, int> table(2);
  table.get(1, [] { return 10; });
  table.get(2, [] { return 20; });
  CHECK_THROWS_AS(table.get(3, []() -> int { throw std::runtime_error("no"); }),
                  std::runtime_error);
  CHECK(table.size() == 2);
  CHECK(table.get(1, [] { return 0; }) == 10);
  CHECK(table.get(2, [] { return 0; }) == 20);
  CHECK(table.get(3, [] { return 30; }) == 30);
}

TEST_CASE("recent table: keys may be lists of numbers", "[base]") {
  using Key = std::vector<std::int64_t>;
  RecentTable<Key, int, HashOfNumbers> table;
  CHECK(table.get({1, 2}, [] { return 12; }) == 12);
  CHECK(table.get({2, 1}, [] { return 21; }) == 21);
  CHECK(table.get({}, [] { return 0; }) == 0);
  CHECK(table.get({1, 2}, [] { return -1; }) == 12);
  for (std::int64_t i = 0; i < 3000; ++i) table.get({i, i}, [] { return 1; });
  CHECK(table.size() == 1024);
}
