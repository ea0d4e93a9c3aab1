// Counter-based random numbers: the bits of tensor/random.h.
#include "types.h"

typedef struct {
  Word words[4];
} Block;

FUNCTION Block philox_block(LongWord key, LongWord counter) {
  Word c0 = (Word)counter, c1 = (Word)(counter >> 32), c2 = 0, c3 = 0;
  Word k0 = (Word)key, k1 = (Word)(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const LongWord p0 = (LongWord)0xD2511F53u * c0;
    const LongWord p1 = (LongWord)0xCD9E8D57u * c2;
    c0 = (Word)(p1 >> 32) ^ c1 ^ k0;
    c2 = (Word)(p0 >> 32) ^ c3 ^ k1;
    c1 = (Word)p1;
    c3 = (Word)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  Block block;
  block.words[0] = c0;
  block.words[1] = c1;
  block.words[2] = c2;
  block.words[3] = c3;
  return block;
}
FUNCTION Wide to_uniform(Word word) { return (Wide)(word >> 8) * (Wide)(1.0 / 16777216); }

KERNEL random_uniform(Index n, LongWord key, Wide low, Wide high, TENSOR(Stored, y)) {
  OPEN(Stored, y);
  if (ITEM >= n) return;
  const Block block = philox_block(key, (LongWord)ITEM / 4);
  store(y, ITEM, (Real)(low + (high - low) * to_uniform(block.words[ITEM % 4])));
}

// One block per try: two of its words make a normal number. Tries of one element have counters of their
// own.
KERNEL random_normal(Index n, LongWord key, Wide mean, Wide stddev, Wide low, Wide high,
                     TENSOR(Stored, y)) {
  OPEN(Stored, y);
  if (ITEM >= n) return;
  const Wide two_pi = (Wide)6.28318530717958647693;
  for (LongWord attempt = 0;; ++attempt) {
    const Block block = philox_block(key, (LongWord)ITEM + (attempt << 48));
    const Wide radius = sqrt(-2 * log1p(-to_uniform(block.words[0])));
    const Wide value = mean + stddev * radius * cos(two_pi * to_uniform(block.words[1]));
    if (value < low || value > high) continue;
    store(y, ITEM, (Real)value);
    return;
  }
}

// Each run of `block` elements is kept or dropped by one draw.
KERNEL dropout(Index n, LongWord key, Real p, Real scale, Index block, TENSOR(const Stored, x),
               TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(Stored, y);
  const Index i = ITEM;
  if (i >= n) return;
  const LongWord draw = (LongWord)(block == 1 ? i : i / block);
  const Real u = (Real)to_uniform(philox_block(key, draw / 4).words[draw % 4]);
  store(y, i, u < p ? (Real)0 : load(x, i) * scale);
}
