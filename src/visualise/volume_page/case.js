// The voxels of one case. volume_page.h describes how they are stored: a zlib stream in base64 of a
// byte a voxel: intensities, truth, prediction, then the maps on grids of their own.

const product = ([a, b, c]) => a * b * c;

class Case {
  static async load(info, base64) {
    return new Case(info, new Uint8Array(await inflate(base64)));
  }

  constructor(info, bytes) {
    this.info = info;
    const voxels = product(info.size), places = product(info.map_size);
    const plane = (k) => bytes.subarray(k * voxels, (k + 1) * voxels);
    [this.grey, this.truth, this.predicted] = [plane(0), plane(1), plane(2)];
    this.maps = info.maps.map(
        (_, k) => bytes.subarray(3 * voxels + k * places, 3 * voxels + (k + 1) * places));
    this.strides = [info.size[1] * info.size[2], info.size[2], 1];
  }

  // Of the i-th voxel that is kept along an axis: its number in the volume, and its place.
  number(axis, i) {
    return i * this.info.step[axis] + Math.floor(this.info.step[axis] / 2);
  }
  millimetres(axis, i) {
    return this.info.origin[axis] + this.number(axis, i) * this.info.spacing[axis];
  }
  // Of an axis, in millimetres.
  extent(axis) {
    return this.info.full[axis] * this.info.spacing[axis];
  }
  index([d, h, w]) {
    return d * this.strides[0] + h * this.strides[1] + w;
  }

  // 0: right, 1: false positive, 2: false negative, 3: wrong class.
  error(i) {
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
