// The attention maps of one network for one input. explorer_maps.h describes how they are stored:
// a zlib stream in base64 with a float32 scale for each row, then the rows in 8 bits, maps by layer
// and head and the rollout last.

// w = scale * sign(q) (q / 127)^2 for the int8 q, by the byte that holds it.
const SQUARES = Float64Array.from({length: 256}, (_, byte) => {
  const q = (byte < 128 ? byte : byte - 256) / 127;
  return Math.sign(q) * q * q;
});

// A view is {layer, head}: layer -1 is the rollout, head -1 the mean over heads. A token -1 stands
// for the whole input: the class token or, without one, the mean over all words or patches. Token -2
// is one that only other networks have.
class Maps {
  static async load(model, base64) {
    return new Maps(model, await inflate(base64));
  }

  constructor(model, buffer) {
    this.model = model;
    this.n = model.n;
    this.first = [0];  // map of head 0 of each layer; last, the rollout
    for (const heads of model.heads) this.first.push(this.first.at(-1) + heads);
    const rows = (this.first.at(-1) + (model.rollout ? 1 : 0)) * this.n;
    const view = new DataView(buffer);
    this.scales = Float64Array.from({length: rows}, (_, row) => view.getFloat32(4 * row, true));
    this.values = new Uint8Array(buffer, 4 * rows);
    this.summaries = new Map();
  }

  // The view that this network can show, where another has more layers or heads.
  nearest({layer, head}) {
    if (layer < 0 && this.model.rollout) return {layer: -1, head: -1};
    const last = this.model.heads.length - 1;
    const shown = layer < 0 ? last : Math.min(layer, last);
    return {layer: shown, head: Math.min(head, this.model.heads[shown] - 1)};
  }

  // How the weights of a token are laid out: a grid behind the first ones, which have no place on it.
  // Text is laid out in reading order.
  shape() {
    const {tokens, n, prefix, rows, cols} = this.model;
    if (!tokens) return {rows, cols, first: prefix};
    const columns = Math.ceil(Math.sqrt(2 * n));
    return {rows: Math.ceil(n / columns), cols: columns, first: 0};
  }

  // Numbers of the maps whose mean a view is.
  members({layer, head}) {
    if (layer < 0) return [this.first.at(-1)];
    if (head >= 0) return [this.first[layer] + head];
    return Array.from({length: this.model.heads[layer]}, (_, i) => this.first[layer] + i);
  }

  // Adds to `sum` what a token attends to in one map, or with `incoming` what attends to it.
  add(sum, map, token, incoming) {
    const {n, scales, values} = this;
    for (let i = 0; i < n; ++i) {
      const row = map * n + (incoming ? i : token);
      sum[i] += scales[row] * SQUARES[values[row * n + (incoming ? token : i)]];
    }
  }

  // The n weights of a token in a view.
  weights(view, token, incoming) {
    const sum = new Float64Array(this.n);
    if (token < -1) return sum;
    const maps = this.members(view);
    const whole = token === -1 && !this.model.class_token;
    for (const map of maps) {
      if (whole)
        this.summary(map, incoming).forEach((w, i) => {
          sum[i] += w;
        });
      else
        this.add(sum, map, Math.max(token, 0), incoming);
    }
    for (let i = 0; i < this.n; ++i) sum[i] /= maps.length;
    return sum;
  }

  // The mean over all words or patches in one map.
  summary(map, incoming) {
    const key = `${map} ${incoming}`;
    if (!this.summaries.has(key)) {
      const sum = new Float64Array(this.n), {prefix} = this.model;
      for (let token = prefix; token < this.n; ++token) this.add(sum, map, token, incoming);
      this.summaries.set(key, sum.map((w) => w / (this.n - prefix)));
    }
    return this.summaries.get(key);
  }

  // What sets the ends of the colours: the weights on other tokens than the class and register
  // tokens and the token itself, which would hide all others.
  counted(weights, token) {
    const self = token === -1 && this.model.class_token ? 0 : token;
    return weights.filter((_, i) => i >= this.model.prefix && i !== self);
  }

  // The same of all tokens of a view.
  countedOfAll(view, incoming) {
    const key = `${view.layer} ${view.head} ${incoming} counted`;
    if (!this.summaries.has(key)) {
      const all = new Float64Array(this.n * this.n);
      let size = 0;
      for (let token = 0; token < this.n; ++token) {
        const own = this.counted(this.weights(view, token, incoming), token);
        all.set(own, size);
        size += own.length;
      }
      this.summaries.set(key, all.slice(0, size));
    }
    return this.summaries.get(key);
  }
}

// The token of model `to` that stands where `token` of model `from` does: the same patch, or the
// same word counted from the start. -2 if there is none.
function counterpart(from, token, to) {
  if (from === to || token < 0) return token;
  if (from.objects) return sameObject(from, token, to);
  if (!from.tokens) {
    if (token < from.prefix) return token < to.prefix ? token : -2;
    const patch = token - from.prefix;
    const y = (Math.floor(patch / from.cols) + 0.5) / from.rows;
    const x = (patch % from.cols + 0.5) / from.cols;
    return to.prefix + Math.floor(y * to.rows) * to.cols + Math.floor(x * to.cols);
  }
  const word = from.tokens[token];
  let before = 0;
  for (let i = 0; i < token; ++i) before += from.tokens[i] === word;
  const found = to.tokens.findIndex((other) => other === word && before-- === 0);
  return found < 0 ? -2 : found;
}
