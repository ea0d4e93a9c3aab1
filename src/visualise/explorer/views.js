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

  paint(weights, range, selected, probe) {
    this.spans.forEach((span, i) => {
      const colour = tint(position(weights[i], range));
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

// A picture, grey and faint, with the weight of each patch over it; class and register tokens as
// words above.
class Picture {
  constructor(model, image, actions) {
    this.model = model;
    const factor = Math.max(1, Math.floor(384 / image.width));
    this.canvas = make('canvas', {
      width: factor * image.width,
      height: factor * image.height,
      tabIndex: 0,
      role: 'img',
      'aria-label': `picture seen by ${model.name}; arrow keys move`
    });
    this.words = new Words(model, model.prefix, actions);
    this.words.element.classList.add('short');
    this.words.element.tabIndex = -1;
    this.element = make('div', {}, ...(model.prefix ? [this.words.element] : []), this.canvas);
    const base = make('canvas', {width: image.width, height: image.height});
    this.base = base.getContext('2d', {willReadFrequently: true});
    this.base.drawImage(image, 0, 0);
    this.source = this.base.getImageData(0, 0, image.width, image.height);
    listen(this.canvas, (event) => this.tokenAt(event), actions);
  }

  tokenAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const {rows, cols, prefix} = this.model;
    const x = Math.floor((event.clientX - box.left) / box.width * cols);
    const y = Math.floor((event.clientY - box.top) / box.height * rows);
    return x < 0 || y < 0 || x >= cols || y >= rows ? -1 : prefix + y * cols + x;
  }

  shade(opacity) {
    if (opacity === this.opacity) return;
    this.opacity = opacity;
    const {width, height, data} = this.source;
    const grey = new ImageData(width, height);
    for (let i = 0; i < data.length; i += 4) {
      const luma = 0.299 * data[i] + 0.587 * data[i + 1] + 0.114 * data[i + 2];
      grey.data.fill(255 - opacity * (255 - luma), i, i + 3);
      grey.data[i + 3] = 255;
    }
    this.base.putImageData(grey, 0, 0);
  }

  paint(weights, range, selected, probe, opacity) {
    this.words.paint(weights, range, selected, probe);
    this.shade(opacity);
    const context = this.canvas.getContext('2d');
    const {width, height} = this.canvas;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.base.canvas, 0, 0, width, height);
    const {rows, cols, prefix} = this.model;
    const box = (token) => {
      const patch = token - prefix;
      const x = Math.round(patch % cols * width / cols),
            y = Math.round(Math.floor(patch / cols) * height / rows);
      return [
        x, y, Math.round((patch % cols + 1) * width / cols) - x,
        Math.round((Math.floor(patch / cols) + 1) * height / rows) - y
      ];
    };
    for (let token = prefix; token < weights.length; ++token) {
      const t = position(weights[token], range);
      // Faint weights leave the picture, a trace of which stays under the strongest.
      const share = Math.sqrt(Math.abs(t)) * 0.92;
      context.fillStyle = `rgba(${tint(t).join(',')},${share})`;
      context.fillRect(...box(token));
    }
    for (const [token, colour] of [[probe, '#8a929b'], [selected, '#1f2328']]) {
      if (token < prefix) continue;
      const [x, y, w, h] = box(token);
      context.lineWidth = 5;
      context.strokeStyle = '#fff';
      context.strokeRect(x + 1.5, y + 1.5, w - 3, h - 3);
      context.lineWidth = 2.5;
      context.strokeStyle = colour;
      context.strokeRect(x + 1.5, y + 1.5, w - 3, h - 3);
    }
  }

  step(token, dx, dy) {
    const {prefix, cols, rows} = this.model;
    if (token < prefix) return dx ? token + dx : dy > 0 ? prefix : -1;
    const x = (token - prefix) % cols + dx, y = Math.floor((token - prefix) / cols) + dy;
    return x < 0 || x >= cols || y < 0 || y >= rows ? -1 : prefix + y * cols + x;
  }
}

// Every layer (row) and head (column, the mean first) in small; a click selects one. Text is laid
// out in reading order.
class Picker {
  constructor(maps, pick) {
    this.maps = maps;
    const model = maps.model;
    this.skip = model.tokens ? 0 : model.prefix;
    const count = model.n - this.skip;
    this.cols = model.tokens ? Math.ceil(Math.sqrt(2 * count)) : model.cols;
    this.rows = Math.ceil(count / this.cols);
    const factor = Math.max(1, Math.floor(30 / this.cols));
    this.cell = [this.cols * factor, this.rows * factor];
    this.columns = 1 + Math.max(...model.heads);
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
    this.small = make('canvas', {width: this.cols, height: this.rows}).getContext('2d');
    this.element = make('div', {className: 'picker-scroll'}, this.canvas);
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

  paint(view, token, incoming, spread) {
    const context = this.context;
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
      context.fillText(`layer ${layer + 1}`, 0, this.box(layer, 0)[1] + this.cell[1] / 2 + 4);
      for (let head = -1; head < heads; ++head) {
        this.paintCell(layer, head, token, incoming, spread);
        this.frame(layer, head, layer === view.layer && head === view.head);
      }
    });
  }

  paintCell(layer, head, token, incoming, spread) {
    const pixels = this.small.createImageData(this.cols, this.rows);
    const weights = this.maps.weights({layer, head}, token, incoming);
    const range =
        this.maps.range(weights, token, spread, quantityOf(this.maps.model, {layer, head}).signed);
    for (let i = this.skip; i < weights.length; ++i) {
      pixels.data.set([...tint(position(weights[i], range)), 255], 4 * (i - this.skip));
    }
    this.small.putImageData(pixels, 0, 0);
    this.context.drawImage(this.small.canvas, ...this.box(layer, head));
  }

  frame(layer, head, selected) {
    const [x, y, w, h] = this.box(layer, head);
    this.context.lineWidth = selected ? 2.5 : 1;
    this.context.strokeStyle = selected ? '#1f2328' : '#d5dae0';
    this.context.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1);
  }
}
