// Detectors: the objects that a network found take the place of tokens, and the maps of an object
// have weights on places of the picture or, without rows, on layers. Layer -1 stands for the map
// that belongs to the object: of the stage that found it.

const NO_QUANTITY = {
  name: 'attention',
  signed: false,
  even: 0
};

class ObjectMaps {
  static async load(model, base64) {
    return new ObjectMaps(model, await inflate(base64));
  }

  // explorer_maps.h: scales of all rows, then their values; rows by map, head and object.
  constructor(model, buffer) {
    this.model = model;
    const n = model.n;
    const rows = model.heads.reduce((sum, heads) => sum + heads * n, 0);
    const view = new DataView(buffer);
    this.scales = Float64Array.from({length: rows}, (_, row) => view.getFloat32(4 * row, true));
    this.values = new Uint8Array(buffer, 4 * rows);
    this.first = [];  // {row, value} of each map
    let row = 0, value = 0;
    model.maps.forEach((map, k) => {
      this.first.push({row, value});
      row += model.heads[k] * n;
      value += model.heads[k] * n * this.cells(k);
    });
    this.all = new Map();
  }

  cells(layer) {
    const {rows, cols} = this.model.maps[layer];
    return Math.max(1, rows) * cols;
  }

  shape(layer) {
    const {rows, cols} = this.model.maps[layer];
    return {rows: Math.max(1, rows), cols, first: 0};
  }

  nearest({layer, head}, token) {
    const own = token >= 0 ? this.model.objects[token].map : -1;
    const shown = layer < 0 ? own : Math.min(layer, this.model.maps.length - 1);
    return {layer: shown, head: shown < 0 ? -1 : Math.min(head, this.model.heads[shown] - 1)};
  }

  weights({layer, head}, token) {
    if (token < 0 || layer < 0) return new Float64Array(0);
    const cells = this.cells(layer), {row, value} = this.first[layer], n = this.model.n;
    const sum = new Float64Array(cells);
    const heads =
        head >= 0 ? [head] : Array.from({length: this.model.heads[layer]}, (_, i) => i);
    for (const own of heads) {
      const at = own * n + token, scale = this.scales[row + at];
      for (let i = 0; i < cells; ++i)
        sum[i] += scale * SQUARES[this.values[value + at * cells + i]] / heads.length;
    }
    return sum;
  }

  // Without the place of the object itself.
  counted(weights, token, {layer}) {
    if (token < 0 || layer < 0) return weights;
    const {rows, cols} = this.model.maps[layer];
    if (rows === 0) return weights;
    const [x1, y1, x2, y2] = this.model.objects[token].box;
    const along = (from, to, count) =>
        Math.max(0, Math.min(Math.floor((from + to) / 2 * count), count - 1));
    const own = along(y1, y2, rows) * cols + along(x1, x2, cols);
    return weights.filter((_, i) => i !== own);
  }

  countedOfAll(view) {
    const key = `${view.layer} ${view.head}`;
    if (!this.all.has(key)) {
      this.all.set(
          key,
          this.model.objects.flatMap(
              (_, token) => Array.from(this.counted(this.weights(view, token), token, view))));
    }
    return this.all.get(key);
  }
}

// Intersection over union.
function boxOverlap(a, b) {
  const side = (k) => Math.max(0, Math.min(a[k + 2], b[k + 2]) - Math.max(a[k], b[k]));
  const area = (box) => (box[2] - box[0]) * (box[3] - box[1]);
  const both = side(0) * side(1), all = area(a) + area(b) - both;
  return all > 0 ? both / all : 0;
}

// The object of model `to` that lies where that of `from` does; -2 if there is none.
function sameObject(from, token, to) {
  const overlaps = to.objects.map((own) => boxOverlap(from.objects[token].box, own.box));
  const best = overlaps.indexOf(Math.max(...overlaps));
  return best >= 0 && overlaps[best] >= 0.3 ? best : -2;
}

