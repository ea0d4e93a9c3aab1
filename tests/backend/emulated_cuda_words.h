// The words of our kernels (kernels/opencl.h, cuda.h) in C++, for fibers of one thread of the host,
// and CUDA's tensor cores. Warnings are left to nvcc.
#pragma GCC system_header

#include <math.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <utility>

#include "backend/gpu/cuda/kernel_by_dtype.h"
#include "backend/gpu/kernels/structs.h"
#include "backend/gpu/runtime.h"
#include "base/error.h"

#define HAVE_FLOAT64
#define KERNEL [[maybe_unused]] static void
#define LARGE_KERNEL KERNEL
#define GLOBAL
// One group runs at a time. The section has all of it in one place, to be poisoned.
#define LOCAL __attribute__((section("fovea_local_memory"), aligned(16))) static
#define SHARED
#define FUNCTION [[maybe_unused]] static inline
#define UNROLLED
#define ONE_BY_ONE
#define NO_EARLIER
#define SYNCHRONIZE synchronize({__FILE__, __LINE__})
#define SHUFFLE_XOR(value, mask) shuffle_xor({__FILE__, __LINE__}, value, mask)

#define PLACE (work_item.place)
#define GROUP (work_item.group)
#define ITEM (GROUP * GROUP_SIZE + PLACE)

#define FLOAT_OF_BITS(word) std::bit_cast<float>((Word)(word))
#define BITS_OF_FLOAT(value) std::bit_cast<Word>((float)(value))
#define IS_FINITE(value) std::isfinite(value)
#define IS_NAN(value) std::isnan(value)

#define TENSOR_CORES

namespace fovea::gpu::emulated {

typedef std::uint32_t Word;
typedef unsigned long long LongWord;
typedef std::uint16_t HalfWord;
typedef std::uint8_t Byte;

struct alignas(16) uint4 {
  Word x, y, z, w;
};
// A card stops where 16 bytes are read or written at once at no multiple of 16. (Of these numbers
// alone that is seen: looking at the others, which attention copies all the time, is slow.)
inline bool is_misaligned = false;
struct alignas(16) float4 {
  float x, y, z, w;
  float4() = default;
  float4(const float4& from) { *this = from; }
  float4& operator=(const float4& from) {
    for (const float4* at : {&from, static_cast<const float4*>(this)})
      is_misaligned |= reinterpret_cast<std::uintptr_t>(at) % 16 != 0;
    std::memcpy(this, &from, sizeof(float4));
    return *this;
  }
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) double2 {
  double x, y;
};

struct WorkItem {
  int place = 0;
  Index group = 0;
};
inline WorkItem work_item;  // that runs

class Barrier;
// Lets other work items run until the barrier is no longer in this generation.
inline std::function<void(const Barrier&, int generation)> let_others_run;

class Barrier {
 public:
  explicit Barrier(int size) : size_(size) {}
  int generation() const { return generation_; }
  void wait() {
    const int mine = generation_;
    if (++arrived_ == size_) {
      arrived_ = 0;
      ++generation_;
    }
    if (generation_ == mine) let_others_run(*this, mine);
  }
  // For a new group: of the last one some may have been left waiting.
  void begin() { arrived_ = 0; }

 private:
  int size_, arrived_ = 0, generation_ = 0;
};
inline Barrier group_barrier(GROUP_SIZE);

// Where a kernel synchronizes: a line of its text.
struct Place {
  const char* file;
  int line;
};
inline bool (*is_left_out)(Place) = nullptr;  // set while tests watch barriers or take one out
inline void synchronize(Place place) {
  if (is_left_out == nullptr || !is_left_out(place)) group_barrier.wait();
}

// What the lanes of a warp show each other: one place is read while the other is written.
struct Shown {
  std::array<const HalfWord*, 32> rows;
  std::array<std::array<Word, 4>, 32> a;
  std::array<std::array<Word, 2>, 32> b;
  std::array<std::uint64_t, 32> values;
};
struct Warp {
  Barrier barrier{32};
  Shown shown[2];
  Shown& place() { return shown[barrier.generation() % 2]; }
};
inline Warp warps[GROUP_SIZE / 32];
inline Warp& warp() { return warps[work_item.place / 32]; }
inline int lane() { return work_item.place % 32; }

// __shfl_xor_sync of a whole warp. Where it is taken out, it is for one lane: the others wait.
template <class T>
T shuffle_xor(Place place, T value, int mask) {
  if (is_left_out != nullptr && is_left_out(place) && lane() == 0) return value;
  Shown& all = warp().place();
  std::memcpy(&all.values[lane()], &value, sizeof(T));
  warp().barrier.wait();
  T other;
  std::memcpy(&other, &all.values[lane() ^ mask], sizeof(T));
  return other;
}

// ldmatrix.m8n8.x4: thread 8 i + r points at row r of matrix i, and gets elements
// (t / 4, 2 (t % 4)) and (t / 4, 2 (t % 4) + 1), of the transposed matrix with .trans.
inline void load_matrices(const void* row, Word* fragment, bool transposed = false) {
  Shown& all = warp().place();
  all.rows[lane()] = static_cast<const HalfWord*>(row);
  warp().barrier.wait();
  const int r = lane() / 4, c = lane() % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    const HalfWord low = transposed ? all.rows[8 * i + c][r] : all.rows[8 * i + r][c];
    const HalfWord high = transposed ? all.rows[8 * i + c + 1][r] : all.rows[8 * i + r][c + 1];
    fragment[i] = static_cast<Word>(low) | static_cast<Word>(high) << 16;
  }
}
inline void load_transposed_matrices(const void* row, Word* fragment) {
  load_matrices(row, fragment, true);
}

