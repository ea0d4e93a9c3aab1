// One plane through a case: its slice, its slider and what stands above it. A plane as the page
// describes it: {name, across, row, col: axes of the volume, rows_reversed, cols_reversed, and the
// letters at its edges: top, bottom, left, right}.

const CONTOUR = 2;  // pixels

class PlaneView {
  // actions: move(axes and numbers), activate(), step(axis, by), zoom(factor, centre),
  // shift(voxels along axes), look(shares of the range).
  constructor(plane, volume, actions) {
    Object.assign(this, {plane, volume});
    const {size} = volume.info;
    [this.rows, this.cols] = [size[plane.row], size[plane.col]];
    [this.wide, this.high] = [volume.extent(plane.col), volume.extent(plane.row)];
    this.canvas = make(
        'canvas', {tabIndex: 0, role: 'img', 'aria-label': `${plane.name} slice`});
    this.small = make('canvas', {width: this.cols, height: this.rows});
    this.part = {left: 0, top: 0, cols: this.cols, rows: this.rows};
    this.slider = make('input', {
      type: 'range',
      min: 0,
      max: size[plane.across] - 1,
      step: 1,
      'aria-label': `${plane.name} slice`,
      oninput: () => actions.move({[plane.across]: Number(this.slider.value)}),
    });
    this.where = make('span');
    const edges = ['top', 'bottom', 'left', 'right'].map(
        (edge) => make('span', {className: `edge ${edge}`, textContent: plane[edge]}));
    this.element = make(
        'figure', {className: 'plane'},
        make('figcaption', {}, make('b', {textContent: plane.name}), this.where),
        make('div', {className: 'slice'}, this.canvas, ...edges), this.slider);
    this.element.addEventListener('pointerenter', actions.activate);
    this.element.addEventListener('focusin', actions.activate);
    this.listenToWheel(actions);
    this.listenToPointer(actions);
  }

  // So many pixels of the page for a millimetre.
  resize(pixelsPerMm) {
    const ratio = Math.max(1, window.devicePixelRatio || 1);
    const [wide, high] = [this.wide * pixelsPerMm, this.high * pixelsPerMm];
    this.canvas.width = Math.max(1, Math.round(wide * ratio));
    this.canvas.height = Math.max(1, Math.round(high * ratio));
    this.canvas.style.width = `${wide}px`;
    this.element.style.width = `${wide}px`;
  }

