// What kernels are handed by value. Read by kernels and by the host, with the same layout: Index is
// a signed integer of 64 bits, Int32 one of 32.

#ifndef FOVEA_GPU_STRUCTS
#define FOVEA_GPU_STRUCTS

#ifdef __cplusplus
#include <cstdint>
namespace fovea::gpu {
using Index = std::int64_t;
using Int32 = std::int32_t;
#endif

#define MAX_AXES 8
#define GROUP_SIZE 256   // work items of a group, in every kernel
#define WARP 32          // work items of a group that stand together
#define PRODUCT_TILE 64  // rows and columns of a product that a group makes

#define ATTENTION_ROWS 64    // queries, or keys, of which a group makes the results
#define ATTENTION_OTHERS 32  // keys, or queries, that it meets at a time
#define ATTENTION_WIDTH 128  // channels that a head has at most

// A walk over an output and the operands it is made of, neighbouring axes joined: outermost axis
// first. steps[k]: elements of operand k from one index to the next, 0 where it is repeated.
typedef struct {
  Index count;  // elements of the output
  Index axes;
  Index sizes[MAX_AXES];
  Index steps[3][MAX_AXES];
} Walk;

// Three axes: depth, height, width; leading ones of size 1 where there are fewer.
typedef struct {
  Index in[3], out[3], kernel_size[3], stride[3], padding[3], dilation[3];
  Index batch, in_channels, out_channels, groups;
} ConvShape;

typedef struct {
  Index in[3], out[3], kernel_size[3], stride[3], padding[3];
  Index planes;
  Int32 average, count_padding, adaptive, writes_argmax;
} PoolShape;

typedef struct {
  Index in[3], out[3];
  Index planes;
  Int32 linear, align_corners;
} ResizeShape;

#define ROI_PLANES 8  // of a map, whose gradients at one place a work item makes

// Boxes on maps (batch, channels, size), in bins (channels, bins); of height and width.
typedef struct {
  Index boxes, batch, channels, sampling_ratio;
  Index size[2], bins[2];
  Int32 add;  // backward adds to the gradient that is there
} RoiShape;

// x (outer, length, inner) looked up along the middle axis by index (outer, entries, inner).
typedef struct {
  Index outer, length, entries, inner;
} Lookup;

// c = op(a) op(b) (+ bias) for every item of a batch; element (i, j) of an operand is i row + j
// column elements into its item.
typedef struct {
  Index m, n, k;
  Index a_row, a_column, a_item;
  Index b_row, b_column, b_item;
  Index c_row, c_item;
} ProductShape;

// Rows of n elements, each shared by a team of work items (group.h).
typedef struct {
  Index count, n;
  Int32 team;
} Rows;

// Where a gate and what it multiplies begin, and how far apart their rows are.
typedef struct {
  Index gate, other, ld;
} GatedRows;

// A map (batch, channels, space) that is normed by channel (groups = 0), or by item and group of
// channels. A plane is summed in `pieces` pieces of `piece` elements, the last one shorter.
typedef struct {
  Index batch, channels, space, groups;
  Index piece, pieces;
  Int32 relu;
} Planes;

// Tokens on a grid of three axes, channels last.
typedef struct {
  Index size[3], kernel_size[3];
  Index batch, channels;
} TokenGrid;

#define REGION_PIECE 8192  // pixels that a group sums

// Pixels of images with a class each; those whose target is ignore_index do not count.
typedef struct {
  Index batch, classes, pixels, pieces, ignore_index;
  Int32 sigmoid;
} Region;

#define LIST_TENSORS 16   // of a list, in one launch
#define LIST_PIECE 8192   // elements that a group sums
#define UPDATE_TENSORS 8  // the same of a list that is updated
#define UPDATE_PIECE 2048

// Groups [first_piece[k], first_piece[k + 1]) work on tensor k, which has sizes[k] elements.
typedef struct {
  Index sizes[LIST_TENSORS], first_piece[LIST_TENSORS + 1];
} List;

// Where heads are: head h of item b at token t begins at element b item + t token + first + h / per
// outer + h % per inner.
typedef struct {
  Index item, token, first, per, outer, inner;
} HeadWalk;

// Attention of one call (fused_args.h): of `heads` heads in all, those first_head + i head_step for
// i < count. Tokens of an item are cut into units; there is one unit unless a table says which.
typedef struct {
  Index batch, units, heads, queries, keys, tokens;
  Index first_head, head_step, count;
  HeadWalk q[2], k[2], v;
  Int32 dim, width, maps, causal, add, padding_attends;
} AttentionShape;

// What linear attention makes of queries and keys first, in the order of FeatureMap (fused_args.h).
enum { FeatureNone, FeatureEluPlusOne, FeatureRelu, FeatureExp };

#define LINEAR_ROWS 64    // tokens of which a group makes the results; causal, those of a piece
#define LINEAR_WIDTH 128  // channels that a head has at most
#define LINEAR_DEPTH(dim) (((dim) + 7) / 8 * 8)  // rows of a map in a head's sums as they are cut
#define LINEAR_STATS 7    // numbers of a query: f of both maps, -g, z of both, dz of both

// Linear attention of one call (fused_args.h). The sums over keys, or queries, are made in `pieces`
// pieces of `piece` tokens. by_beta, by_gamma: by their formulas.
typedef struct {
  Index batch, heads, queries, keys, piece, pieces;
  HeadWalk q[2], k[2], v, residual, gate, out;
  Int32 dim, width, maps, features, causal, add;
  Int32 by_magnitude, over_keys, by_beta, by_gamma, at_least_eps, gate_op;
} LinearShape;

// A run of axes that is reduced: x seen as (outer, length, inner), cut into `chunks` pieces of
// `chunk`.
typedef struct {
  Index outer, length, inner, chunk, chunks;
  Int32 op, first_pass;  // squares are made of the first pass's elements only
} RunShape;

#ifdef __cplusplus
}  // namespace fovea::gpu
#endif
#endif
