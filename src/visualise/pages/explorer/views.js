// Where tokens are hovered: words, or the patches of a picture; and the small maps of all heads.
// `actions` has hover(token) and pin(token); token -1 is none.

function listen(element, tokenAt, actions) {
  element.addEventListener('pointermove', (event) => {
    const token = tokenAt(event);
    if (token >= 0) actions.hover(token);
  });
  element.addEventListener('pointerleave', () => actions.hover(-1));
  element.addEventListener('click', (event) => {
    const token = tokenAt(event);
    if (token >= 0) actions.pin(token);
  });
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

// The first `count` tokens of a model as words.
class Words {
  constructor(model, count, actions) {
    const names = Array.from({length: count}, (_, i) => nameOf(model, i));
    this.spans = names.map((name, i) => {
      const span =
          make('bdi', {className: i < model.prefix ? 'token mark' : 'token', textContent: name});
      if (model.tokens && name.endsWith('…')) span.title = model.tokens[i].slice(0, 1000);
      span.dataset.token = i;
      return span;
    });
    const label = `tokens of ${model.name}; arrow keys move`;
    this.element =
        make('div', {className: 'tokens', tabIndex: 0, role: 'group', 'aria-label': label});
    this.spans.forEach((span, i) => {
      this.element.append(span, ' ');
      if (model.tokens && model.tokens[i].includes('\n')) this.element.append(make('br'));
    });
    const right = names.filter((name) => RIGHT_TO_LEFT.test(name)).length;
    this.element.dir = 2 * right > names.length ? 'rtl' : 'ltr';
    listen(this.element, (event) => {
      const span = event.target.closest('.token');
      return span ? Number(span.dataset.token) : -1;
    }, actions);
  }

  paint(weights, heat, selected, probe) {
    this.spans.forEach((span, i) => {
      const colour = heat.colour(weights[i]);
      span.style.backgroundColor = css(colour);
      span.style.color = inkOn(colour);
      span.classList.toggle('selected', i === selected);
      span.classList.toggle('probe', i === probe);
    });
  }

  // The token `dx` words on in reading direction, or the nearest one `dy` lines below.
  step(token, dx, dy) {
    if (dx) return token + (this.element.dir === 'rtl' ? -dx : dx);
    const from = this.spans[token];
    let best = -1, bestRank = Infinity;
    this.spans.forEach((span, i) => {
      const down = dy * (span.offsetTop - from.offsetTop);
      if (down <= 2) return;
      const across =
          Math.abs(span.offsetLeft + span.offsetWidth / 2 - from.offsetLeft - from.offsetWidth / 2);
      if (down * 1e4 + across < bestRank) [best, bestRank] = [i, down * 1e4 + across];
    });
    return best;
  }
}

// The part of all pictures that is seen: `scale` times larger, from (x, y) in shares of a side.
const zoom = {
  scale: 1,
  x: 0,
  y: 0
};
const MOST_ZOOM = 32;

// Makes the scale `factor` times larger while the place (x, y), in shares of what is seen, stays.
function zoomBy(factor, x, y) {
  const scale = Math.max(1, Math.min(zoom.scale * factor, MOST_ZOOM));
  moveZoom(zoom.x + x / zoom.scale - x / scale, zoom.y + y / zoom.scale - y / scale, scale);
}

function moveZoom(x, y, scale = zoom.scale) {
  const inside = (place) => Math.max(0, Math.min(place, 1 - 1 / scale));
  Object.assign(zoom, {scale, x: inside(x), y: inside(y)});
}

// The wheel with Ctrl (or Command) zooms around the mouse, a drag moves what is seen. A click that
// ends a drag is none.
function listenToZoom(canvas, repaint) {
  const shareOf = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  };
  canvas.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / 300), ...shareOf(event));
    repaint();
  }, {passive: false});
  let from = null, moved = false;
  canvas.addEventListener('pointerdown', (event) => {
    from = event.button === 0 && zoom.scale > 1 ? {at: shareOf(event), x: zoom.x, y: zoom.y} : null;
    moved = false;
  });
  addEventListener('pointerup', () => { from = null; });
  canvas.addEventListener('pointermove', (event) => {
    if (!from || event.buttons !== 1) return;
    const [x, y] = shareOf(event);
    const dx = x - from.at[0], dy = y - from.at[1];
    if (Math.hypot(dx, dy) > 0.02) moved = true;
    if (!moved) return;
    moveZoom(from.x - dx / zoom.scale, from.y - dy / zoom.scale);
    repaint();
  });
  canvas.addEventListener('click', (event) => {
    if (moved) event.stopImmediatePropagation();
  }, true);
}

