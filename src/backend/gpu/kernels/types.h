// What a kernel works on. It is compiled once for each dtype: DTYPE_float32 or another is defined.
// Values stored as Stored are computed in Real.

// A tensor among a kernel's parameters: a piece of memory and the number of the first element. A
// body names the elements with OPEN. (OpenCL has no addresses on the host's side.)
#define TENSOR(T, x) GLOBAL T *x##_memory, Index x##_first
#define OPEN(T, x) GLOBAL T* x = x##_memory + x##_first
#define IS_DEFINED(x) (x##_memory != 0)

#ifdef HAVE_FLOAT64
typedef double Wide;
#else
typedef float Wide;
#endif

FUNCTION float float_of_bfloat16(HalfWord bits) { return FLOAT_OF_BITS((Word)bits << 16); }
// To nearest, ties to even; NaN stays NaN.
FUNCTION HalfWord bfloat16_of_float(float value) {
  const Word word = BITS_OF_FLOAT(value);
  if (IS_NAN(value)) return (HalfWord)((word >> 16) | 0x40u);
  return (HalfWord)((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
}

#if defined(DTYPE_float32)
typedef float Stored;
typedef float Real;
#elif defined(DTYPE_float64)
typedef double Stored;
typedef double Real;
#elif defined(DTYPE_bfloat16)
typedef HalfWord Stored;
typedef float Real;
#elif defined(DTYPE_int64)
typedef Index Stored;
typedef Index Real;
#elif defined(DTYPE_int32)
typedef Int32 Stored;
typedef Int32 Real;
#elif defined(DTYPE_uint8)
typedef Byte Stored;
typedef Byte Real;
#endif

// Elements of 16 bytes, which are copied at once.
#define CHUNK ((int)(16 / sizeof(Stored)))

#ifdef DTYPE_bfloat16
FUNCTION Real load(GLOBAL const Stored* x, Index i) { return float_of_bfloat16(x[i]); }
FUNCTION void store(GLOBAL Stored* y, Index i, Real value) { y[i] = bfloat16_of_float(value); }
// Two that lie beside each other.
FUNCTION void widen(Word pair, Real* to) {
  to[0] = FLOAT_OF_BITS(pair << 16);
  to[1] = FLOAT_OF_BITS(pair & 0xffff0000u);
}
#else
FUNCTION Real load(GLOBAL const Stored* x, Index i) { return x[i]; }
FUNCTION void store(GLOBAL Stored* y, Index i, Real value) { y[i] = value; }
#endif
