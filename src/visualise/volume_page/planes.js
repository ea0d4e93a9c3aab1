// One plane through a case: its slice, its slider and what stands above it.

// The axes of each plane. `upwards`: its rows begin with the last of their axis.
const PLANES = [
  {name: 'axial', across: 0, row: 1, col: 2, upwards: false},
  {name: 'coronal', across: 1, row: 0, col: 2, upwards: true},
  {name: 'sagittal', across: 2, row: 0, col: 1, upwards: true},
];
const CONTOUR = 2;  // pixels

class PlaneView {
  // actions: move(axes and numbers), activate().
  constructor(plane, volume, pixelsPerMm, actions) {
    Object.assign(this, {plane, volume});
    const {size} = volume.info;
    [this.rows, this.cols] = [size[plane.row], size[plane.col]];
    const ratio = Math.max(1, window.devicePixelRatio || 1);
    const wide = volume.extent(plane.col) * pixelsPerMm,
          high = volume.extent(plane.row) * pixelsPerMm;
    this.canvas = make('canvas', {
      width: Math.max(1, Math.round(wide * ratio)),
      height: Math.max(1, Math.round(high * ratio)),
      tabIndex: 0,
      role: 'img',
      'aria-label': `${plane.name} slice`,
    });
    this.canvas.style.width = `${wide}px`;
    this.small = make('canvas', {width: this.cols, height: this.rows});
    this.slider = make('input', {
      type: 'range',
      min: 0,
      max: size[plane.across] - 1,
      step: 1,
      'aria-label': `${plane.name} slice`,
      oninput: () => actions.move({[plane.across]: Number(this.slider.value)}),
    });
    this.where = make('span');
    this.element = make(
        'figure', {className: 'plane'},
        make('figcaption', {}, make('b', {textContent: plane.name}), this.where), this.canvas,
        this.slider);
    this.element.addEventListener('pointerenter', actions.activate);
    this.element.addEventListener('focusin', actions.activate);
    this.listen(actions);
  }

  listen(actions) {
    let turned = 0;
    this.canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      turned += event.deltaMode === 0 ? event.deltaY : 40 * event.deltaY;
      const slices = Math.trunc(turned / 40);
      turned -= 40 * slices;
      if (slices) actions.step(this.plane.across, slices);
    }, {passive: false});
    const pick = (event) => {
      const {row, col, upwards} = this.plane, box = this.canvas.getBoundingClientRect();
      const inside = (share, count) => Math.min(Math.max(Math.floor(share * count), 0), count - 1);
      const y = inside((event.clientY - box.top) / box.height, this.rows);
      const x = inside((event.clientX - box.left) / box.width, this.cols);
      actions.move({[row]: upwards ? this.rows - 1 - y : y, [col]: x});
    };
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      pick(event);
    });
    this.canvas.addEventListener('pointermove', (event) => {
      if (event.buttons & 1) pick(event);
    });
  }

  // The place of a pixel of the slice.
  at(state, y, x) {
    const at = [...state.at];
    at[this.plane.row] = this.plane.upwards ? this.rows - 1 - y : y;
    at[this.plane.col] = x;
    return at;
  }

  paint(state, active) {
    const {plane, volume} = this, {info} = volume, across = plane.across;
    this.element.classList.toggle('active', active);
    this.slider.value = state.at[across];
    this.where.textContent = `slice ${volume.number(across, state.at[across])} of 0\u2013${
        info.full[across] - 1}, ${volume.millimetres(across, state.at[across]).toFixed(1)} mm`;
    this.paintVoxels(state);
    const context = this.canvas.getContext('2d');
    context.imageSmoothingEnabled = false;
    context.drawImage(this.small, 0, 0, this.canvas.width, this.canvas.height);
    if (state.show.has('truth')) this.paintContours(context, state);
    if (state.show.has('cross')) this.paintCross(context, state);
  }

  // Grey, and over it in this order attention, prediction and errors.
  paintVoxels(state) {
    const {volume} = this, picture = new ImageData(this.cols, this.rows);
    const over = (pixel, colour) => {
      for (let c = 0; c < 3; ++c)
        picture.data[pixel + c] +=
            Math.round(state.opacity * (colour[c] - picture.data[pixel + c]));
    };
    for (let y = 0, pixel = 0; y < this.rows; ++y) {
      for (let x = 0; x < this.cols; ++x, pixel += 4) {
        const at = this.at(state, y, x), i = volume.index(at);
        picture.data.fill(volume.grey[i], pixel, pixel + 3);
        picture.data[pixel + 3] = 255;
        if (state.map >= 0) over(pixel, volume.colour(volume.share(state.map, at)));
        const predicted = volume.predicted[i], error = volume.error(i);
        if (state.show.has('prediction') && predicted > 0)
          over(pixel, volume.info.classes[predicted].colour);
        if (state.show.has('errors') && error > 0) over(pixel, data.errors[error - 1].colour);
      }
    }
    this.small.getContext('2d').putImageData(picture, 0, 0);
  }

  // The sides of voxels where the class of the truth ends, inside of it.
  paintContours(context, state) {
    const {truth, info} = this.volume;
    const wide = this.canvas.width / this.cols, high = this.canvas.height / this.rows;
    const label = (y, x) => y < 0 || x < 0 || y >= this.rows || x >= this.cols ?
        -1 :
        truth[this.volume.index(this.at(state, y, x))];
    const paths = info.classes.map(() => new Path2D());
    const inset = CONTOUR / 2;
    for (let y = 0; y < this.rows; ++y) {
      for (let x = 0; x < this.cols; ++x) {
        const k = label(y, x);
        if (k === 0) continue;
        const left = x * wide, right = left + wide, top = y * high, bottom = top + high;
        const line = (x0, y0, x1, y1) => {
          paths[k].moveTo(x0, y0);
          paths[k].lineTo(x1, y1);
        };
        if (label(y - 1, x) !== k) line(left, top + inset, right, top + inset);
        if (label(y + 1, x) !== k) line(left, bottom - inset, right, bottom - inset);
        if (label(y, x - 1) !== k) line(left + inset, top, left + inset, bottom);
        if (label(y, x + 1) !== k) line(right - inset, top, right - inset, bottom);
      }
    }
    context.lineWidth = CONTOUR;
    paths.forEach((path, k) => {
      context.strokeStyle = css(info.classes[k].colour);
      context.stroke(path);
    });
  }

  // Where the other planes are, with a hole around the voxel.
  paintCross(context, state) {
    const {row, col, upwards} = this.plane, {width, height} = this.canvas;
    const x = (state.at[col] + 0.5) / this.cols * width;
    const y =
        ((upwards ? this.rows - 1 - state.at[row] : state.at[row]) + 0.5) / this.rows * height;
    const gap = 10;
    context.strokeStyle = 'rgba(255, 255, 255, 0.55)';
    context.lineWidth = 1;
    context.beginPath();
    for (const [x0, y0, x1, y1] of [
             [0, y, x - gap, y], [x + gap, y, width, y], [x, 0, x, y - gap],
             [x, y + gap, x, height]]) {
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
    }
    context.stroke();
  }
}
