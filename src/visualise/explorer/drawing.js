// Colours, numbers and small parts that all panels use.

// The colour of t from -1 over 0 to 1 in the palette of all pictures.
const tint = (t) => colourOf(data.palette, (Math.max(-1, Math.min(t, 1)) + 1) / 2);

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
  if (model.tokens) return shown(model.tokens[token]);
  if (token < model.prefix) return token === 0 ? 'class token' : `register ${token}`;
  const patch = token - model.prefix;
  return `row ${Math.floor(patch / model.cols) + 1}, column ${patch % model.cols + 1}`;
}

function nameOfView(model, view) {
  if (view.layer < 0) return `Rollout${model.policy ? ` (${model.policy})` : ''}`;
  const heads = model.heads[view.layer];
  return `Layer ${view.layer + 1}, ` +
      (view.head < 0 ? `mean of ${heads} heads` : `head ${view.head + 1}`);
}

// What the numbers of a view are: {name, signed}.
function quantityOf(model, view) {
  return view.layer < 0 ? model.rolled_out : model.attention;
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

  paint(model, what, weights, quantity, {low, high, signed}, probe) {
    this.what.replaceChildren(...what);
    this.what.title = this.what.textContent;
    const colours = data.palette.slice(signed ? 0 : (data.palette.length - 1) / 2).map(css);
    this.bar.style.background = `linear-gradient(to right, ${colours.join(', ')})`;
    this.quantity.textContent = quantity.name + (low > 0 ? ', from the weakest' : '');
    const values = high <= 0 ? [0] :
        signed               ? [-high, -high / 2, 0, high / 2, high] :
                               [low, (low + high) / 2, high];
    this.ends.replaceChildren(...values.map((v) => make('span', {textContent: number(v)})));
    let plus = 0, minus = 0;
    weights.forEach((w) => {
      if (w > 0)
        plus += w;
      else
        minus += w;
    });
    const sums = `sum ${number(plus)}` + (quantity.signed ? ` and ${number(minus)}` : '');
    const probed = probe < 0 ? [] : [
      make('bdi', {textContent: nameOf(model, probe)}),
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

  paint(model, weights) {
    const order = Array.from(weights.keys()).sort((a, b) => weights[b] - weights[a]);
    const bottom = order.slice(-3).reverse().filter((i) => weights[i] < 0);
    const top = order.slice(0, 8 - bottom.length).filter((i) => weights[i] > 0);
    const chosen = [...top, ...bottom];
    const largest = Math.max(...chosen.map((i) => Math.abs(weights[i])), 1e-30);
    const entry = (i) =>
        [make('bdi', {textContent: nameOf(model, i)}), make('div', {
           className: 'fill',
           style: `width: ${100 * Math.abs(weights[i]) / largest}%; ` +
               `background: ${css(tint(weights[i] < 0 ? -0.7 : 0.7))}`
         }),
         make('span', {textContent: number(weights[i])})];
    const rows = Array.from(
        {length: 8},
        (_, k) =>  // as high for any weights
        make('div', {className: 'entry'}, ...(k < chosen.length ? entry(chosen[k]) : [])));
    this.element.replaceChildren(...rows);
  }
}