// mma.m16n8kK of elements of 32 / PACKED bits. The tables of the PTX ISA, with groupID = t / 4 and
// threadID_in_group = t % 4.
//   m16n8k16, 16 bits: a_i at row groupID for i in {0, 1, 4, 5}, else groupID + 8, and column
//     2 threadID_in_group + i % 2, + 8 for i >= 4; b_i at row 2 threadID_in_group + i % 2, + 8 for
//     i >= 2, and column groupID.
//   m16n8k8, 32 bits: a_i at row groupID for i in {0, 2}, else groupID + 8, and column
//     threadID_in_group, + 4 for i >= 2; b_i at row threadID_in_group, + 4 for i = 1, and column
//     groupID.
//   c_i at row groupID for i < 2, else groupID + 8, and column 2 threadID_in_group + i % 2.
template <int kPacked, class Value>
void multiply_add(const Word* a, Word b0, Word b1, float* sums, const Value& value) {
  constexpr int kDepth = 8 * kPacked;
  Shown& all = warp().place();
  std::copy(a, a + 4, all.a[lane()].begin());
  all.b[lane()] = {b0, b1};
  warp().barrier.wait();
  float left[16][kDepth], right[kDepth][8];
  for (int t = 0; t < 32; ++t) {
    const int group = t / 4, in_group = t % 4;
    for (int i = 0; i < 4 * kPacked; ++i) {
      const bool upper = kPacked == 2 ? i == 0 || i == 1 || i == 4 || i == 5 : i == 0 || i == 2;
      const int column =
          kPacked == 2 ? 2 * in_group + i % 2 + (i >= 4 ? 8 : 0) : in_group + (i >= 2 ? 4 : 0);
      left[upper ? group : group + 8][column] = value(all.a[t].data(), i);
    }
    for (int i = 0; i < 2 * kPacked; ++i) {
      const int row =
          kPacked == 2 ? 2 * in_group + i % 2 + (i >= 2 ? 8 : 0) : in_group + (i >= 1 ? 4 : 0);
      right[row][group] = value(all.b[t].data(), i);
    }
  }
  for (int i = 0; i < 4; ++i) {
    const int row = lane() / 4 + (i < 2 ? 0 : 8), column = 2 * (lane() % 4) + i % 2;
    for (int k = 0; k < kDepth; ++k) sums[i] += left[row][k] * right[k][column];
  }
}
inline void multiply_add_bfloat16(const Word* a, Word b0, Word b1, float* sums) {
  multiply_add<2>(a, b0, b1, sums, [](const Word* words, int i) {
    return FLOAT_OF_BITS(words[i / 2] >> (i % 2 * 16) << 16);
  });
}
inline void multiply_add_tf32(const Word* a, Word b0, Word b1, float* sums) {
  multiply_add<1>(a, b0, b1, sums,
                  [](const Word* words, int i) { return FLOAT_OF_BITS(words[i]); });
}
// To nearest, ties away from zero: 13 bits of the mantissa go.
inline Word tf32_of_float(float value) { return (BITS_OF_FLOAT(value) + 0x1000u) & ~0x1fffu; }

using Launched = void (*)(std::span<const Argument> arguments);

template <class... Parameters, std::size_t... kIndex>
void call(void (*kernel)(Parameters...), std::span<const Argument> arguments,
          std::index_sequence<kIndex...>) {
  const auto value = []<class T>(const Argument& argument, T*) {
    T copy;
    std::memcpy(&copy, argument.bytes, sizeof(T));
    return copy;
  };
  kernel(value(arguments[kIndex], static_cast<Parameters*>(nullptr))...);
}
template <class... Parameters>
void call(void (*kernel)(Parameters...), std::span<const Argument> arguments) {
  FOVEA_CHECK(arguments.size() == sizeof...(Parameters), BackendError, "emulated: arguments");
  call(kernel, arguments, std::index_sequence_for<Parameters...>());
}

#define LAUNCHED(kernel) [](std::span<const Argument> arguments) { call(&kernel, arguments); }
#include "gpu_kernels/all_files.h"

}  // namespace fovea::gpu::emulated
