// Sums over ranks have the bits of a sum made by one process.
#include "parallel/ordered_sum.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "backend/devices.h"
#include "tests/parallel/threads.h"

using namespace fovea;
using parallel::OrderedSum;
using parallel::Ranks;
using parallel::Sent;

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

std::vector<float> floats(const Tensor& x) {
  const auto values = x.host_values<float>();
  return {values.begin(), values.end()};
}

OrderedSum::List list_of(const OrderedSum& sum, std::size_t number_of_list) {
  OrderedSum::List list = sum.empty_list();
  for (std::size_t p = 0; p < kSizes.size(); ++p) {
    list.has[p] = has(number_of_list, p);
    const std::span<float> part = sum.part(list, p).values<float>();
    for (std::size_t i = 0; i < part.size(); ++i)
      part[i] = list.has[p] ? number(number_of_list, 1000 * p + i) : std::nanf("");
  }
  return list;
}

OrderedSum::List sum_of(Ranks& ranks, std::size_t lists, Sent sent = Sent::kFloat32) {
  OrderedSum sum(ranks, kSizes, make_cpu(1), sent);
  const auto size = static_cast<std::size_t>(ranks.size());
  OrderedSum::List list, result;
  for (int again = 0; again < 2; ++again) {
    for (std::size_t begin = 0; begin < lists; begin += size) {
      const std::size_t own = begin + static_cast<std::size_t>(ranks.rank());
      std::vector<bool> adds;
      for (std::size_t k = begin; k < begin + size; ++k) adds.push_back(k < lists);
      sum.end_round();  // before its list goes
      list = own < lists ? list_of(sum, own) : OrderedSum::List();
      sum.begin_round(own < lists ? &list : nullptr, adds);
      for (int look = 0; look < ranks.rank() * 3; ++look) sum.round_is_over();
    }
    result = sum.finish();
  }
  return result;
}

std::vector<float> counted(const OrderedSum& sum, OrderedSum::List list) {
  std::vector<float> values;
  for (std::size_t p = 0; p < kSizes.size(); ++p) {
    if (!list.has[p]) continue;
    for (const float value : floats(sum.part(list, p))) values.push_back(value);
  }
  return values;
}

}  // namespace

TEST_CASE("ordered sum: any number of ranks gives the bits of one", "[parallel]") {
  const std::size_t lists = GENERATE(1u, 2u, 4u, 7u);
  Ranks alone;
  const OrderedSum by_one(alone, kSizes, make_cpu(1));
  const OrderedSum::List expected = sum_of(alone, lists);
  CHECK(expected.has == std::vector<bool>{true, lists > 1, true, false, true, true});
  // From left to right.
  float first = number(0, 0);
  for (std::size_t k = 1; k < lists; ++k) first += number(k, 0);
  CHECK(floats(expected.values)[0] == first);
  for (const int size : {2, 3, 4}) {
    std::atomic<int> same = 0;
    test::run_ranks(size, [&](Ranks& ranks) {
      const OrderedSum::List got = sum_of(ranks, lists);
      if (got.has == expected.has && counted(by_one, got) == counted(by_one, expected)) ++same;
    });
    CHECK(same == size);
  }
}

TEST_CASE("ordered sum: as bfloat16 lists and sums are rounded, on any number of ranks",
          "[parallel]") {
  const auto rounded = [](float value) { return static_cast<float>(BFloat16(value)); };
  Ranks alone;
  const OrderedSum by_one(alone, kSizes, make_cpu(1));
  const std::vector<float> expected = counted(by_one, sum_of(alone, 5, Sent::kBFloat16));
  float first = 0;
  for (std::size_t k = 0; k < 5; ++k) first += rounded(number(k, 0));
  CHECK(expected.front() == rounded(first));
  CHECK(expected.front() != counted(by_one, sum_of(alone, 5)).front());
  for (const int size : {2, 3, 4}) {
    std::atomic<int> same = 0;
    test::run_ranks(size, [&](Ranks& ranks) {
      if (counted(by_one, sum_of(ranks, 5, Sent::kBFloat16)) == expected) ++same;
    });
    CHECK(same == size);
  }
}

TEST_CASE("ordered sum: several travel at once", "[parallel]") {
  std::atomic<int> right = 0;
  test::run_ranks(3, [&](Ranks& ranks) {
    std::vector<OrderedSum> sums;
    for (int k = 0; k < 4; ++k) sums.emplace_back(ranks, std::vector<std::int64_t>{7}, make_cpu(1));
    std::vector<OrderedSum::List> lists;
    for (int k = 0; k < 4; ++k) {
      lists.push_back(sums[0].empty_list());
      lists.back().has[0] = true;
      for (float& value : lists.back().values.values<float>())
        value = static_cast<float>(10 * k + ranks.rank());
    }
    // Each rank looks at them in another order.
    for (std::size_t k = 0; k < 4; ++k) sums[k].begin_round(&lists[k], {true, true, true});
    const auto shift = static_cast<std::size_t>(ranks.rank());
    for (std::size_t k = 0; k < 4; ++k) sums[(k + shift) % 4].end_round();
    for (std::size_t k = 0; k < 4; ++k) sums[(k + shift) % 4].begin_spread();
    bool good = true;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::vector<float> seven(7, static_cast<float>(30 * k + 3));
      good = good && floats(sums[k].finish().values) == seven;
    }
    if (good) ++right;
  });
  CHECK(right == 3);
}

TEST_CASE("ordered sum: more ranks than elements", "[parallel]") {
  std::atomic<int> right = 0;
  test::run_ranks(4, [&](Ranks& ranks) {
    OrderedSum sum(ranks, {2}, make_cpu(1));
    OrderedSum::List list = sum.empty_list();
    list.has[0] = true;
    list.values = Tensor::from<float>({1.0f, static_cast<float>(ranks.rank())}, {2}, make_cpu(1));
    sum.begin_round(&list, {true, true, true, true});
    if (floats(sum.finish().values) == std::vector<float>{4, 6}) ++right;
  });
  CHECK(right == 4);
}
