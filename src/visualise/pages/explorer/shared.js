// What the pages have in common.

// The bytes of a zlib stream in base64.
async function inflate(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).arrayBuffer();
}

// The colour of t in [0, 1] among anchors at equal distances, as colour_map.h interpolates them.
function colourOf(anchors, t) {
  const place = t * (anchors.length - 1);
  const lower = Math.min(Math.floor(place), anchors.length - 2), share = place - lower;
  return anchors[lower].map(
      (channel, i) => Math.floor((1 - share) * channel + share * anchors[lower + 1][i] + 0.5));
}

const css = (rgb) => `rgb(${rgb.join(',')})`;

// Three digits, a proper minus.
function number(value) {
  const size = Math.abs(value);
  const digits = size === 0 ? '0' : size < 1e-4 ? size.toExponential(1) : size.toPrecision(3);
  return (value < 0 ? '\u2212' : '') + digits.replace('-', '\u2212');
}

// An element with properties (or attributes, where it has no such property) and children.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key in element)
      element[key] = value;
    else
      element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// Buttons of which one is pressed, or those of a set; options are [value, text, title].
function group(label, options, pick) {
  const buttons = options.map(
      ([value, text, title = '']) =>
          make('button', {type: 'button', textContent: text, title, onclick: () => pick(value)}));
  const element = make(
      'div', {className: 'group', role: 'group', 'aria-label': label},
      make('span', {textContent: label}), ...buttons);
  return {
    element,
    mark(value, disabled = false) {
      const pressed = (own) => value instanceof Set ? value.has(own) : own === value;
      buttons.forEach((button, k) => {
        button.setAttribute('aria-pressed', String(!disabled && pressed(options[k][0])));
        button.disabled = disabled;
      });
    }
  };
}

// A function after whose calls `paint` runs once, with the next frame.
function onceAFrame(paint) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      paint();
    });
  };
}
