// Rows of elements, of which a work item takes some at once: a chunk, 16 bytes of what is stored, where
// all rows are made of chunks and begin with one; else one element.

// Of rows of n elements, from addresses that are joined by |.
FUNCTION int elements_at_once(Index n, size_t addresses) {
  return n % CHUNK == 0 && addresses % 16 == 0 ? CHUNK : 1;
}

// Loops over the first elements of what a member of a team takes of a row, and over these elements.
#define EACH_CHUNK(i, at_once, n, team) \
  for (Index i = PLACE % (team) * (at_once); i < (n); i += (team) * (at_once))
#define EACH_OF_CHUNK(e, at_once) \
  UNROLLED                        \
  for (int e = 0; e < CHUNK; ++e) \
    if (e == 0 || (at_once) > 1)

#if defined(DTYPE_bfloat16)
FUNCTION Word narrowed(const Real* of) {
  return bfloat16_of_float(of[0]) | (Word)bfloat16_of_float(of[1]) << 16;
}
FUNCTION void load_four(GLOBAL const Real* x, Real* to) {
  const float4 four = *(GLOBAL const float4*)x;
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}
#endif

FUNCTION void load_chunk(GLOBAL const Stored* x, Index i, int at_once, Real* to) {
  if (at_once == 1) {
    to[0] = load(x, i);
    return;
  }
#if defined(DTYPE_bfloat16)
  const uint4 chunk = *(GLOBAL const uint4*)(x + i);
  widen(chunk.x, to);
  widen(chunk.y, to + 2);
  widen(chunk.z, to + 4);
  widen(chunk.w, to + 6);
#elif defined(DTYPE_float64)
  const double2 chunk = *(GLOBAL const double2*)(x + i);
  to[0] = chunk.x;
  to[1] = chunk.y;
#else
  const float4 chunk = *(GLOBAL const float4*)(x + i);
  to[0] = chunk.x;
  to[1] = chunk.y;
  to[2] = chunk.z;
  to[3] = chunk.w;
#endif
}

// CHUNK elements as they are stored.
#if defined(DTYPE_bfloat16)
typedef uint4 Chunk;
FUNCTION Chunk chunk_of(const Real* of) {
  Chunk chunk;
  chunk.x = narrowed(of);
  chunk.y = narrowed(of + 2);
  chunk.z = narrowed(of + 4);
  chunk.w = narrowed(of + 6);
  return chunk;
}
#elif defined(DTYPE_float64)
typedef double2 Chunk;
FUNCTION Chunk chunk_of(const Real* of) {
  Chunk chunk;
  chunk.x = of[0];
  chunk.y = of[1];
  return chunk;
}
#else
typedef float4 Chunk;
FUNCTION Chunk chunk_of(const Real* of) {
  Chunk chunk;
  chunk.x = of[0];
  chunk.y = of[1];
  chunk.z = of[2];
  chunk.w = of[3];
  return chunk;
}
#endif

FUNCTION void store_chunk(GLOBAL Stored* y, Index i, int at_once, const Real* of) {
  if (at_once == 1) {
    store(y, i, of[0]);
  } else {
    *(GLOBAL Chunk*)(y + i) = chunk_of(of);
  }
}

// Parameters of as many columns.
FUNCTION void load_parameters(GLOBAL const Real* x, Index i, int at_once, Real* to) {
#if defined(DTYPE_bfloat16)
  if (at_once == 1) {
    to[0] = x[i];
  } else {
    load_four(x + i, to);
    load_four(x + i + 4, to + 4);
  }
#else
  load_chunk(x, i, at_once, to);
#endif
}
