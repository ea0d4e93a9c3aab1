// Updates in place: of parameters, averages and sums.

// y += alpha x.
KERNEL axpy(Index n, Real alpha, TENSOR(const Stored, x), TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(Stored, y);
  if (ITEM < n) store(y, ITEM, load(y, ITEM) + alpha * load(x, ITEM));
}

KERNEL ema(Index n, Real decay, Real rest, TENSOR(const Stored, x), TENSOR(Stored, average)) {
  OPEN(const Stored, x);
  OPEN(Stored, average);
  if (ITEM < n) store(average, ITEM, decay * load(average, ITEM) + rest * load(x, ITEM));
}

// dgsa 6.4. rate = lr / (1 - beta1^step), root = 1 / sqrt(1 - beta2^step), kept = 1 - lr weight_decay.
KERNEL adamw(Index n, Real beta1, Real rest1, Real beta2, Real rest2, Real rate, Real root, Real eps,
             Real kept, TENSOR(const Stored, grad), TENSOR(Stored, param), TENSOR(Stored, m),
             TENSOR(Stored, v)) {
  OPEN(const Stored, grad);
  OPEN(Stored, param);
  OPEN(Stored, m);
  OPEN(Stored, v);
  const Index i = ITEM;
  if (i >= n) return;
  const Real g = load(grad, i);
  const Real first = beta1 * load(m, i) + rest1 * g;
  const Real second = beta2 * load(v, i) + rest2 * g * g;
  store(m, i, first);
  store(v, i, second);
  store(param, i, kept * load(param, i) - rate * first / (sqrt(second) * root + eps));
}

// The momentum may be undefined; `fresh` starts it.
KERNEL sgd(Index n, Real lr, Real mu, Real rest, Real decay, Int32 nesterov, Int32 fresh,
           TENSOR(const Stored, grad), TENSOR(Stored, param), TENSOR(Stored, momentum)) {
  OPEN(const Stored, grad);
  OPEN(Stored, param);
  OPEN(Stored, momentum);
  const Index i = ITEM;
  if (i >= n) return;
  Real step = load(grad, i) + decay * load(param, i);
  if (IS_DEFINED(momentum)) {
    const Real now = fresh ? step : mu * load(momentum, i) + rest * step;
    store(momentum, i, now);
    step = nesterov ? step + mu * now : now;
  }
  store(param, i, load(param, i) - lr * step);
}
