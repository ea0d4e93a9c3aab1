// The page: what is shown, the controls, and the numbers beside the planes.

const data = JSON.parse(document.getElementById('data').textContent);

const state = {
  number: 0,      // of the case
  at: [0, 0, 0],  // kept voxel that the planes go through
  show: new Set(['truth', 'prediction', 'cross']),
  map: -1,
  opacity: 0.5,
  active: 0,  // plane
};
let volume = null;  // the case that is shown
let shown = -1;
let views = [];

// Controls

const toggles = group(
    'Show',
    [
      ['truth', 'truth', 'as contours (T)'], ['prediction', 'prediction', 'as colours (P)'],
      ['errors', 'errors', 'false positives and negatives (E)'],
      ['cross', 'cross', 'the other planes (X)']
    ],
    toggle);
const slider = make('input', {
  type: 'range',
  min: 0,
  max: 1,
  step: 0.05,
  value: state.opacity,
  'aria-label': 'opacity',
  oninput: () => change({opacity: Number(slider.value)}),
});
const chooser = make(
    'select', {'aria-label': 'case', onchange: () => change({number: chooser.selectedIndex})},
    ...data.cases.map((one) => make('option', {textContent: one.name})));
const attention = make('div');
document.getElementById('controls')
    .append(
        toggles.element,
        make('div', {className: 'group'}, make('span', {textContent: 'Opacity'}), slider),
        attention);
document.getElementById('samples').append(
    data.cases.length > 1 ? chooser : make('bdi', {textContent: data.cases[0].name}));
document.title = data.title;
document.getElementById('title').textContent = data.title;
document.getElementById('notes').append(
    ...data.notes.map((note) => make('p', {textContent: note})));

// What stands beside the planes.
class Facts {
  constructor(info) {
    this.reading = make('p', {className: 'reading', 'aria-live': 'polite'});
    this.ends = make('div', {className: 'ends'});
    const bar = make('div', {className: 'bar'});
    bar.style.background = `linear-gradient(to right, ${info.palette.map(css).join(', ')})`;
    this.legend = make(
        'div', {className: 'legend'}, bar, this.ends,
        make('div', {className: 'quantity', textContent: info.quantity}));
    this.element = make(
        'section', {className: 'facts'}, this.table(info.classes), this.mistakes(info.classes),
        this.legend, ...this.lines(info).map((text) => make('p', {textContent: text})),
        this.reading);
  }

  swatch(colour) {
    const square = make('span', {className: 'swatch'});
    square.style.background = css(colour);
    return square;
  }

  table(classes) {
    const rows = classes.slice(1).map(
        ({name, colour, dice}) => make(
            'tr', {}, make('td', {}, this.swatch(colour), make('bdi', {textContent: name})),
            make(
                'td',
                {textContent: dice === null ? 'in neither' : `${(100 * dice).toFixed(2)} %`})));
    const head = make(
        'tr', {}, make('th', {textContent: 'class'}),
        make('th', {textContent: 'Dice of the case'}));
    return make('table', {}, head, ...rows);
  }

  mistakes(classes) {
    const kinds = classes.length > 2 ? data.errors : data.errors.slice(0, 2);
    return make(
        'p', {className: 'mistakes'},
        ...kinds.map(({name, colour}) => make('span', {}, this.swatch(colour), name)));
  }

  lines({full, spacing, step, window}) {
    const list = (values, digits) =>
        values.map((v) => digits ? String(Number(v.toFixed(digits))) : String(v)).join(' \u00d7 ');
    const lines = [
      'lines: truth; filled: prediction',
      `${list(full)} voxels of ${list(spacing, 3)} mm (depth, height, width)`,
      `grey from ${number(window[0])} (black) to ${
          number(window[1])} (white), the percentiles 0.5 and 99.5 of the case`
    ];
    if (step.some((s) => s > 1))
      lines.push(`sampled, to keep the page small: one voxel of ${list(step)} is shown`);
    return lines;
  }

  paint() {
    const {info} = volume, i = volume.index(state.at), map = info.maps[state.map];
    const place = state.at.map((k, axis) => volume.number(axis, k)).join(', ');
    const value =
        map ? `; ${map.name} ${number(volume.share(state.map, state.at) * map.limit)}` : '';
    this.reading.textContent =
        `Voxel ${place}: truth ${info.classes[volume.truth[i]].name}, prediction ${
            info.classes[volume.predicted[i]].name}${value}`;
    this.legend.hidden = !map;
    if (!map) return;
    this.ends.replaceChildren(
        ...(info.signed ? [-1, -0.5, 0, 0.5, 1] : [
          0, 0.5, 1
        ]).map((share) => make('span', {textContent: number(share * map.limit)})));
  }
}
let facts = null;
let stages = null;

