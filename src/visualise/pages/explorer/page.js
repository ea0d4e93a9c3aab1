// The page: its state, the panels of the models, controls and keys.

const data = JSON.parse(document.getElementById('data').textContent);
const models = data.samples.flatMap((sample) => sample.models);
const depth = Math.max(...models.map((model) => model.heads.length));
const heads = Math.max(0, ...models.flatMap((model) => model.heads));
const ofObjects = models.some((model) => model.objects);
const ofRelevance = data.relevance;
const hasRollout = ofObjects || models.some((model) => model.rollout);  // a view before layer 1

// source: the panel whose token it is. probe: the token under the mouse while another is kept.
const state = {
  sample: 0,
  layer: hasRollout ? -1 : depth - 1,
  head: -1,
  token: -1,
  source: 0,
  pinned: false,
  probe: -1,
  probeSource: 0,
  incoming: false,
  ends: data.scale.ends,
  sharing: data.scale.sharing,
  image: 0.5,
};
const choice = ofRelevance ? new Choice(models, () => change({})) : null;
let panels = [];
let input = null;  // the picture alone
let shownSample = -1;

class Panel {
  constructor(model, maps, image, index) {
    this.model = model;
    this.maps = maps;
    const actions = {
      hover: (token) => hover(index, token),
      pin: (token) => pin(index, token),
      repaint: schedule
    };
    this.index = index;
    this.view = model.objects ? new ObjectPicture(model, image, actions) :
        image                 ? new Picture(model, image, actions) :
                                new Words(model, model.n, actions);
    this.legend = new Legend();
    this.strongest = new Strongest();
    this.picker = ofRelevance ? null : new Picker(maps, (layer, head) => change({layer, head}));
    this.heat = null;
    this.view.element.classList.add('view');
    const note = model.note ? make('small', {textContent: model.note}) : '';
    const heading = ofRelevance ? model.method : model.name;
    this.element = make(
        'section', {className: image ? 'panel' : 'panel text'},
        make('h2', {}, make('bdi', {textContent: heading}), note), this.view.element,
        this.legend.element, this.strongest.element, ...(this.picker ? [this.picker.element] : []));
  }

  describe(view, token) {
    if (this.model.objects) return this.describeObject(view, token);
    if (ofRelevance) return ['spoke for ', make('bdi', {textContent: this.model.target})];
    const name = nameOfView(this.model, view);
    const verb = state.incoming ? ' is attended by' : ' attends to';
    if (token === -2) return [`${name}: no such token here`];
    if (token < 0) {
      const mean = this.model.prefix ? 'mean over patches' : 'mean over all tokens';
      return [`${name}: ${this.model.class_token ? 'class token' + verb : mean}`];
    }
    const quotes = this.model.tokens ? ['“', '”'] : ['', ''];
    return [
      `${name}: ${quotes[0]}`, make('bdi', {textContent: nameOf(this.model, token)}),
      quotes[1] + verb
    ];
  }

  describeObject(view, token) {
    const count = this.model.objects.length;
    if (token === -2) return ['nothing found there'];
    if (token < 0) return [count > 0 ? `${count} found; point at one` : 'nothing found'];
    const what = view.layer < 0 ? ': no map' : `, ${nameOfView(this.model, view)}`;
    return [make('bdi', {textContent: nameOf(this.model, token)}), what];
  }

  // What there is to show, and the values that its colours are made for.
  look() {
    const source = panels[state.source].model;
    const token = counterpart(source, state.token, this.model);
    const view = this.maps.nearest(state, token);
    const weights = this.maps.weights(view, token, state.incoming);
    const quantity = quantityOf(this.model, view);
    const values = state.sharing === 'map' ? this.maps.countedOfAll(view, state.incoming) :
                                             this.maps.counted(weights, token, view);
    return {token, view, weights, quantity, ends: endsFor(state.ends, quantity), values};
  }

  // The place whose value is read. Places of detectors lie on grids of their own.
  probed(token) {
    if (ofRelevance && state.probe < 0) return token;
    if (!state.pinned) return -1;
    if (this.model.objects) return state.probeSource === this.index ? state.probe : -1;
    return counterpart(panels[state.probeSource].model, state.probe, this.model);
  }