// A canvas as sharp as pictures are shown; they fill the width or, if that is less, the height of
// the window.
function pictureCanvas(image, label) {
  const factor = Math.max(1, Math.ceil(768 / Math.max(image.width, image.height)));
  const canvas = make('canvas', {
    width: factor * image.width,
    height: factor * image.height,
    tabIndex: 0,
    role: 'img',
    'aria-label': label
  });
  canvas.style.setProperty('--aspect', String(image.width / image.height));
  return canvas;
}

// What is seen of a picture now goes to (0, 0, width, height) of the canvas.
function seenPart(canvas) {
  const context = canvas.getContext('2d');
  const {width, height} = canvas;
  context.setTransform(
      zoom.scale, 0, 0, zoom.scale, -zoom.x * zoom.scale * width, -zoom.y * zoom.scale * height);
  context.imageSmoothingEnabled = false;
  return context;
}

// A picture alone.
class InputPicture {
  constructor(image, repaint) {
    this.image = image;
    this.canvas = pictureCanvas(image, 'the input');
    listenToZoom(this.canvas, repaint);
  }

  paint() {
    const context = seenPart(this.canvas);
    context.drawImage(this.image, 0, 0, this.canvas.width, this.canvas.height);
  }
}

// A picture with the weight of each patch over it; class and register tokens as words above.
class Picture {
  constructor(model, image, actions) {
    this.model = model;
    this.image = image;
    this.canvas = pictureCanvas(image, `picture seen by ${model.name}; arrow keys move`);
    this.words = new Words(model, model.prefix, actions);
    this.words.element.classList.add('short');
    this.words.element.tabIndex = -1;
    this.element = make('div', {}, ...(model.prefix ? [this.words.element] : []), this.canvas);
    this.map = make('canvas', {width: model.cols, height: model.rows}).getContext('2d');
    listenToZoom(this.canvas, actions.repaint);
    listen(this.canvas, (event) => this.tokenAt(event), actions);
  }

  tokenAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const {rows, cols, prefix} = this.model;
    const place = (at, begin, size, first, count) =>
        Math.floor((first + (at - begin) / size / zoom.scale) * count);
    const x = place(event.clientX, box.left, box.width, zoom.x, cols);
    const y = place(event.clientY, box.top, box.height, zoom.y, rows);
    return x < 0 || y < 0 || x >= cols || y >= rows ? -1 : prefix + y * cols + x;
  }

  // As overlays of pictures are: `share` of the picture, the rest of the map.
  paint(weights, heat, selected, probe, share) {
    this.words.paint(weights, heat, selected, probe);
    const {rows, cols, prefix} = this.model;
    if (this.weights !== weights || this.heat !== heat) {
      Object.assign(this, {weights, heat});
      const pixels = this.map.createImageData(cols, rows);
      for (let token = prefix; token < weights.length; ++token)
        pixels.data.set([...heat.colour(weights[token]), 255], 4 * (token - prefix));
      this.map.putImageData(pixels, 0, 0);
    }
    const context = seenPart(this.canvas);
    const {width, height} = this.canvas;
    context.drawImage(this.map.canvas, 0, 0, width, height);
    context.globalAlpha = share;
    context.drawImage(this.image, 0, 0, width, height);
    context.globalAlpha = 1;
    for (const [token, colour] of [[probe, '#8a929b'], [selected, '#1f2328']]) {
      if (token >= prefix) this.frame(context, token - prefix, colour);
    }
  }

  // As wide at any zoom, and around a small patch.
  frame(context, patch, colour) {
    const {rows, cols} = this.model, {width, height} = this.canvas;
    const pixel = width / Math.max(1, this.canvas.clientWidth) / zoom.scale;
    const w = Math.max(width / cols, 10 * pixel), h = Math.max(height / rows, 10 * pixel);
    const x = (patch % cols + 0.5) * width / cols - w / 2;
    const y = (Math.floor(patch / cols) + 0.5) * height / rows - h / 2;
    for (const [size, style] of [[5, '#fff'], [2.5, colour]]) {
      context.lineWidth = size * pixel;
      context.strokeStyle = style;
      context.strokeRect(x + 1.5 * pixel, y + 1.5 * pixel, w - 3 * pixel, h - 3 * pixel);
    }
  }

  step(token, dx, dy) {
    const {prefix, cols, rows} = this.model;
    if (token < prefix) return dx ? token + dx : dy > 0 ? prefix : -1;
    const x = (token - prefix) % cols + dx, y = Math.floor((token - prefix) / cols) + dy;
    return x < 0 || x >= cols || y < 0 || y >= rows ? -1 : prefix + y * cols + x;
  }
}