  listenToWheel(actions) {
    let turned = 0;
    this.canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      const delta = event.deltaMode === 0 ? event.deltaY : 40 * event.deltaY;
      if (event.ctrlKey || event.metaKey) {
        actions.zoom(Math.exp(-delta / 300), this.underPointer(event));
        return;
      }
      turned += delta;
      const slices = Math.trunc(turned / 40);
      turned -= 40 * slices;
      if (slices) actions.step(this.plane.across, slices);
    }, {passive: false});
  }

  listenToPointer(actions) {
    const drag = (event) => {
      if (event.buttons & 2) {
        const {width} = this.canvas.getBoundingClientRect();
        actions.look(event.movementX / width, -event.movementY / width);
      } else if (event.buttons & 4 || (event.buttons & 1 && event.shiftKey)) {
        const box = this.canvas.getBoundingClientRect(), {row, col} = this.plane;
        actions.shift({
          [row]: this.turn('rows', -event.movementY / box.height * this.part.rows),
          [col]: this.turn('cols', -event.movementX / box.width * this.part.cols),
        });
      } else if (event.buttons & 1) {
        this.pick(event, actions);
      }
    };
    this.canvas.addEventListener('contextmenu', (event) => event.preventDefault());
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      if (event.buttons & 1 && !event.shiftKey) this.pick(event, actions);
    });
    this.canvas.addEventListener('pointermove', drag);
  }

  turn(sides, by) {
    return this.plane[`${sides}_reversed`] ? -by : by;
  }

  // Place on the axes of the rows and columns, in voxels and parts of them.
  underPointer(event) {
    const {row, col, rows_reversed, cols_reversed} = this.plane;
    const box = this.canvas.getBoundingClientRect();
    const y = this.part.top + (event.clientY - box.top) / box.height * this.part.rows;
    const x = this.part.left + (event.clientX - box.left) / box.width * this.part.cols;
    return {
      [row]: rows_reversed ? this.rows - y : y,
      [col]: cols_reversed ? this.cols - x : x,
    };
  }

  pick(event, actions) {
    const place = this.underPointer(event), {size} = this.volume.info;
    for (const axis of [this.plane.row, this.plane.col])
      place[axis] = Math.min(Math.max(Math.floor(place[axis]), 0), size[axis] - 1);
    actions.move(place);
  }

  // The place of a pixel of the slice.
  at(state, y, x) {
    const at = [...state.at], {row, col, rows_reversed, cols_reversed} = this.plane;
    at[row] = rows_reversed ? this.rows - 1 - y : y;
    at[col] = cols_reversed ? this.cols - 1 - x : x;
    return at;
  }

  // The part of the slice that is seen, in its pixels.
  see({zoom, centre}) {
    const {row, col, rows_reversed, cols_reversed} = this.plane;
    const side = (count, middle, reversed) => {
      const seen = count / zoom, from = (reversed ? count - middle : middle) - seen / 2;
      return [Math.min(Math.max(from, 0), count - seen), seen];
    };
    const [top, rows] = side(this.rows, centre[row], rows_reversed);
    const [left, cols] = side(this.cols, centre[col], cols_reversed);
    this.part = {left, top, cols, rows};
  }

  paint(state, active) {
    const {plane, volume} = this, {info} = volume, across = plane.across;
    this.element.classList.toggle('active', active);
    this.slider.value = state.at[across];
    this.where.textContent = `slice ${volume.inFile(across, state.at[across])} of 0\u2013${
        info.file[across].size - 1}, ${volume.millimetres(across, state.at[across]).toFixed(1)} mm`;
    this.see(state);
    this.paintVoxels(state);
    const context = this.canvas.getContext('2d'), {left, top, cols, rows} = this.part;
    context.imageSmoothingEnabled = false;
    context.drawImage(
        this.small, left, top, cols, rows, 0, 0, this.canvas.width, this.canvas.height);
    if (volume.truth && state.show.has('truth')) this.paintContours(context, state);
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
        picture.data.fill(volume.grey(i), pixel, pixel + 3);
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

  // Pixels of the canvas for a pixel of the slice.
  scale() {
    return [this.canvas.width / this.part.cols, this.canvas.height / this.part.rows];
  }

  // The sides of voxels where the class of the truth ends, inside of it.
  paintContours(context, state) {
    const {truth, info} = this.volume, [wide, high] = this.scale();
    const label = (y, x) => y < 0 || x < 0 || y >= this.rows || x >= this.cols ?
        -1 :
        truth[this.volume.index(this.at(state, y, x))];
    const paths = info.classes.map(() => new Path2D());
    const inset = CONTOUR / 2;
    for (let y = 0; y < this.rows; ++y) {
      for (let x = 0; x < this.cols; ++x) {
        const k = label(y, x);
        if (k === 0) continue;
        const left = (x - this.part.left) * wide, right = left + wide;
        const top = (y - this.part.top) * high, bottom = top + high;
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
    const {row, col, rows_reversed, cols_reversed} = this.plane, {width, height} = this.canvas;
    const [wide, high] = this.scale();
    const middle = (at, count, reversed) => (reversed ? count - 1 - at : at) + 0.5;
    const x = (middle(state.at[col], this.cols, cols_reversed) - this.part.left) * wide;
    const y = (middle(state.at[row], this.rows, rows_reversed) - this.part.top) * high;
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
