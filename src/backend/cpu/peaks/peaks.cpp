// The processor's peaks (backend/peaks.h).
#include "backend/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>

#ifdef __unix__
#include <time.h>
#endif

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/peaks/caches.h"
#include "backend/cpu/simd/amx.h"
#include "backend/cpu/simd/simd.h"
#include "base/cores.h"
#include "base/error.h"

namespace fovea {
namespace cpu {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The fastest of the repetitions that fit into a time, and of three at least. repetition() returns
// its work and the seconds that it took.
struct Repetition {
  double work = 0, seconds = 0;
};
double best_rate(double budget_s, const std::function<Repetition()>& repetition) {
  constexpr int kLeast = 3;
  double best = 0;
  const auto start = Clock::now();
  for (int i = 0; i < kLeast || seconds_since(start) < budget_s; ++i) {
    const auto [work, seconds] = repetition();
    if (seconds > 0) best = std::max(best, work / seconds);
  }
  return best;
}

// Threads that can work at the same time: more than there are cores reach no more.
int busy_threads(const CpuBackend& backend) { return std::min(backend.threads(), usable_cores()); }

// All threads in body(number of the thread) at the same time: seconds from the first that begins to
// the last that ends.
double together(const CpuBackend& backend, const std::function<void(int)>& body) {
  const int threads = busy_threads(backend);
  struct Times {
    Clock::time_point begin, end;
  };
  std::vector<Times> times(static_cast<std::size_t>(threads));
  std::atomic<int> waiting{threads};
  backend.run(threads, [&](std::int64_t i) {
    Times& mine = times[static_cast<std::size_t>(i)];
    // No thread takes a second piece before all have one.
    --waiting;
    while (waiting > 0) std::this_thread::yield();
    mine.begin = Clock::now();
    body(static_cast<int>(i));
    mine.end = Clock::now();
  });
  Times all = times.front();
  for (const Times& one : times) {
    all.begin = std::min(all.begin, one.begin);
    all.end = std::max(all.end, one.end);
  }
  return std::chrono::duration<double>(all.end - all.begin).count();
}

// Repetitions of about this time are shorter than what a scheduler gives a thread at once.
constexpr double kRepetition = 1e-3;

// Seconds that this thread has had of a core.
double thread_seconds() {
#ifdef __unix__
  timespec now{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0)
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
#endif
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// Doubles `amount` until a repetition, which is made with so much, takes kRepetition. The fastest
// of some counts here too: a thread that has waited for a core has not worked long.
void make_long_enough(std::int64_t& amount, const std::function<Repetition()>& repetition) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  constexpr int kTries = 5;
  const auto fastest = [&] {
    double seconds = repetition().seconds;
    for (int i = 1; i < kTries && seconds >= kRepetition; ++i)
      seconds = std::min(seconds, repetition().seconds);
    return seconds;
  };
  while (amount < kMost && fastest() < kRepetition) amount *= 2;
}

// A loop that returns how many multiply-adds a number of turns has.
using Loop = std::function<std::int64_t(std::int64_t)>;

// That in all threads at the same time. Registers belong to a core, so time in which others had it
// does not count.
Repetition run_loop(const CpuBackend& backend, const Loop& loop, std::int64_t turns) {
  std::vector<double> rates(static_cast<std::size_t>(busy_threads(backend)));
  const double seconds = together(backend, [&](int thread) {
    const double begin = thread_seconds();
    const auto macs = static_cast<double>(loop(turns));
    rates[static_cast<std::size_t>(thread)] = macs / (thread_seconds() - begin);
  });
  return {std::accumulate(rates.begin(), rates.end(), 0.0) * seconds, seconds};
}

// Multiply-adds a second.
double rate_of(const CpuBackend& backend, const Loop& loop) {
  constexpr double kBudget = 0.1;
  std::int64_t turns = 1000;
  const auto repetition = [&] { return run_loop(backend, loop, turns); };
  make_long_enough(turns, repetition);
  return best_rate(kBudget, repetition);
}

template <class S>
std::int64_t multiply_adds(std::int64_t turns) {
  Compute<S> result[simd::kSlack];
  return simd::kernels().of<S>().multiply_adds(turns, result);
}

// Products whose operands stay in the first-level cache.
std::int64_t small_products(std::int64_t turns) {
  constexpr std::int64_t kRows = simd::kPackedRows, kDepth = simd::kPanelDepth / 2;
  const std::int64_t columns = 2 * simd::kernels().lanes<float>();
  alignas(64) std::array<float, kRows * kDepth + simd::kSlack> a{};
  alignas(64) std::array<float, simd::kPackedColumns * kDepth> b{};
  alignas(64) std::array<float, kRows * simd::kPackedColumns> c{};
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    simd::kernels().f32.packed_product({.m = kRows,
                                        .n = columns,
                                        .k = kDepth,
                                        .a = a.data(),
                                        .b = b.data(),
                                        .b_row = kDepth,
                                        .c = c.data(),
                                        .ldc = columns});
  }
  return turns * kRows * columns * kDepth;
}

// Operations a second of the loop for numbers stored as S.
template <class S>
double in_registers(const CpuBackend& backend) {
  return 2 * rate_of(backend, multiply_adds<S>);
}

// Those of bfloat16 on tile registers; 0 without any.
double in_tiles(const CpuBackend& backend) {
  const simd::AmxTable* tiles = simd::amx();
  if (tiles == nullptr) return 0;
  return 2 * rate_of(backend, [tiles](std::int64_t turns) {
           tiles->begin();
           const std::int64_t macs = tiles->multiply_adds(turns);
           tiles->end();
           return macs;
         });
}

// A product with tiles for all threads and deep enough that writing the result is little of it.
double of_gemm(const Device& device, DType dtype, int threads) {
  constexpr double kBudget = 0.3;
  constexpr std::int64_t kDepth = 1024, kTile = 256;
  const auto tiles = static_cast<std::int64_t>(std::ceil(std::sqrt(4.0 * threads)));
  const std::int64_t side = std::max(kDepth, kTile * tiles);
  const Tensor a = Tensor::empty({side, kDepth}, dtype, device);
  const Tensor b = Tensor::empty({kDepth, side}, dtype, device);
  const Tensor c = Tensor::empty({side, side}, dtype, device);
  for (const Tensor& operand : {a, b}) device.backend().fill(operand, 0.5);
  const GemmArgs args{.m = side, .n = side, .k = kDepth, .lda = kDepth, .ldb = side, .ldc = side};
  const double operations = 2.0 * static_cast<double>(side * side * kDepth);
  return best_rate(kBudget, [&] {
    const auto start = Clock::now();
    device.backend().gemm(args, a, b, {}, c);
    return Repetition{operations, seconds_since(start)};
  });
}

// What a level of memory lets through. Each thread has `bytes` of its own, and goes over `at_once`
// of them in a repetition, or over all of them again and again.
class Traffic {
 public:
  Traffic(const Device& device, const CpuBackend& backend, std::int64_t bytes, std::int64_t at_once)
      : backend_(backend),
        elements_(whole(bytes)),
        at_once_(std::min(elements_, whole(at_once))),
        memory_(Tensor::empty({elements_ * busy_threads(backend)}, DType::kFloat32, device)) {
    device.backend().fill(memory_, 1);
  }