  paint({token, view, weights, quantity, ends}, limits) {
    const probe = this.probed(token);
    const heat = this.heat = Heat.kept(this.heat, quantity, ends, limits);
    const sharing = SHARING[state.sharing];
    this.legend.paint(this.model, view, this.describe(view, token), weights, heat, sharing, probe);
    const other = ofRelevance && probe === token ? -1 : probe;
    this.view.paint(weights, heat, token, other, state.image, view);
    this.strongest.paint(this.model, view, weights, heat);
    this.picker?.paint(view, token, state.incoming, state.ends);
  }
}

// What the legend says of who has the same colours.
const SHARING = {
  token: '',
  map: ', of the whole map',
  figure: ', one scale for all networks'
};

// Controls

const numbers = (count) => Array.from({length: count}, (_, i) => [i, String(i + 1)]);
const firstView = ofObjects ? [-1, 'of its stage', 'of the stage that found the object (R)'] :
                              [-1, 'rollout', 'through all layers (R)'];
const controls = {
  ...(ofRelevance ? {} : {
    layer: group(
        ofObjects ? 'Map' : 'Layer', [...(hasRollout ? [firstView] : []), ...numbers(depth)],
        (layer) => change({layer})),
    head: group('Head', [[-1, 'mean'], ...numbers(heads)], (head) => change({head})),
  }),
  ...(ofObjects || ofRelevance ? {} : {
    incoming: group(
        'Token', [[false, 'attends to'], [true, 'is attended by']],
        (incoming) => change({incoming}))
  }),
  ends: group(
      'Colours',
      [
        ['percentiles', 'percentiles', 'from the 1st to the 99th; signed weights as far on both sides'],
        ['from_zero', 'from 0', 'to the strongest'],
        ['even_share', 'times even', 'logarithms in times an even share; signed weights: percentiles'],
        ['minmax', 'least to largest', 'signed weights lose the colours of their signs']
      ].filter(([ends]) => !ofRelevance || ends !== 'even_share'),
      (ends) => change({ends})),
  ...(choice?.names.run.length === 1 ? {} : {
    sharing: group(
        'of',
        ofRelevance ?
            [
              ['token', 'each map', 'by itself'],
              ['figure', 'a method’s runs', 'comparable between runs']
            ] :
            [
              ['token', ofObjects ? 'each object' : 'each token', 'of each network by itself'],
              ['map', 'whole map', `comparable between ${ofObjects ? 'objects' : 'tokens'}`],
              ['figure', 'all networks', 'comparable between networks of one quantity']
            ],
        (sharing) => change({sharing})),
  }),
};
document.body.classList.toggle('of-relevance', ofRelevance);
document.getElementById('controls')
    .append(...(choice?.elements ?? []), ...Object.values(controls).map((control) => control.element));
if (data.samples.some((sample) => sample.picture)) {
  const slider = make('input', {
    type: 'range',
    min: 0,
    max: 1,
    step: 0.05,
    value: state.image,
    'aria-label': 'strength of the picture',
    oninput: () => change({image: Number(slider.value)})
  });
  document.getElementById('controls')
      .append(make('div', {className: 'group'}, make('span', {textContent: 'Picture'}), slider));
}
const chooser = make(
    'select', {'aria-label': 'input', onchange: () => change({sample: chooser.selectedIndex})},
    ...data.samples.map((sample) => make('option', {textContent: sample.name})));
if (data.samples.length > 1)
  document.getElementById('samples').append(chooser);
else if (data.samples[0].name)
  document.getElementById('samples').append(data.samples[0].name);
document.title = data.title;
document.getElementById('title').textContent = data.title;

// The limits of what is shown. Maps of relevance stay the same while the mouse moves.
let kept = {};
function limitsOfAll(shown) {
  const key = [state.sample, state.ends, state.sharing, choice?.text()].join(' ');
  if (ofRelevance && kept.key === key) return kept.limits;
  const limits = state.sharing === 'figure' ?
      commonLimits(shown) :
      shown.map(({values, ends, quantity}) => limitsOf(values, ends, quantity));
  kept = {key, limits};
  return limits;
}

