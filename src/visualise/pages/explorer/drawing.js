// Colours, numbers and small parts that all panels use.

// The colours of a panel: {quantity, ends, limits} and from these the colour of a weight.
class Heat {
  constructor(quantity, ends, limits) {
    Object.assign(this, {quantity, ends, limits, palette: paletteOf(quantity, ends)});
  }

  // The old one, where it has these colours.
  static kept(old, quantity, ends, limits) {
    const same = old && old.quantity === quantity && old.ends === ends &&
        Object.keys(limits).every((key) => old.limits[key] === limits[key]);
    return same ? old : new Heat(quantity, ends, limits);
  }

  colour(weight) {
    return colourOf(this.palette, position(weight, this.limits));
  }
}

// Black or white, whichever has more contrast (WCAG 2 relative luminance).
function inkOn(rgb) {
  const [r, g, b] = rgb.map((channel) => {
    const c = channel / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.179 ? '#fff' : '#000';
}

// A token as it is printed: what would be invisible has a sign, what is endless is cut.
function shown(token) {
  if (token === '') return '∅';
  const letters = Array.from(token.slice(0, 200)).map((c) => {
    if (c === '\n') return '↵';
    const code = c.codePointAt(0);
    return code < 32 ? String.fromCodePoint(0x2400 + code) : code === 127 ? '␡' : c;
  });
  const text = letters.join('').replace(/^ +| +$/g, (spaces) => '·'.repeat(spaces.length));
  return letters.length > 48 ? letters.slice(0, 47).join('') + '…' : text;
}

function nameOf(model, token) {
  if (model.objects) return model.objects[token].name;
  if (model.tokens) return shown(model.tokens[token]);
  if (token < model.prefix) {
    if (token === 0 && model.class_token) return 'class token';
    return `register ${token + (model.class_token ? 0 : 1)}`;
  }
  const patch = token - model.prefix;
  const first = ofRelevance ? 0 : 1;  // as relevance.csv and --region count
  return `row ${Math.floor(patch / model.cols) + first}, column ${patch % model.cols + first}`;
}

// What has the i-th weight of a view: a token or, of an object, a place or a layer.
function nameOfWeight(model, view, i) {
  if (!model.objects) return nameOf(model, i);
  const {rows, cols, carried} = model.maps[view.layer];
  if (rows > 0) return `row ${Math.floor(i / cols) + 1}, column ${i % cols + 1}`;
  return carried && i === 0 ? 'layers before' : `layer ${carried ? i : i + 1}`;
}

function nameOfView(model, view) {
  if (model.objects && view.layer < 0) return model.name;
  if (view.layer < 0) return `Rollout${model.policy ? ` (${model.policy})` : ''}`;
  const heads = model.heads[view.layer];
  return `${model.objects ? model.maps[view.layer].name : `Layer ${view.layer + 1}`}, ` +
      (view.head < 0 ? `mean of ${heads} heads` : `head ${view.head + 1}`);
}

// What the numbers of a view are: {name, signed, even}.
function quantityOf(model, view) {
  if (model.objects) return view.layer < 0 ? NO_QUANTITY : model.maps[view.layer].quantity;
  return view.layer < 0 ? model.rolled_out : model.attention;
}

// As many digits as tell the ends apart.
function endNumber(value, range) {
  const size = Math.abs(value);
  const digits = size > 0 && range > 0 ? 2 + Math.ceil(Math.log10(size / range)) : 3;
  const precise = Math.max(3, Math.min(digits, 9));
  if (size < 1e-12 * range || precise === 3) return number(size < 1e-12 * range ? 0 : value);
  return (value < 0 ? '\u2212' : '') + size.toPrecision(precise).replace('-', '\u2212');
}

// What is shown, the colours with their values, and the weight of a token that is probed.
class Legend {
  constructor() {
    this.what = make('div', {className: 'what', 'aria-live': 'polite'});
    this.bar = make('div', {className: 'bar'});
    this.ends = make('div', {className: 'ends'});
    this.quantity = make('div', {className: 'quantity'});
    this.sums = make('div', {className: 'sums'});
    this.element = make(
        'div', {className: 'legend'}, this.what, this.bar, this.ends, this.quantity, this.sums);
  }

  paint(model, view, what, weights, heat, sharing, probe) {
    const {quantity, ends, limits} = heat;
    this.what.replaceChildren(...what);
    this.what.title = this.what.textContent;
    this.bar.style.background = `linear-gradient(to right, ${heat.palette.map(css).join(', ')})`;
    const unit = ends === 'even_share' ? quantity.even : 1;
    const marks = quantity.even > 0 ? [[quantity.even, 'even share']] : [];
    if (limits.low < 0 && limits.high > 0) marks.push([0, '0']);
    this.bar.replaceChildren(
        ...marks.filter(([value]) => value >= limits.low && value <= limits.high)
            .map(([value, title]) => make('div', {
                   className: 'mark',
                   title,
                   style: `left: ${100 * position(value, limits)}%`
                 })));
    const even = quantity.even > 0 ? `; even share ${number(quantity.even)}` : '';
    this.quantity.textContent = `${quantity.name}, ${endsText(quantity, ends)}${sharing}${even}`;
    const places = quantity.signed ? [0, 0.25, 0.5, 0.75, 1] : [0, 0.5, 1];
    const range = Math.abs(limits.high - limits.low) / unit;
    this.ends.replaceChildren(...places.map(
        (t) => make('span', {textContent: endNumber(valueAt(t, limits) / unit, range)})));
    let plus = 0, minus = 0;
    weights.forEach((w) => {
      if (w > 0)
        plus += w;
      else
        minus += w;
    });
    const sums = `sum ${number(plus)}` + (quantity.signed ? ` and ${number(minus)}` : '');
    const probed = probe < 0 || probe >= weights.length ? [] : [
      make('bdi', {textContent: nameOfWeight(model, view, probe)}),
      make('span', {textContent: number(weights[probe])})
    ];
    this.sums.replaceChildren(
        make('span', {className: 'reading'}, ...probed), make('span', {textContent: sums}));
  }
}

// The largest weights in both directions.
class Strongest {
  constructor() {
    this.element = make('div', {className: 'strongest'});
  }

  paint(model, view, weights, heat) {
    if (this.weights === weights && this.heat === heat) return;
    Object.assign(this, {weights, heat});
    const strong = (sign) => heat.palette === data.palettes.diverging ?
        colourOf(heat.palette, sign < 0 ? 0.15 : 0.85) :
        colourOf(heat.palette, sign < 0 ? 0.25 : 0.55);
    const order = Array.from(weights.keys()).sort((a, b) => weights[b] - weights[a]);
    const bottom = order.slice(-3).reverse().filter((i) => weights[i] < 0);
    const top = order.slice(0, 8 - bottom.length).filter((i) => weights[i] > 0);
    const chosen = [...top, ...bottom];
    const largest = Math.max(...chosen.map((i) => Math.abs(weights[i])), 1e-30);
    if (ofRelevance && weights.every((w) => w === 0)) {
      this.element.replaceChildren(make('p', {textContent: '0 everywhere: nothing is found'}));
      return;
    }
    const entry = (i) =>
        [make('bdi', {textContent: nameOfWeight(model, view, i)}), make('div', {
           className: 'fill',
           style: `width: ${100 * Math.abs(weights[i]) / largest}%; ` +
               `background: ${css(strong(weights[i]))}`
         }),
         make('span', {textContent: number(weights[i])})];
    const rows = Array.from(
        {length: 8},
        (_, k) =>  // as high for any weights
        make('div', {className: 'entry'}, ...(k < chosen.length ? entry(chosen[k]) : [])));
    this.element.replaceChildren(...rows);
  }
}
