// Sums over ranks have the bits of a sum made by one process.
#include "parallel/ordered_sum.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/parallel/threads.h"

using namespace fovea;
using parallel::OrderedSum;
using parallel::Ranks;

namespace {

// Numbers of very different sizes, whose sum depends on the order.
float number(std::size_t list, std::size_t i) {
  const auto k = static_cast<double>(list * 7919 + i * 104729);
  return static_cast<float>(std::sin(k) * std::exp2(std::fmod(k, 23.0)));
}

// Part 2 has no element, part 3 is in no list, part 1 only in every second one.
const std::vector<std::int64_t> kSizes{5, 130, 0, 4, 1, 61};
bool has(std::size_t list, std::size_t part) {
  return part == 3 ? false : part != 1 || list % 2 == 1;
}

OrderedSum::List list_of(const OrderedSum& sum, std::size_t number_of_list) {
  OrderedSum::List list = sum.empty_list();
  for (std::size_t p = 0; p < kSizes.size(); ++p) {
    list.has[p] = has(number_of_list, p);
    const std::span<float> part = sum.part(list, p);
    for (std::size_t i = 0; i < part.size(); ++i)
      part[i] = list.has[p] ? number(number_of_list, 1000 * p + i) : std::nanf("");
  }
  return list;
}

OrderedSum::List sum_of(Ranks& ranks, std::size_t lists) {
  OrderedSum sum(ranks, kSizes);
  const auto size = static_cast<std::size_t>(ranks.size());
  OrderedSum::List result;
  for (int again = 0; again < 2; ++again) {
    for (std::size_t begin = 0; begin < lists; begin += size) {
      const std::size_t own = begin + static_cast<std::size_t>(ranks.rank());
      const OrderedSum::List list = own < lists ? list_of(sum, own) : OrderedSum::List();
      sum.add(own < lists ? &list : nullptr);
    }
    result = sum.finish();
  }
  return result;
}

std::vector<float> counted(const OrderedSum& sum, OrderedSum::List list) {
  std::vector<float> values;
  for (std::size_t p = 0; p < kSizes.size(); ++p) {
    if (!list.has[p]) continue;
    for (const float value : sum.part(list, p)) values.push_back(value);
  }
  return values;
}

}  // namespace

TEST_CASE("ordered sum: any number of ranks gives the bits of one", "[parallel]") {
  const std::size_t lists = GENERATE(1u, 2u, 4u, 7u);
  Ranks alone;
  const OrderedSum by_one(alone, kSizes);
  const OrderedSum::List expected = sum_of(alone, lists);
  CHECK(expected.has == std::vector<bool>{true, lists > 1, true, false, true, true});
  // From left to right.
  float first = number(0, 0);
  for (std::size_t k = 1; k < lists; ++k) first += number(k, 0);
  CHECK(expected.values[0] == first);
  for (const int size : {2, 3, 4}) {
    std::atomic<int> same = 0;
    test::run_ranks(size, [&](Ranks& ranks) {
      const OrderedSum::List got = sum_of(ranks, lists);
      if (got.has == expected.has && counted(by_one, got) == counted(by_one, expected)) ++same;
    });
    CHECK(same == size);
  }
}

TEST_CASE("ordered sum: more ranks than elements", "[parallel]") {
  std::atomic<int> right = 0;
  test::run_ranks(4, [&](Ranks& ranks) {
    OrderedSum sum(ranks, {2});
    OrderedSum::List list = sum.empty_list();
    list.has[0] = true;
    list.values = {1.0f, static_cast<float>(ranks.rank())};
    sum.add(&list);
    if (sum.finish().values == std::vector<float>{4, 6}) ++right;
  });
  CHECK(right == 4);
}