// Where the window is wide enough, the maps of a method stand in one row, a column for each run.
function align(seen) {
  const main = document.getElementById('panels');
  const before = input ? 1 : 0, runs = choice.shown.run.size;
  const wide = runs > 1 && main.clientWidth >= (before + runs) * 320;
  main.style.gridTemplateColumns = wide ? `repeat(${before + runs}, minmax(0, 1fr))` : '';
  seen.forEach((panel, k) => {
    panel.element.style.gridColumnStart = wide && k % runs === 0 ? before + 1 : '';
  });
}

function paint() {
  choice?.mark();
  controls.layer?.mark(state.layer);
  controls.head?.mark(state.head, state.layer < 0 && !ofObjects);
  controls.incoming?.mark(state.incoming);
  controls.ends.mark(state.ends);
  controls.sharing?.mark(state.sharing);
  chooser.selectedIndex = state.sample;
  for (const panel of panels) panel.element.hidden = choice !== null && !choice.shows(panel.model);
  const seen = panels.filter((panel) => !panel.element.hidden);
  if (choice) align(seen);
  const shown = seen.map((panel) => panel.look());
  const limits = limitsOfAll(shown);
  seen.forEach((panel, k) => panel.paint(shown[k], limits[k]));
  if (input) input.paint();
}

const schedule = onceAFrame(paint);
const kindOfMaps = ofRelevance ? RelevanceMap : ofObjects ? ObjectMaps : Maps;

async function showSample() {
  const index = state.sample, sample = data.samples[index];
  const image = sample.picture ? make('img', {src: sample.picture}) : null;
  if (image) await image.decode();
  const loaded = await Promise.all(sample.models.map(
      (model, k) => kindOfMaps.load(model, document.getElementById(`maps-${index}-${k}`).textContent)));
  if (index !== state.sample) return;  // another was chosen meanwhile
  shownSample = index;
  state.source = Math.min(state.source, sample.models.length - 1);
  if (state.token >= sample.models[state.source].n)
    Object.assign(state, {token: -1, pinned: false});
  panels = sample.models.map((model, k) => new Panel(model, loaded[k], image, k));
  moveZoom(0, 0, 1);
  input = !image ? null :
      sample.truth ? new TruePicture(image, sample.truth, schedule) :
                     new InputPicture(image, schedule);
  const main = document.getElementById('panels');
  main.classList.toggle('pictures', Boolean(image));
  main.replaceChildren(
      ...(input ? [inputPanel()] : []), ...panels.map((panel) => panel.element));
  paint();
  document.body.dataset.ready = String(index);
  performance.mark('ready');
}

function inputPanel() {
  const gap = panels.some((panel) => panel.model.prefix)  // as high as the class token's row
      ?
      [make(
          'div', {className: 'tokens short hidden'},
          make('span', {className: 'token mark', textContent: '\u00a0'}))] :
      [];
  const view = make('div', {className: 'view'}, ...gap, input.canvas);
  return make('section', {className: 'panel'}, make('h2', {textContent: input instanceof TruePicture ? 'truth' : 'input'}), view);
}

// Changes of the state

function change(changes) {
  if ('sample' in changes) Object.assign(state, {token: -1, pinned: false, probe: -1});
  Object.assign(state, changes);
  if (state.sample !== shownSample)
    showSample().catch(report);
  else
    schedule();
  writeHash();
}

function hover(source, token) {
  if (state.pinned)
    Object.assign(state, {probe: token, probeSource: source});
  else
    Object.assign(state, {token, source});
  schedule();
}

function pin(source, token) {
  const again = state.pinned &&
      counterpart(panels[state.source].model, state.token, panels[source].model) === token;
  if (again)
    change({pinned: false, probe: -1});
  else
    change({pinned: true, source, token, probe: -1});
}

// Layers and heads count from 1 in the address, tokens from 0.
function writeHash() {
  const words = new URLSearchParams();
  if (state.sample) words.set('input', state.sample);
  if (!ofRelevance) words.set('layer', state.layer < 0 ? 'rollout' : state.layer + 1);
  if (choice && choice.text() !== choice.begin) words.set('shown', choice.text());
  if (state.head >= 0) words.set('head', state.head + 1);
  if (state.incoming) words.set('incoming', 1);
  if (state.ends !== data.scale.ends) words.set('ends', state.ends);
  if (state.sharing !== data.scale.sharing) words.set('sharing', state.sharing);
  if (state.pinned) words.set('model', state.source + 1);
  if (state.pinned) words.set('token', state.token);
  history.replaceState(null, '', `#${words}`);
}