  double rate(simd::Pass pass) {
    constexpr double kBudget = 0.1;
    const bool copies = pass == simd::Pass::kCopy || pass == simd::Pass::kStreamCopy;
    const auto repetition = [&] {
      const double bytes = 4.0 * static_cast<double>(at_once_ * passes_ * busy_threads(backend_));
      return Repetition{bytes, time(pass, copies)};
    };
    passes_ = 1;
    if (at_once_ == elements_) make_long_enough(passes_, repetition);
    return best_rate(kBudget, repetition);
  }

 private:
  // Elements, as many as the loops want.
  static std::int64_t whole(std::int64_t bytes) {
    constexpr std::int64_t kStep = 16 * simd::kSlack;
    return std::max<std::int64_t>(1, bytes / 4 / kStep) * kStep;
  }

  // A copy is from one half to the other.
  double time(simd::Pass pass, bool copies) {
    const std::int64_t first = next_;
    next_ += at_once_;
    if (next_ + at_once_ > elements_) next_ = 0;
    return together(backend_, [&](int thread) {
      float* x = memory_.data<float>() + thread * elements_ + first;
      for (std::int64_t i = 0; i < passes_; ++i) {
        if (copies) {
          simd::kernels().f32.pass(pass, x, x + at_once_ / 2, at_once_ / 2);
        } else {
          simd::kernels().f32.pass(pass, x, x, at_once_);
        }
      }
    });
  }

