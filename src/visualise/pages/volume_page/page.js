// The page: what is shown, the controls, and the numbers beside the planes.

const data = JSON.parse(document.getElementById('data').textContent);

const state = {
  number: 0,      // of the case
  at: [0, 0, 0],  // kept voxel that the planes go through
  show: new Set(),
  map: -1,
  opacity: 0.5,
  active: 0,  // plane
  zoom: 1,
  centre: null,  // of what is seen, in kept voxels from the volume's corner; null: its middle
  window: null,  // values that are black and white; null: those of the case
};
let volume = null;  // the case that is shown
let shown = -1;
let views = [];

// Controls

// Files of one's own have no truth to compare with.
const judged = data.cases.some(({truth}) => truth);
const toggles = group(
    'Show',
    [
      ['truth', 'truth', 'as contours (T)'], ['prediction', 'prediction', 'as colours (P)'],
      ['errors', 'errors', 'false positives and negatives (E)'],
      ['cross', 'cross', 'the other planes (X)']
    ].filter(([value]) => judged || (value !== 'truth' && value !== 'errors')),
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
// Cases by their names; of each there may be one for every run.
const names = [...new Set(data.cases.map((one) => one.name))];
const runs = [...new Set(data.cases.map((one) => one.run))];
const choose = (name, run) => {
  const fits = (one) => one.name === name && one.run === run;
  const number = data.cases.findIndex(fits);
  change({number: number < 0 ? data.cases.findIndex((one) => one.name === name) : number});
};
const chooser = make(
    'select', {
      'aria-label': 'case',
      onchange: () => choose(names[chooser.selectedIndex], data.cases[state.number].run)
    },
    ...names.map((name) => make('option', {textContent: name})));
const runChooser = runs.length < 2 ?
    null :
    group('Run', runs.map((run) => [run, run]), (run) => choose(data.cases[state.number].name, run));
const attention = make('div');
const windowing = make('div', {className: 'group windowing'});
document.getElementById('controls')
    .append(
        ...(runChooser ? [runChooser.element] : []), toggles.element,
        make('div', {className: 'group'}, make('span', {textContent: 'Opacity'}), slider),
        windowing, attention);
document.getElementById('samples').append(
    names.length > 1 ? chooser : make('bdi', {textContent: names[0]}));
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
        'section', {className: 'facts'}, this.table(info),
        ...(info.truth ? [this.mistakes(info.classes)] : []), this.legend, ...this.lines(info).map((text) => make('p', {textContent: text})),
        this.reading);
  }

  swatch(colour) {
    const square = make('span', {className: 'swatch'});
    square.style.background = css(colour);
    return square;
  }

  // Where regions are scored, which have no colour, classes have no Dice; without truth nothing has.
  table({classes, regions, truth}) {
    const share = (dice) => dice === undefined ? '' :
        dice === null                          ? 'in neither' :
                                                 `${(100 * dice).toFixed(2)} %`;
    const rows = [...classes.slice(1), ...regions].map(
        ({name, colour, dice}) => make(
            'tr', {},
            make(
                'td', {}, ...(colour ? [this.swatch(colour)] : []),
                make('bdi', {textContent: name})),
            make('td', {textContent: share(dice)})));
    const head = make(
        'tr', {}, make('th', {textContent: 'class'}),
        make('th', {textContent: truth ? 'Dice of the case' : ''}));
    return make('table', {}, head, ...rows);
  }

  mistakes(classes) {
    const kinds = classes.length > 2 ? data.errors : data.errors.slice(0, 2);
    return make(
        'p', {className: 'mistakes'},
        ...kinds.map(({name, colour}) => make('span', {}, this.swatch(colour), name)));
  }

  lines(info) {
    const {full, spacing, step, file, unit, range, truth} = info;
    const list = (values, digits) =>
        values.map((v) => digits ? String(Number(v.toFixed(digits))) : String(v)).join(' \u00d7 ');
    const ofFile = [0, 0, 0];
    file.forEach(({axis, size}) => ofFile[axis] = size);
    const lines = [
      ...(info.note ? [info.note] : []),
      truth ? 'lines: truth; filled: prediction' : 'filled: prediction; the file has no truth',
      this.directions(info),
      `file: ${list(ofFile)} voxels (slices, rows, columns); shown: ${list(full)} of ${
          list(spacing, 3)} mm (depth, height, width)`,
      unit ? `values in ${unit}, cut to ${number(range[0])} to ${
                 number(range[1])} as they were prepared` :
             'values as the network sees them, from the percentile 0.5 (black) to 99.5 (white)',
    ];
    if (step.some((s) => s > 1))
      lines.push(`sampled, to keep the page small: one voxel of ${list(step)} is shown`);
    return lines;
  }

  directions({codes, radiological, tilt}) {
    if (!codes) {
      return 'The file does not say how it lies in the body: planes are named by the axes of the ' +
          'volume.';
    }
    const side = radiological ? 'left' : 'right';
    return `Planes by the file\u2019s affine: R, L, A, P, S, I at the edges are right, left, front, ` +
        `back, head and feet. The patient\u2019s right is at the ${side} (${
               radiological ? 'radiological' : 'neurological'}).${
               tilt < 1 ? '' : ` The volume is tilted by up to ${Math.round(tilt)}\u00b0 from these directions.`}`;
  }

  paint() {
    const {info} = volume, i = volume.index(state.at), map = info.maps[state.map];
    const place = volume.fileVoxel(state.at).join(', ');
    const grey = `${number(volume.value(i))}${info.unit ? ` ${info.unit}` : ''}`;
    const value =
        map ? `; ${map.name} ${number(volume.share(state.map, state.at) * map.limit)}` : '';
    const truth = volume.truth ? `, truth ${info.classes[volume.truth[i]].name}` : '';
    this.reading.textContent = `Voxel ${place} of the file: ${grey}${truth}, prediction ${
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
let looks = null;

// Width and middle of the values between black and white; for Hounsfield units also the usual ones.
const LOOKS = [
  ['soft tissue', 400, 40], ['lung', 1500, -600], ['bone', 1800, 400], ['brain', 80, 40],
  ['liver', 150, 30]
];

class WindowControls {
  constructor(info) {
    this.info = info;
    const [least, largest] = info.range;
    // Those of which at least half can be seen.
    this.looks = !info.unit ? [] : LOOKS.filter(([, width, level]) => {
      const seen = Math.min(level + width / 2, largest) - Math.max(level - width / 2, least);
      return seen >= width / 2;
    });
    const field = (name) => make('input', {
      type: 'number',
      step: 'any',
      'aria-label': name,
      onchange: () => this.typed(),
    });
    [this.width, this.level] = [field('window'), field('level')];
    this.chooser = make(
        'select', {'aria-label': 'usual windows', onchange: () => this.chosen()},
        ...['this case', ...this.looks.map(([name]) => name), 'own'].map(
            (text) => make('option', {textContent: text})));
    this.parts = [
      make('span', {textContent: 'Window'}), this.width,
      make('span', {className: 'next', textContent: 'level'}), this.level,
      make('span', {className: 'next', textContent: info.unit}), this.chooser
    ];
  }

  static around(width, level) {
    return [level - width / 2, level + width / 2];
  }
  typed() {
    const [width, level] = [this.width.valueAsNumber, this.level.valueAsNumber];
    if (width > 0 && Number.isFinite(level))
      change({window: WindowControls.around(width, level)});
    else
      schedule();
  }
  chosen() {
    const k = this.chooser.selectedIndex - 1;
    if (k < 0) change({window: null});
    if (k >= 0 && k < this.looks.length)
      change({window: WindowControls.around(this.looks[k][1], this.looks[k][2])});
  }
  // Shares of the range: wider, and higher.
  drag(wider, higher) {
    const [least, largest] = this.info.range, [low, high] = state.window ?? this.info.window;
    const width = Math.max(high - low + wider * (largest - least), (largest - least) / 255);
    change({
      window: WindowControls.around(width, (low + high) / 2 + higher * (largest - least))
    });
  }

  paint() {
    const [low, high] = state.window ?? this.info.window;
    const digits = (value) => String(Number(value.toPrecision(4)));
    if (document.activeElement !== this.width) this.width.value = digits(high - low);
    if (document.activeElement !== this.level) this.level.value = digits((low + high) / 2);
    const known = this.looks.findIndex(
        ([, width, level]) => Math.abs(width - (high - low)) < 1e-6 * width &&
            Math.abs(level - (low + high) / 2) < 1e-6 * width);
    this.chooser.selectedIndex =
        !state.window ? 0 : known >= 0 ? known + 1 : this.looks.length + 1;
  }
}

function paint() {
  toggles.mark(state.show);
  stages?.mark(state.map);
  chooser.selectedIndex = names.indexOf(volume.info.name);
  runChooser?.mark(volume.info.run);
  slider.value = state.opacity;
  looks.paint();
  volume.look(...(state.window ?? volume.info.window));
  const seen = {...state, centre: centre()};
  views.forEach((view, k) => view.paint(seen, k === state.active));
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
  const actions = (k) => ({
    move: (changes) => change({at: state.at.map((old, axis) => changes[axis] ?? old)}),
    step,
    activate: () => state.active !== k && change({active: k}),
    zoom: zoomAt,
    shift: (by) => change({centre: centre().map((old, axis) => old + (by[axis] ?? 0))}),
    look: (wider, higher) => looks.drag(wider, higher),
  });
  views = info.planes.map((plane, k) => new PlaneView(plane, volume, actions(k)));
  looks = new WindowControls(info);
  windowing.replaceChildren(...looks.parts);
  facts = new Facts(info);
  stages = info.maps.length === 0 ?
      null :
      group(
          data.maps, [[-1, 'off'], ...info.maps.map(({name, note}, k) => [k, name, note])],
          (map) => change({map}));
  attention.replaceChildren(...(stages ? [stages.element] : []));
  document.getElementById('volume').replaceChildren(
      make('div', {className: 'planes'}, ...views.map((view) => view.element)), facts.element);
  fit();
  paint();
  document.body.dataset.ready = String(wanted);
}

// The scale at which the three planes fill the window, all the same: beside the facts where there
// is room, else above them, and below each other where the window is narrow.
function fit() {
  const main = document.getElementById('volume'), style = getComputedStyle(main);
  const room = main.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const gap = 20, beside = room >= 1000, narrow = room < 600;
  main.classList.toggle('beside', beside);
  const widths = views.map((view) => view.wide), tallest = Math.max(...views.map((v) => v.high));
  const sum = widths.reduce((a, b) => a + b);
  const across = narrow ? room / Math.max(...widths) :
                          (room - 2 * gap - (beside ? 280 : 0)) / sum;
  const header = document.querySelector('header').offsetHeight;
  const down = Math.max(240, innerHeight - header - 100) / tallest;
  views.forEach((view) => view.resize(Math.min(across, down)));
}

// Changes of the state

// The middle of what is seen, so that all of it lies in the volume.
function centre() {
  const {size} = volume.info;
  return (state.centre ?? size.map((count) => count / 2)).map((middle, axis) => {
    const half = size[axis] / state.zoom / 2;
    return Math.min(Math.max(middle, half), size[axis] - half);
  });
}

// Closer by a factor; the place under the pointer stays where it is. `place`: of two axes.
function zoomAt(factor, place) {
  const zoom = Math.min(Math.max(state.zoom * factor, 1), 32), ratio = state.zoom / zoom;
  const moved = centre().map((old, axis) => {
    const still = place[axis] ?? state.at[axis] + 0.5;
    return still + (old - still) * ratio;
  });
  change({zoom, centre: moved});
}

// What is chosen is also seen.
function follow() {
  state.centre = centre().map((middle, axis) => {
    const half = volume.info.size[axis] / state.zoom / 2, at = state.at[axis] + 0.5;
    return Math.abs(at - middle) > half ? at : middle;
  });
}

// Of the same voxels as another run saw the same place stays.
function sameVoxels(one, other) {
  return one.name === other.name && one.size.every((count, axis) => count === other.size[axis]);
}

function change(changes) {
  const to = data.cases[changes.number ?? state.number];
  if (!sameVoxels(to, data.cases[state.number])) {
    Object.assign(state, {at: to.start, zoom: 1, centre: null, window: null});
  }
  Object.assign(state, changes);
  if ('at' in changes && state.zoom > 1) follow();
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
  if (state.zoom > 1) {
    words.set('zoom', state.zoom.toFixed(3));
    if (state.centre) words.set('centre', state.centre.map((v) => v.toFixed(1)).join('_'));
  }
  if (state.window) words.set('window', state.window.join('_'));
  history.replaceState(null, '', `#${words}`);
}