function readHash() {
  const words = new URLSearchParams(location.hash.slice(1));
  const integer = (name, low, high) => {
    const value = Number(words.get(name) ?? NaN);
    return Number.isInteger(value) && value >= low && value < high ? value : undefined;
  };
  state.sample = integer('input', 0, data.samples.length) ?? state.sample;
  state.layer = (integer('layer', 1, depth + 1) ?? state.layer + 1) - 1;
  state.head = (integer('head', 1, heads + 1) ?? 0) - 1;
  state.incoming = words.has('incoming');
  choice?.read(words.get('shown'));
  const oneOf = (name, known) => known.includes(words.get(name)) ? words.get(name) : data.scale[name];
  state.ends = oneOf('ends', ['percentiles', 'from_zero', 'even_share', 'minmax']);
  state.sharing = oneOf('sharing', Object.keys(SHARING));
  const sample = data.samples[state.sample];
  state.source = (integer('model', 1, sample.models.length + 1) ?? 1) - 1;
  state.token = integer('token', 0, sample.models[state.source].n) ?? -1;
  state.pinned = state.token >= 0;
}

// Keys

function moveToken(dx, dy) {
  if (state.token < 0) return false;
  const token = panels[state.source].view.step(state.token, dx, dy);
  if (token >= 0 && token < panels[state.source].model.n) change({token, pinned: true});
  return true;
}

function turn(name, by, low, count) {
  change({[name]: Math.max(low, Math.min(state[name] + by, count - 1))});
}

// Around the middle.
function zoomFromKey(factor) {
  if (!input) return false;
  zoomBy(factor, 0.5, 0.5);
  schedule();
  return true;
}

let lastLayer = depth - 1;
const keys = {
  ArrowLeft: () => moveToken(-1, 0),
  ArrowRight: () => moveToken(1, 0),
  ArrowUp: () => moveToken(0, -1),
  ArrowDown: () => moveToken(0, 1),
  Escape: () => change({token: -1, pinned: false, probe: -1}),
  w: () => turn('layer', -1, hasRollout ? -1 : 0, depth),
  s: () => turn('layer', 1, -1, depth),
  a: () => turn('head', -1, -1, heads),
  d: () => turn('head', 1, -1, heads),
  r: () => {
    if (!hasRollout) return;
    if (state.layer >= 0) lastLayer = state.layer;
    change({layer: state.layer < 0 ? lastLayer : -1});
  },
  t: () => {
    if (controls.incoming) change({incoming: !state.incoming});
  },
  '+': () => zoomFromKey(1.5),
  '=': () => zoomFromKey(1.5),
  '-': () => zoomFromKey(1 / 1.5),
  '0': () => zoomFromKey(0),
  n: () => {
    if (state.sample + 1 < data.samples.length) change({sample: state.sample + 1});
  },
  p: () => {
    if (state.sample > 0) change({sample: state.sample - 1});
  },
};

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || panels.length === 0) return;
  if (event.target.closest('select, input')) return;
  const focused = panels.findIndex((panel) => panel.view.element.contains(event.target));
  if (event.key.startsWith('Arrow') && state.token < 0 && focused >= 0 &&
      panels[focused].model.n > 0) {
    change({source: focused, token: 0, pinned: true});
    event.preventDefault();
    return;
  }
  const key = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (key && key() !== false) event.preventDefault();
});

function report(error) {
  const old = typeof DecompressionStream === 'undefined' ?
      'This browser is too old for the page: it needs Chrome 80, Firefox 113 or Safari 16.4.' :
      '';
  document.getElementById('panels').replaceChildren(make(
      'p',
      {className: 'problem', textContent: old || `The maps cannot be read: ${error.message}`}));
}

if (choice) addEventListener('resize', schedule);
addEventListener('hashchange', () => {
  readHash();
  change({});
});
readHash();
showSample().catch(report);