  const CpuBackend& backend_;
  std::int64_t elements_, at_once_;
  Tensor memory_;
  std::int64_t passes_ = 1, next_ = 0;
};

MemoryPeak measure_level(const Device& device, const CpuBackend& backend, MemoryPeak level,
                         std::int64_t bytes, std::int64_t at_once) {
  Traffic traffic(device, backend, bytes, at_once);
  level.read = traffic.rate(simd::Pass::kRead);
  level.write = traffic.rate(simd::Pass::kWrite);
  level.copy = traffic.rate(simd::Pass::kCopy);
  level.stream_write = traffic.rate(simd::Pass::kStreamWrite);
  level.stream_copy = traffic.rate(simd::Pass::kStreamCopy);
  return level;
}

// The value of a line such as "model name : AMD EPYC" of Linux.
std::string cpu_line(std::string_view key) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(key)) continue;
    if (line.find_first_not_of(" \t", key.size()) != colon) continue;
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

std::string processor() {
  const std::string name = cpu_line("model name");
  if (name.empty()) return "unknown processor";
  return fmt::format("{}, family {}, model {}", name, cpu_line("cpu family"), cpu_line("model"));
}

int all_cores() {
  std::string online;
  std::ifstream("/sys/devices/system/cpu/online") >> online;
  const int cores = cores_of_list(online);
  return cores > 0 ? cores : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

const CpuBackend& backend_of(const Device& device) {
  const auto* backend = dynamic_cast<const CpuBackend*>(&device.backend());
  FOVEA_CHECK(backend != nullptr, BackendError,
              fmt::format("peaks: device {}: expected the host, whose peaks can be measured; run "
                          "with train.device=cpu",
                          device.name()));
  return *backend;
}

// A cache counts as a level if a thread's share of it is larger than that of the level before.
std::vector<MemoryPeak> levels_of(int threads) {
  const int cores = all_cores();
  std::vector<MemoryPeak> levels;
  for (const Cache& cache : data_caches()) {
    const std::int64_t bytes = capacity_of(cache, threads, cores);
    if (levels.empty() || bytes > levels.back().bytes)
      levels.push_back({fmt::format("L{}", cache.level), bytes});
  }
  levels.push_back({"memory"});
  return levels;
}

}  // namespace
}  // namespace cpu

Peaks unmeasured_peaks(const Device& device) {
  Peaks peaks;
  peaks.backend = device.backend().description();
  peaks.levels = cpu::levels_of(cpu::busy_threads(cpu::backend_of(device)));
  peaks.processor = cpu::processor();
  return peaks;
}

Peaks measure_peaks(const Device& device) {
  Peaks peaks = unmeasured_peaks(device);
  const cpu::CpuBackend& backend = cpu::backend_of(device);
  const int threads = cpu::busy_threads(backend);
  peaks.float32.registers = cpu::in_registers<float>(backend);
  peaks.float64.registers = cpu::in_registers<double>(backend);
  // Without an instruction for bfloat16, numbers are widened and multiplied in float32.
  const double tiles = cpu::in_tiles(backend);
  peaks.bfloat16.registers = std::max(cpu::in_registers<BFloat16>(backend), tiles);
  // On tiles a product of float32 is six of bfloat16 (simd/amx.h).
  peaks.float32.registers = std::max(peaks.float32.registers, tiles / 6);
  for (const auto& [dtype, peak] :
       {std::pair{DType::kFloat32, &peaks.float32}, std::pair{DType::kFloat64, &peaks.float64},
        std::pair{DType::kBFloat16, &peaks.bfloat16}})
    peak->gemm = cpu::of_gemm(device, dtype, threads);
  constexpr std::int64_t kMemory = 64 << 20, kAtOnce = 16 << 20;
  std::int64_t largest = kMemory;
  for (MemoryPeak& level : peaks.levels) {
    largest = std::max(largest, 4 * level.bytes);
    const bool is_memory = level.bytes == 0;
    // Half of a cache, so that what else is in it does not disturb.
    const std::int64_t bytes = (is_memory ? largest : level.bytes / 2) / threads;
    level = cpu::measure_level(device, backend, std::move(level), bytes,
                               is_memory ? kAtOnce / threads : bytes);
  }
  return peaks;
}

double present_float32_rate(const Device& device) {
  const cpu::CpuBackend& backend = cpu::backend_of(device);
  constexpr std::int64_t kLonger = 4;  // than a repetition
  std::int64_t turns = 1;
  const auto run = [&] { return cpu::run_loop(backend, cpu::small_products, turns); };
  cpu::make_long_enough(turns, run);
  turns *= kLonger;
  const auto [work, seconds] = run();
  return 2 * work / seconds;
}

}  // namespace fovea
