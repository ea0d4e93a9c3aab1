// Which values colours begin and end with, as heat_scale.h decides it for pictures; tests compare
// the two. A quantity is {name, signed, even}; limits are {low, high, logarithmic}.

// As metrics/masks/surface.h; `sorted` ascends.
function quantile(sorted, share) {
  const rank = share * (sorted.length - 1), below = Math.floor(rank);
  if (below + 1 >= sorted.length) return sorted[below];
  return sorted[below] + (rank - below) * (sorted[below + 1] - sorted[below]);
}

// What a quantity can be drawn with: a sign has no logarithm, and shares of one are needed.
function endsFor(ends, quantity) {
  return ends === 'even_share' && !(quantity.even > 0) ? 'percentiles' : ends;
}

// Of values in ascending order.
function percentileLimits(sorted) {
  const [low, high] = data.scale.percentiles.map((percent) => quantile(sorted, percent / 100));
  const least = sorted[0], largest = sorted[sorted.length - 1];
  const size = Math.max(Math.abs(least), Math.abs(largest));
  const usual = Math.max(Math.abs(low), Math.abs(high)), {noise, nothing} = data.scale;
  if (high - low > Math.max(noise * usual, nothing * size)) return {low, high};
  if (largest - least > noise * size) return {low: least, high: largest};
  return size > 0 ? {low: largest - size, high: largest + size} : {low: 0, high: 1};
}

function limitsOf(values, ends, quantity) {
  let sorted = Float64Array.from(values.length > 0 ? values : [0]).sort();
  const least = sorted[0], largest = sorted[sorted.length - 1];
  const size = Math.max(Math.abs(least), Math.abs(largest));
  if (ends === 'minmax')
    return {low: least, high: largest - least < 1e-12 ? least + 1 : largest, logarithmic: false};
  if (ends === 'even_share') {
    sorted = sorted.filter((v) => v > 0);
    if (sorted.length === 0)
      return {low: quantity.even / 2, high: 2 * quantity.even, logarithmic: true};
    const {low, high} = percentileLimits(sorted);
    return {low: low > 0 ? low : high / 4, high, logarithmic: true};
  }
  if (quantity.signed) {
    let m = size;
    if (ends === 'percentiles') {
      const usual = quantile(sorted.map(Math.abs).sort(), data.scale.percentiles[1] / 100);
      if (usual > data.scale.nothing * size) m = usual;
    }
    if (!(m > 0)) m = 1;
    return {low: -m, high: m, logarithmic: false};
  }
  if (ends === 'from_zero') return {low: 0, high: size > 0 ? size : 1, logarithmic: false};
  return {...percentileLimits(sorted), logarithmic: false};
}

// Networks side by side: those of one quantity have the limits of all their values together, in
// even shares where these are counted. `shown` has {values, ends, quantity} for each.
function commonLimits(shown) {
  return shown.map(({ends, quantity}) => {
    const unit = (one) => ends === 'even_share' ? one.quantity.even : 1;
    const same =
        shown.filter((one) => one.quantity.name === quantity.name && one.ends === ends);
    const values = same.flatMap((one) => Array.from(one.values, (v) => v / unit(one)));
    const own = unit({quantity});
    const limits = limitsOf(values, ends, {...quantity, even: quantity.even / own});
    return {...limits, low: limits.low * own, high: limits.high * own};
  });
}

// From 0 to 1 between the limits.
function position(value, {low, high, logarithmic}) {
  const t = logarithmic ?
      Math.log(Math.max(value, low) / low) / Math.log(high / low) :
      (value - low) / (high - low);
  return Math.max(0, Math.min(t, 1));
}

// The value at a position.
function valueAt(t, {low, high, logarithmic}) {
  return logarithmic ? low * (high / low) ** t : low + t * (high - low);
}

// Around 0 in the palette of signs, but from the least value to the largest.
function paletteOf(quantity, ends) {
  return quantity.signed && ends !== 'minmax' ? data.palettes.diverging : data.palettes.heat;
}

// What the legend says of the ends.
function endsText(quantity, ends) {
  const [low, high] = data.scale.percentiles;
  if (ends === 'minmax') return 'least to largest';
  if (ends === 'even_share') return 'times an even share';
  if (ends === 'from_zero') return quantity.signed ? 'to the largest |value|' : 'from 0';
  return quantity.signed ? `to the ${high}th percentile of |value|` :
                           `${low}st to ${high}th percentile`;
}
