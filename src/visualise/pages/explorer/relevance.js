// Relevance: what spoke for a class. A network and a method have one map; its places take the place
// of tokens, and the one under the mouse is read in all maps.

class RelevanceMap {
  static async load(model, base64) {
    return new RelevanceMap(model, await inflate(base64));
  }

  // explorer_maps.h: a scale, then the values.
  constructor(model, buffer) {
    this.model = model;
    const scale = new DataView(buffer).getFloat32(0, true);
    this.values =
        Float64Array.from(new Uint8Array(buffer, 4, model.n), (byte) => scale * SQUARES[byte]);
  }

  nearest() {
    return {layer: 0, head: 0};
  }

  // Whatever the token is.
  weights() {
    return this.values;
  }

  counted() {
    return this.values;
  }
}

// The names that some models have under a key, each once.
const distinct = (models, key) => [...new Set(models.map((model) => model[key]))];

const MOST_AT_FIRST = 6;  // panels that are shown before anything is chosen

// Which runs and methods are seen; at least one of each.
class Choice {
  constructor(models, changed) {
    this.names = {run: distinct(models, 'run'), method: distinct(models, 'method')};
    const first = Math.max(1, Math.floor(MOST_AT_FIRST / this.names.run.length));
    this.shown = {run: new Set(this.names.run), method: new Set(this.names.method.slice(0, first))};
    this.begin = this.text();
    const buttons = (label, key) => group(
        label, this.names[key].map((name) => [name, name, 'shows it, or not']), (name) => {
          const {shown} = this;
          if (shown[key].has(name) && shown[key].size === 1) return;
          if (!shown[key].delete(name)) shown[key].add(name);
          changed();
        });
    this.groups = {method: buttons('Methods', 'method'), run: buttons('Runs', 'run')};
    this.elements = Object.entries(this.groups)
                        .filter(([key]) => this.names[key].length > 1)
                        .map(([, own]) => own.element);
  }

  shows({run, method}) {
    return this.shown.run.has(run) && this.shown.method.has(method);
  }

  mark() {
    for (const [key, own] of Object.entries(this.groups)) own.mark(this.shown[key]);
  }

  // For the address: numbers of methods and runs.
  text() {
    const numbersOf = (key) =>
        this.names[key].flatMap((name, k) => this.shown[key].has(name) ? [k + 1] : []).join('.');
    return `${numbersOf('method')}_${numbersOf('run')}`;
  }

  read(text) {
    const [methods, runs] = (text ?? this.begin).split('_');
    for (const [key, numbers] of [['method', methods], ['run', runs]]) {
      const chosen = (numbers ?? '').split('.').map((k) => this.names[key][k - 1]).filter(
          (name) => name !== undefined);
      if (chosen.length > 0) this.shown[key] = new Set(chosen);
    }
  }
}