// Every layer (row) and head (column, the mean first) in small; a click selects one.
class Picker {
  constructor(maps, pick) {
    this.maps = maps;
    const model = maps.model;
    this.shapes = model.heads.map((_, layer) => maps.shape(layer));
    const [widest] = [...this.shapes].sort((a, b) => b.rows * b.cols - a.rows * a.cols);
    const {rows, cols} = widest ?? {rows: 1, cols: 1};
    const factor = Math.max(1, Math.floor(30 / cols));
    this.cell = [cols * factor, Math.max(rows * factor, model.objects ? 14 : 0)];
    this.columns = 1 + Math.max(0, ...model.heads);
    this.left = 46;
    this.top = 18;
    const width = this.left + this.columns * (this.cell[0] + 5);
    const height = this.top + model.heads.length * (this.cell[1] + 5);
    const sharp = window.devicePixelRatio || 1;
    this.canvas = make('canvas', {
      className: 'picker',
      width: width * sharp,
      height: height * sharp,
      role: 'img',
      'aria-label': 'small maps of all layers and heads',
      title: 'all layers and heads; click to select'
    });
    this.canvas.style.width = `${width}px`;
    this.context = this.canvas.getContext('2d');
    this.context.scale(sharp, sharp);
    this.element =
        make('div', {className: 'picker-scroll'}, ...(widest ? [this.canvas] : []));
    this.canvas.addEventListener('click', (event) => {
      const scale = width / this.canvas.getBoundingClientRect().width;
      const head = Math.floor((event.offsetX * scale - this.left) / (this.cell[0] + 5)) - 1;
      const layer = Math.floor((event.offsetY * scale - this.top) / (this.cell[1] + 5));
      if (head >= -1 && layer >= 0 && layer < model.heads.length && head < model.heads[layer])
        pick(layer, head);
    });
  }

  box(layer, head) {
    return [
      this.left + (head + 1) * (this.cell[0] + 5), this.top + layer * (this.cell[1] + 5),
      ...this.cell
    ];
  }

  paint(view, token, incoming, ends) {
    const context = this.context;
    if (this.shapes.length === 0) return;
    context.clearRect(0, 0, 1e5, 1e5);
    context.imageSmoothingEnabled = false;
    context.font = '11px system-ui, sans-serif';
    context.fillStyle = '#59636e';
    context.textAlign = 'center';
    for (let head = -1; head < this.columns - 1; ++head) {
      context.fillText(
          head < 0 ? 'mean' : String(head + 1), this.box(0, head)[0] + this.cell[0] / 2, 12);
    }
    this.maps.model.heads.forEach((heads, layer) => {
      context.textAlign = 'left';
      context.fillStyle = '#59636e';
      const name = this.maps.model.objects ? 'map' : 'layer';
      context.fillText(`${name} ${layer + 1}`, 0, this.box(layer, 0)[1] + this.cell[1] / 2 + 4);
      for (let head = -1; head < heads; ++head) {
        this.paintCell(layer, head, token, incoming, ends);
        this.frame(layer, head, layer === view.layer && head === view.head);
      }
    });
  }

  paintCell(layer, head, token, incoming, ends) {
    const {rows, cols, first} = this.shapes[layer];
    const small = make('canvas', {width: cols, height: rows}).getContext('2d');
    const pixels = small.createImageData(cols, rows);
    const weights = this.maps.weights({layer, head}, token, incoming);
    const quantity = quantityOf(this.maps.model, {layer, head});
    const own = endsFor(ends, quantity);
    const heat =
        new Heat(quantity, own, limitsOf(this.maps.counted(weights, token, {layer}), own, quantity));
    for (let i = first; i < weights.length; ++i) {
      pixels.data.set([...heat.colour(weights[i]), 255], 4 * (i - first));
    }
    small.putImageData(pixels, 0, 0);
    this.context.drawImage(small.canvas, ...this.box(layer, head));
  }

  frame(layer, head, selected) {
    const [x, y, w, h] = this.box(layer, head);
    this.context.lineWidth = selected ? 2.5 : 1;
    this.context.strokeStyle = selected ? '#1f2328' : '#d5dae0';
    this.context.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1);
  }
}
