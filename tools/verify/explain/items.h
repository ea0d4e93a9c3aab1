// What the runners of cases of explanations share: items of a batch, networks that are asked.
#pragma once

#include <memory>
#include <vector>

#include "explain/questions.h"
#include "explain/scores/score.h"
#include "verify/case.h"

namespace fovea::verify {

/// The numbers of each item of a batch (b, ...), from a tensor of the case.
std::vector<std::vector<double>> items_of(const Case& c, const std::string& key);
/// The same of a mask.
std::vector<std::vector<std::uint8_t>> masks_of(const Case& c, const std::string& key);

/// Puts the numbers of all items one behind another.
template <class Numbers>
void append(std::vector<double>& all, const Numbers& numbers) {
  for (const auto value : numbers) all.push_back(static_cast<double>(value));
}

/// The words "baseline" (or another key) and "sigma".
explain::BaselineOptions baseline_of(const Case& c, const char* key = "baseline");
/// The number of the word "target", or the class that the network predicts where it is -1.
std::int64_t target_of(const Case& c, std::int64_t predicted);

/// The images of a case with their relevance, and the network that is asked about them.
class ExplainedImages {
 public:
  /// Reads "network", "target" and "units"; input/x and, where the case has it, input/relevance.
  ExplainedImages(const Case& c, Checker& check);
  const std::vector<explain::Explained>& items() const { return items_; }
  models::Model& model() { return *model_; }

 private:
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<explain::Questions> questions_;
  std::vector<explain::Explained> items_;
};

}  // namespace fovea::verify
