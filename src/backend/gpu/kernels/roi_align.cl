// RoIAlign (RoiAlignArgs of fused_args.h). The gradient of a place is gathered from the boxes over it, in
// their order: nothing is added atomically.
#include "types.h"

// One side of a box: where it begins and how its bins are sampled.
typedef struct {
  Wide first, bin, step;
  Index bins, samples, length;
} RoiSide;

// The place of a coordinate: 1 to 4 are x1, y1, x2, y2.
FUNCTION Wide place_of(GLOBAL const float* box, int coordinate, Wide scale) {
  return (Wide)box[coordinate] * scale - (Wide)0.5;
}

FUNCTION RoiSide side_of(const RoiShape* s, int axis, Wide scale, GLOBAL const float* box) {
  const Wide last = place_of(box, axis == 0 ? 4 : 3, scale);
  RoiSide side;
  side.first = place_of(box, axis == 0 ? 2 : 1, scale);
  side.bins = s->bins[axis];
  side.length = s->size[axis];
  side.bin = (last - side.first) / (Wide)side.bins;
  side.samples = s->sampling_ratio;
  if (side.samples == 0 && side.bin > 0 && side.bin < (Wide)1e9)
    side.samples = (Index)ceil(side.bin);
  side.step = side.bin / (Wide)side.samples;
  return side;
}

// The samples [begin, end) of a bin that may lie between two places; of a large box they are few.
typedef struct {
  Index begin, end;
} Samples;

FUNCTION Wide held(Wide x, Wide low, Wide high) { return x > low ? (x < high ? x : high) : low; }
FUNCTION Wide begin_of(const RoiSide* side, Index bin) {
  return side->first + (Wide)bin * side->bin;
}
FUNCTION Samples samples_between(const RoiSide* side, Index bin, Wide low, Wide high) {
  Samples found;
  found.begin = 0;
  found.end = side->samples;
  if (side->step > 0) {
    const Wide begin = begin_of(side, bin), most = (Wide)side->samples;
    found.begin = (Index)held((low - begin) / side->step - 1, 0, most);
    found.end = (Index)ceil(held((high - begin) / side->step + 1, 0, most));
  }
  return found;
}

// Where a sample reads; -1: outside.
FUNCTION Wide sample_place(const RoiSide* side, Index bin, Index sample) {
  const Wide place = begin_of(side, bin) + ((Wide)sample + (Wide)0.5) * side->step;
  if (!(place >= -1 && place <= (Wide)side->length)) return -1;
  return held(place, 0, (Wide)(side->length - 1));
}

KERNEL roi_align(RoiShape s, Wide scale, TENSOR(const float, boxes), TENSOR(const Index, rows),
                 TENSOR(const Stored, x), TENSOR(Stored, y)) {
  OPEN(const float, boxes);
  OPEN(const Index, rows);
  OPEN(const Stored, x);
  OPEN(Stored, y);
  const Index bins = s.bins[0] * s.bins[1];
  const Index number = ITEM / (bins * s.channels);
  if (number >= s.boxes) return;
  GLOBAL const float* box = boxes + 5 * number;
  const Index item = (Index)box[0];
  const Index to = (rows[number] * s.channels + ITEM / bins % s.channels) * bins + ITEM % bins;
  if (!(item >= 0 && item < s.batch)) {
    store(y, to, (Real)NAN);  // nobody else can complain
    return;
  }
  const RoiSide down = side_of(&s, 0, scale, box);
  const RoiSide across = side_of(&s, 1, scale, box);
  const Index row = ITEM % bins / s.bins[1];
  const Index column = ITEM % s.bins[1];
  const Index plane = (item * s.channels + ITEM / bins % s.channels) * s.size[0] * s.size[1];
  const Samples of_rows = samples_between(&down, row, -1, (Wide)s.size[0]);
  const Samples of_columns = samples_between(&across, column, -1, (Wide)s.size[1]);
  Real sum = 0;
  for (Index i = of_rows.begin; i < of_rows.end; ++i) {
    const Wide v = sample_place(&down, row, i);
    if (v < 0) continue;
    const Index top = (Index)v;
    const Index below = top + 1 < s.size[0] ? top + 1 : top;
    const Real by_row = (Real)(v - (Wide)top);
    for (Index j = of_columns.begin; j < of_columns.end; ++j) {
      const Wide u = sample_place(&across, column, j);
      if (u < 0) continue;
      const Index left = (Index)u;
      const Index right = left + 1 < s.size[1] ? left + 1 : left;
      const Real by_column = (Real)(u - (Wide)left);
      const Index first = plane + top * s.size[1];
      const Index second = plane + below * s.size[1];
      const Real above = (1 - by_column) * load(x, first + left) + by_column * load(x, first + right);
      const Real under =
          (1 - by_column) * load(x, second + left) + by_column * load(x, second + right);
      sum += (1 - by_row) * above + by_row * under;
    }
  }
  const Index samples = down.samples * across.samples;
  store(y, to, samples > 0 ? sum / (Real)samples : (Real)0);
}

