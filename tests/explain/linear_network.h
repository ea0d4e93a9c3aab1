// A network of two classes whose first logit is linear in the image, for tests in closed form.
#pragma once

#include <utility>
#include <vector>

#include "explain/scores/score.h"

namespace fovea::test {

/// Logits (sum_p w_p x_p + bias, 0); w has a number for each value of an image.
inline explain::Logits linear_logits(std::vector<double> w, double bias = 0) {
  return [w = std::move(w), bias](const models::Inputs& inputs) {
    const auto x = inputs.image.host_values<float>();
    std::vector<double> logits;
    for (std::size_t first = 0; first < x.size(); first += w.size()) {
      double sum = bias;
      for (std::size_t p = 0; p < w.size(); ++p) sum += w[p] * static_cast<double>(x[first + p]);
      logits.insert(logits.end(), {sum, 0.0});
    }
    return logits;
  };
}

/// An image of one channel whose pixels are its units, of class 0.
inline explain::Explained explained_pixels(const explain::Questions& questions,
                                           std::vector<float> pixels, std::int64_t height,
                                           std::int64_t width, std::vector<double> relevance) {
  explain::Explained e;
  e.relevance = std::move(relevance);
  e.network = &questions;
  e.image = {1, height, width, std::move(pixels)};
  e.units.emplace(height, width, height, width);
  return e;
}

}  // namespace fovea::test