function paint() {
  toggles.mark(state.show);
  stages?.mark(state.map);
  chooser.selectedIndex = state.number;
  slider.value = state.opacity;
  views.forEach((view, k) => view.paint(state, k === state.active));
  facts.paint();
}

const schedule = onceAFrame(paint);

async function showCase() {
  const wanted = state.number, info = data.cases[wanted];
  const loaded = await Case.load(info, document.getElementById(`case-${wanted}`).textContent);
  if (wanted !== state.number) return;  // another was chosen meanwhile
  volume = loaded;
  shown = wanted;
  state.at = state.at.map((k, axis) => Math.min(k, info.size[axis] - 1));
  if (state.map >= info.maps.length) state.map = -1;
  const longest = Math.max(...[0, 1, 2].map((axis) => volume.extent(axis)));
  const actions = (k) => ({
    move: (changes) => change({at: state.at.map((old, axis) => changes[axis] ?? old)}),
    step,
    activate: () => state.active !== k && change({active: k}),
  });
  views = PLANES.map((plane, k) => new PlaneView(plane, volume, 360 / longest, actions(k)));
  facts = new Facts(info);
  stages = info.maps.length === 0 ?
      null :
      group(
          'Attention', [[-1, 'off'], ...info.maps.map(({name, note}, k) => [k, name, note])],
          (map) => change({map}));
  attention.replaceChildren(...(stages ? [stages.element] : []));
  document.getElementById('volume').replaceChildren(
      ...views.map((view) => view.element), facts.element);
  paint();
  document.body.dataset.ready = String(wanted);
}

// Changes of the state

function middle(number) {
  return data.cases[number].size.map((count) => Math.floor(count / 2));
}

function change(changes) {
  if ('number' in changes && changes.number !== state.number) state.at = middle(changes.number);
  Object.assign(state, changes);
  if (state.number !== shown)
    showCase().catch(report);
  else
    schedule();
  writeHash();
}

function toggle(name) {
  const show = new Set(state.show);
  if (!show.delete(name)) show.add(name);
  change({show});
}

function step(axis, by) {
  const at = [...state.at];
  at[axis] = Math.min(Math.max(at[axis] + by, 0), volume.info.size[axis] - 1);
  change({at});
}

function writeHash() {
  const words = new URLSearchParams({
    case: state.number,
    at: state.at.join('.'),
    show: [...state.show].join('.'),
    map: state.map,
    opacity: state.opacity
  });
  history.replaceState(null, '', `#${words}`);
}

function readHash() {
  const words = new URLSearchParams(location.hash.slice(1));
  const whole = (text, low, high) =>
      /^-?\d+$/.test(text ?? '') && Number(text) >= low && Number(text) < high ? Number(text) :
                                                                                 undefined;
  state.number = whole(words.get('case'), 0, data.cases.length) ?? 0;
  const {size, maps} = data.cases[state.number], places = (words.get('at') ?? '').split('.');
  state.at = middle(state.number).map((k, axis) => whole(places[axis], 0, size[axis]) ?? k);
  if (words.has('show')) state.show = new Set(words.get('show').split('.').filter(Boolean));
  state.map = whole(words.get('map'), 0, maps.length) ?? -1;
  const opacity = Number(words.get('opacity') ?? NaN);
  if (opacity >= 0 && opacity <= 1) state.opacity = opacity;
}

// Keys

const nextSlice = (by) => step(PLANES[state.active].across, by);
const keys = {
  ArrowLeft: () => nextSlice(-1),
  ArrowDown: () => nextSlice(-1),
  ArrowRight: () => nextSlice(1),
  ArrowUp: () => nextSlice(1),
  1: () => change({active: 0}),
  2: () => change({active: 1}),
  3: () => change({active: 2}),
  t: () => toggle('truth'),
  p: () => toggle('prediction'),
  e: () => toggle('errors'),
  x: () => toggle('cross'),
  a: () => change({map: state.map + 1 < volume.info.maps.length ? state.map + 1 : -1}),
  n: () => change({number: (state.number + 1) % data.cases.length}),
};

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !volume) return;
  if (event.target.closest('select, input')) return;
  const key = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!key) return;
  key();
  event.preventDefault();
});

function report(error) {
  document.getElementById('volume').replaceChildren(
      make('p', {className: 'problem', textContent: `The case cannot be read: ${error.message}`}));
}

addEventListener('hashchange', () => {
  readHash();
  change({});
});
readHash();
showCase().catch(report);