// The weight of a pixel in a bin.
FUNCTION Wide weight_of(const RoiSide* side, Index bin, Index pixel) {
  const Wide at = (Wide)pixel;
  const Samples near = samples_between(side, bin, at - 1, at + 1);
  Wide sum = 0;
  for (Index i = near.begin; i < near.end; ++i) {
    const Wide place = sample_place(side, bin, i);
    const Wide apart = place > at ? place - at : at - place;
    if (place >= 0 && apart < 1) sum += 1 - apart;
  }
  return side->samples > 0 ? sum / (Wide)side->samples : 0;
}

// Whether any sample between two places may read a pixel.
FUNCTION int reaches(Wide first, Wide last, Index pixel) {
  const Wide at = (Wide)pixel;
  return (first < last ? first : last) <= at + 1 && (first < last ? last : first) >= at - 1;
}
FUNCTION int bin_reaches(const RoiSide* side, Index bin, Index pixel) {
  return reaches(begin_of(side, bin), begin_of(side, bin + 1), pixel);
}

// A work item makes the gradients at one place of ROI_PLANES planes.
KERNEL roi_align_backward(RoiShape s, Wide scale, TENSOR(const float, boxes),
                          TENSOR(const Index, rows), TENSOR(const Stored, dy),
                          TENSOR(Stored, dx)) {
  OPEN(const float, boxes);
  OPEN(const Index, rows);
  OPEN(const Stored, dy);
  OPEN(Stored, dx);
  const Index space = s.size[0] * s.size[1];
  const Index blocks = (s.channels + ROI_PLANES - 1) / ROI_PLANES;
  const Index item = ITEM / (space * blocks);
  if (item >= s.batch) return;
  const Index channel = ITEM / space % blocks * ROI_PLANES;
  const Index h = ITEM % space / s.size[1];
  const Index w = ITEM % s.size[1];
  const Index bins = s.bins[0] * s.bins[1];
  Real sums[ROI_PLANES];
  UNROLLED for (int k = 0; k < ROI_PLANES; ++k) sums[k] = 0;
  for (Index number = 0; number < s.boxes; ++number) {
    GLOBAL const float* box = boxes + 5 * number;
    if ((Index)box[0] != item) continue;
    // (Most boxes are elsewhere: sides cost divisions.)
    if (!reaches(place_of(box, 2, scale), place_of(box, 4, scale), h) ||
        !reaches(place_of(box, 1, scale), place_of(box, 3, scale), w))
      continue;
    const RoiSide down = side_of(&s, 0, scale, box);
    const RoiSide across = side_of(&s, 1, scale, box);
    const Index from = (rows[number] * s.channels + channel) * bins;
    for (Index i = 0; i < s.bins[0]; ++i) {
      const Wide by_row = bin_reaches(&down, i, h) ? weight_of(&down, i, h) : 0;
      if (by_row == 0) continue;
      for (Index j = 0; j < s.bins[1]; ++j) {
        const Wide weight = bin_reaches(&across, j, w) ? by_row * weight_of(&across, j, w) : 0;
        if (weight == 0) continue;
        UNROLLED for (int k = 0; k < ROI_PLANES; ++k) {
          if (channel + k < s.channels)
            sums[k] += (Real)weight * load(dy, from + k * bins + i * s.bins[1] + j);
        }
      }
    }
  }
  UNROLLED for (int k = 0; k < ROI_PLANES; ++k) {
    if (channel + k >= s.channels) continue;
    const Index to = (item * s.channels + channel + k) * space + h * s.size[1] + w;
    store(dx, to, s.add ? load(dx, to) + sums[k] : sums[k]);
  }
}
