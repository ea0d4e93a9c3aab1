#include "backend/cpu/pieces.h"

#include "tests/support/tensors.h"

using namespace fovea;
using cpu::piece_count;

TEST_CASE("pieces: small problems keep their number, large ones have up to 128", "[backend]") {
  CHECK(piece_count(0, {.few = 16, .least = 100}) == 16);
  CHECK(piece_count(3199, {.few = 16, .least = 100}) == 16);
  CHECK(piece_count(3200, {.few = 16, .least = 100}) == 32);
  CHECK(piece_count(6400, {.few = 16, .least = 100}) == 64);
  CHECK(piece_count(1 << 30, {.few = 16, .least = 100}) == 128);
  CHECK(piece_count(1 << 30, {.few = 32, .least = 100}) == 128);
}

TEST_CASE("pieces: partial sums bound their number, but not below that of small problems",
          "[backend]") {
  const std::int64_t most = cpu::kPartialElements;
  CHECK(piece_count(1 << 30, {.few = 16, .least = 1, .size = most / 64}) == 64);
  CHECK(piece_count(1 << 30, {.few = 16, .least = 1, .size = most / 64 + 1}) == 32);
  CHECK(piece_count(1 << 30, {.few = 16, .least = 1, .size = most}) == 16);
}

TEST_CASE("pieces: chunks cover all units", "[backend]") {
  const cpu::Chunks cut(100, 10, 64);
  CHECK(cut.chunk == 2);
  CHECK(cut.chunks == 50);
  const cpu::Chunks large(100, cpu::kPartialElements, 64);
  CHECK(large.chunks == 1);
}
