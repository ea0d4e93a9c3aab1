// The operations of operations.def as numbers: UnaryExp, BinaryMax, ReduceMax.
#define FOVEA_UNARY(name) Unary##name,
enum {
#include "operations.def"
};
#define FOVEA_BINARY(name) Binary##name,
enum {
#include "operations.def"
};
#define FOVEA_REDUCE(name) Reduce##name,
enum {
#include "operations.def"
};
