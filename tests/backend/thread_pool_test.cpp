#include "backend/cpu/thread_pool.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "backend/backend.h"
#include "backend/devices.h"
#include "backend/in_parallel.h"
#include "tensor/tensor.h"

using fovea::cpu::ThreadPool;

namespace {

// How often each piece of one run was done; plain ints, so that ThreadSanitizer sees two threads
// that take the same piece.
std::vector<int> counts_of_run(ThreadPool& pool, std::int64_t pieces) {
  std::vector<int> counts(static_cast<std::size_t>(pieces));
  pool.run(pieces, [&](std::int64_t i) { ++counts[static_cast<std::size_t>(i)]; });
  return counts;
}

}  // namespace

TEST_CASE("thread pool: every piece of every run is done once", "[backend]") {
  const int threads = GENERATE(1, 2, 3, 8);
  ThreadPool pool(threads);
  CHECK(pool.threads() == threads);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t pieces = round % 17;
    INFO("threads " << threads << ", round " << round);
    CHECK(counts_of_run(pool, pieces) == std::vector<int>(static_cast<std::size_t>(pieces), 1));
  }
}

TEST_CASE("thread pool: what pieces wrote is seen when the run is over", "[backend]") {
  ThreadPool pool(4);
  std::vector<std::int64_t> values(1000);
  std::int64_t expected = 0;
  for (std::int64_t round = 1; round <= 50; ++round) {
    pool.run(1000, [&](std::int64_t i) { values[static_cast<std::size_t>(i)] += i * round; });
    expected += 1000 * 999 / 2 * round;
    CHECK(std::accumulate(values.begin(), values.end(), std::int64_t{0}) == expected);
  }
}

TEST_CASE("thread pool: an exception of a piece reaches the caller, and the pool goes on",
          "[backend]") {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    CHECK_THROWS_WITH(pool.run(100,
                               [](std::int64_t i) {
                                 if (i == 40) throw std::runtime_error("piece 40");
                               }),
                      "piece 40");
    CHECK(counts_of_run(pool, 50) == std::vector<int>(50, 1));
  }
}

TEST_CASE("thread pool: a run inside a piece, and runs of several callers", "[backend]") {
  ThreadPool pool(2);
  std::vector<int> inner(12);
  pool.run(4, [&](std::int64_t outer) {
    pool.run(3, [&](std::int64_t i) { ++inner[static_cast<std::size_t>(3 * outer + i)]; });
  });
  CHECK(inner == std::vector<int>(12, 1));

  std::vector<int> first(64), second(64);
  const auto many = [&](std::vector<int>& counts) {
    for (int round = 0; round < 50; ++round) {
      pool.run(64, [&](std::int64_t i) { ++counts[static_cast<std::size_t>(i)]; });
    }
  };
  std::thread other([&] { many(second); });
  many(first);
  other.join();
  CHECK(first == std::vector<int>(64, 50));
  CHECK(second == std::vector<int>(64, 50));
}

TEST_CASE("in parallel: pieces run kernels in their own threads", "[backend]") {
  const fovea::Device device = fovea::make_cpu(3);
  std::vector<double> sums(20);
  fovea::in_parallel(device, 20, [&](std::int64_t i) {
    const std::vector<float> ones(1000, static_cast<float>(i));
    const fovea::Tensor x = fovea::Tensor::from(ones, {10, 100}, device);
    const fovea::Tensor y = fovea::Tensor::empty({10, 100}, fovea::DType::kFloat32, device);
    device.backend().cast(x, y);
    for (const float value : y.values<float>()) sums[static_cast<std::size_t>(i)] += value;
  });
  for (std::size_t i = 0; i < sums.size(); ++i) CHECK(sums[i] == 1000.0 * static_cast<double>(i));
  CHECK_THROWS_AS(
      fovea::in_parallel(device, 4, [](std::int64_t) { throw std::runtime_error("x"); }),
      std::runtime_error);
  // Of another device they run in this thread.
  const auto here = std::this_thread::get_id();
  fovea::in_parallel(fovea::make_meta(), 3,
                     [&](std::int64_t) { CHECK(std::this_thread::get_id() == here); });
}