// Frames of objects, `strong` ones wider and with their names; as wide at any zoom.
function drawObjects(canvas, objects, strong) {
  const context = canvas.getContext('2d'), {width, height} = canvas;
  const pixel = width / Math.max(1, canvas.clientWidth) / zoom.scale;
  context.font = `600 ${12 * pixel}px system-ui, sans-serif`;
  // The strong ones lie on top, and of these the best.
  const order = objects.map((_, k) => k).reverse().sort((a, b) => strong(a) - strong(b));
  for (const k of order) {
    const {box: [x1, y1, x2, y2], colour, name} = objects[k], wide = strong(k);
    const [x, y] = [x1 * width, y1 * height];
    for (const [size, style] of [[wide ? 5 : 3, '#fff'], [wide ? 2.5 : 1.5, css(colour)]]) {
      context.lineWidth = size * pixel;
      context.strokeStyle = style;
      context.strokeRect(x, y, (x2 - x1) * width, (y2 - y1) * height);
    }
    if (!wide) continue;
    const plate = 16 * pixel, top = Math.max(0, y - plate);
    context.fillStyle = css(colour);
    context.fillRect(x, top, context.measureText(name).width + 8 * pixel, plate);
    context.fillStyle = inkOn(colour);
    context.fillText(name, x + 4 * pixel, top + 12 * pixel);
  }
}

// The truth of a picture.
class TruePicture extends InputPicture {
  constructor(image, truth, repaint) {
    super(image, repaint);
    this.truth = truth;
  }

  paint() {
    super.paint();
    drawObjects(this.canvas, this.truth, () => true);
  }
}

// A picture with the objects that were found and the map of one of them. `actions` as in views.js;
// while an object is kept, hover() gets numbers of places.
class ObjectPicture {
  constructor(model, image, actions) {
    this.model = model;
    this.image = image;
    this.grid = null;  // of the map that is shown
    this.canvas = pictureCanvas(image, `picture seen by ${model.name}; arrow keys move`);
    this.element = make('div', {}, this.canvas);
    listenToZoom(this.canvas, actions.repaint);
    this.canvas.addEventListener('pointermove', (event) => {
      actions.hover(state.pinned ? this.placeAt(event) : this.objectAt(event));
    });
    this.canvas.addEventListener('pointerleave', () => actions.hover(-1));
    this.canvas.addEventListener('click', (event) => {
      const object = this.objectAt(event);
      if (object >= 0) actions.pin(object);
    });
  }

  // In shares of the picture.
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [
      zoom.x + (event.clientX - box.left) / box.width / zoom.scale,
      zoom.y + (event.clientY - box.top) / box.height / zoom.scale
    ];
  }

  // The smallest one around the mouse.
  objectAt(event) {
    const [x, y] = this.at(event);
    let best = -1, least = Infinity;
    this.model.objects.forEach(({box: [x1, y1, x2, y2]}, k) => {
      const area = (x2 - x1) * (y2 - y1);
      if (x < x1 || x > x2 || y < y1 || y > y2 || area >= least) return;
      [best, least] = [k, area];
    });
    return best;
  }

  placeAt(event) {
    if (!this.grid) return -1;
    const [x, y] = this.at(event), {rows, cols} = this.grid;
    const column = Math.floor(x * cols), row = Math.floor(y * rows);
    return column < 0 || row < 0 || column >= cols || row >= rows ? -1 : row * cols + column;
  }

  paint(weights, heat, selected, probe, share, view) {
    const map = view.layer < 0 ? null : this.model.maps[view.layer];
    this.grid = map && map.rows > 0 && weights.length > 0 ? map : null;
    const context = seenPart(this.canvas), {width, height} = this.canvas;
    if (this.grid) {
      const {rows, cols} = this.grid;
      const small = make('canvas', {width: cols, height: rows}).getContext('2d');
      const pixels = small.createImageData(cols, rows);
      weights.forEach((weight, i) => pixels.data.set([...heat.colour(weight), 255], 4 * i));
      small.putImageData(pixels, 0, 0);
      context.drawImage(small.canvas, 0, 0, width, height);
      context.globalAlpha = share;
    }
    context.drawImage(this.image, 0, 0, width, height);
    context.globalAlpha = 1;
    drawObjects(
        this.canvas, this.model.objects, (k) => selected === -1 ? !state.pinned : k === selected);
    if (this.grid && probe >= 0) this.frame(context, probe);
  }

  frame(context, place) {
    const {rows, cols} = this.grid, {width, height} = this.canvas;
    context.lineWidth = 2.5 * width / Math.max(1, this.canvas.clientWidth) / zoom.scale;
    context.strokeStyle = '#8a929b';
    context.strokeRect(
        place % cols * width / cols, Math.floor(place / cols) * height / rows, width / cols,
        height / rows);
  }

  // The next or the one before, by score.
  step(token, dx, dy) {
    return token + (dx || dy);
  }
}