function readHash() {
  const words = new URLSearchParams(location.hash.slice(1));
  const whole = (text, low, high) =>
      /^-?\d+$/.test(text ?? '') && Number(text) >= low && Number(text) < high ? Number(text) :
                                                                                 undefined;
  state.number = whole(words.get('case'), 0, data.cases.length) ?? 0;
  const {size, maps, start} = data.cases[state.number], places = (words.get('at') ?? '').split('.');
  state.at = start.map((k, axis) => whole(places[axis], 0, size[axis]) ?? k);
  const shownFirst = data.begins_with_maps ? 'truth.cross' : 'truth.prediction.cross';
  state.show = new Set((words.get('show') ?? shownFirst).split('.').filter(Boolean));
  const firstMap = data.begins_with_maps && !words.has('map') ? 0 : -1;
  state.map = whole(words.get('map'), 0, maps.length) ?? Math.min(firstMap, maps.length - 1);
  const opacity = Number(words.get('opacity') ?? NaN);
  if (opacity >= 0 && opacity <= 1) state.opacity = opacity;
  const list = (name, count) => {
    const values = (words.get(name) ?? '').split('_').filter(Boolean).map(Number);
    return values.length === count && values.every(Number.isFinite) ? values : null;
  };
  const zoom = Number(words.get('zoom') ?? NaN), window = list('window', 2);
  state.zoom = zoom >= 1 && zoom <= 32 ? zoom : 1;
  state.centre = list('centre', 3);
  state.window = window && window[0] < window[1] ? window : null;
}

// Keys

const nextSlice = (by) => step(volume.info.planes[state.active].across, by);
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
  '+': () => zoomAt(1.25, []),
  '=': () => zoomAt(1.25, []),
  '-': () => zoomAt(0.8, []),
  0: () => change({zoom: 1, centre: null}),
  w: () => change({window: null}),
  n: () => choose(
      names[(names.indexOf(volume.info.name) + 1) % names.length], volume.info.run),
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

addEventListener('resize', () => {
  if (!volume) return;
  fit();
  schedule();
});
addEventListener('hashchange', () => {
  readHash();
  change({});
});
readHash();
showCase().catch(report);
