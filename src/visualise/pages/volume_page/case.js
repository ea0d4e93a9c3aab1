// The voxels of one case. volume_page.h describes how they are stored: a zlib stream in base64 of
// values (one or two bytes a voxel), truth (of cases that have one) and prediction, then the maps on
// grids of their own.

const product = ([a, b, c]) => a * b * c;

class Case {
  static async load(info, base64) {
    return new Case(info, new Uint8Array(await inflate(base64)));
  }

  constructor(info, bytes) {
    this.info = info;
    const voxels = product(info.size), places = product(info.map_size);
    const deep = info.steps > 255 ? 1 : 0;
    const plane = (k) => bytes.subarray(k * voxels, (k + 1) * voxels);
    this.steps = plane(0);
    if (deep) {
      this.steps = Uint16Array.from(this.steps);
      plane(1).forEach((high, i) => this.steps[i] |= high << 8);
    }
    let next = 1 + deep;
    this.truth = info.truth ? plane(next++) : null;
    this.predicted = plane(next++);
    const maps = next * voxels;
    this.maps =
        info.maps.map((_, k) => bytes.subarray(maps + k * places, maps + (k + 1) * places));
    this.strides = [info.size[1] * info.size[2], info.size[2], 1];
    this.greys = new Uint8Array(info.steps + 1);
    this.look(...info.window);
  }

  // Values up to `low` are black from now on, those from `high` on white.
  look(low, high) {
    const [least, largest] = this.info.range, {steps} = this.info;
    for (let k = 0; k <= steps; ++k) {
      const value = least + k / steps * (largest - least);
      const share = high > low ? (value - low) / (high - low) : value >= high ? 1 : 0;
      this.greys[k] = Math.floor(255 * Math.min(Math.max(share, 0), 1) + 0.5);
    }
  }
  grey(i) {
    return this.greys[this.steps[i]];
  }
  value(i) {
    const [least, largest] = this.info.range;
    return least + this.steps[i] / this.info.steps * (largest - least);
  }

  // Of the i-th voxel that is kept along an axis: its number in the volume, and in the file, and
  // how far it is from the file's first.
  number(axis, i) {
    return i * this.info.step[axis] + Math.floor(this.info.step[axis] / 2);
  }
  inFile(axis, i) {
    const {start, step, size} = this.info.file[axis];
    return Math.min(Math.max(Math.floor(start + this.number(axis, i) * step + 0.5), 0), size - 1);
  }
  millimetres(axis, i) {
    const {start, step} = this.info.file[axis];
    return (start + this.number(axis, i) * step) * this.info.spacing[axis] / Math.abs(step);
  }
  // Slice, row and column of the file.
  fileVoxel(at) {
    const voxel = [0, 0, 0];
    at.forEach((i, axis) => voxel[this.info.file[axis].axis] = this.inFile(axis, i));
    return voxel;
  }
  // Of an axis, in millimetres.
  extent(axis) {
    return this.info.full[axis] * this.info.spacing[axis];
  }
  index([d, h, w]) {
    return d * this.strides[0] + h * this.strides[1] + w;
  }

  // 0: right or not known, 1: false positive, 2: false negative, 3: wrong class.
  error(i) {
    if (!this.truth) return 0;
    const truth = this.truth[i], predicted = this.predicted[i];
    if (truth === predicted) return 0;
    return truth === 0 ? 1 : predicted === 0 ? 2 : 3;
  }

  // The colour of such a share.
  colour(share) {
    return colourOf(this.info.palette, this.info.signed ? (share + 1) / 2 : share);
  }

  // The places of a map on both sides of a voxel along an axis, and the share of the second.
  between(axis, i) {
    const last = this.info.map_size[axis] - 1;
    const place = (this.number(axis, i) + 0.5) / this.info.map_step[axis] - 0.5;
    const clamped = Math.min(Math.max(place, 0), last), lower = Math.floor(clamped);
    return [lower, Math.min(lower + 1, last), clamped - lower];
  }

  // A map at a voxel, as a share of its limit: linear between its places.
  share(map, at) {
    const sides = at.map((i, axis) => this.between(axis, i));
    const [, height, width] = this.info.map_size, values = this.maps[map];
    let sum = 0;
    for (let corner = 0; corner < 8; ++corner) {
      let weight = 1, place = 0;
      sides.forEach(([lower, upper, share], axis) => {
        const far = corner >> axis & 1;
        weight *= far ? share : 1 - share;
        place = place * (axis === 1 ? height : axis === 2 ? width : 1) + (far ? upper : lower);
      });
      if (weight > 0) sum += weight * values[place];
    }
    return this.info.signed ? (sum - 128) / 127 : sum / 255;
  }
}
