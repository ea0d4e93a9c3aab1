// The inputs and outputs of networks, by name. The names of inputs are those that samples and
// batches use for the same tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::models {

/// Under this name networks of texts show the hooks of modules (autograd/hooks.h) the vectors of
/// words (b, n, dim), before positions are added.
inline constexpr const char* kWordRows = "word_rows";

/// The inputs of a network; those that it does not read are undefined.
struct Inputs {
  Tensor image = {};   // (b, c, h, w) floating; of volumes (b, c, d, h, w)
  Tensor tokens = {};  // (b, n) int64 ids; of classifiers 0 = padding behind the end of a text
  Tensor valid = {};   // (b, n) uint8: which tokens of a text count; undefined: ids other than 0
  Tensor image_size = {};  // (b, 2) int64: height and width of each image, behind which are zeros
  Tensor timestep = {};    // (b) int64: how much noise is in the image, from little to nothing else
  Tensor label = {};       // (b) int64
  Tensor features = {};    // (b, t, mels) floating, of recordings
  Tensor num_frames = {};  // (b) int64: how many of these frames a recording has
};

/// The outputs of a network. They are logits: sigmoid and softmax belong to losses, metrics and
/// reports.
struct Outputs {
  Tensor logits = {};             // classifiers: (b, classes); language models: (b, n, vocabulary);
                                  // transcribers: (b, frames, symbols)
  Tensor embedding = {};          // classifiers of images: (b, d), of which the head makes logits
  std::vector<Tensor> maps = {};  // dense networks: logits (b, k, spatial...), the finest first;
                                  // detectors: what their dense heads say (detectors/detector.h);
                                  // denoisers: one, the noise (diffusion/denoiser.h)
  std::vector<Tensor> features = {};      // detectors: the levels that a second stage reads
  std::vector<std::int64_t> frames = {};  // transcribers: how many frames of the logits each
                                          // recording has; empty on the meta device

  /// All that are defined.
  std::vector<Tensor> tensors() const;
};

/// The inputs and outputs of a kind of network. Tasks, tools and reports ask for this, never for a
/// network by its name.
enum class Interface {
  kImageClassifier,  // image -> logits
  kTextClassifier,   // tokens -> logits
  kDenseNetwork,     // image -> maps; the first is of the image's size
  kDetector,         // image, image_size -> maps, features; of which a Detector makes boxes
  kLanguageModel,    // tokens -> logits of the next one behind each; writes
                     // (sequences/language_model.h)
  kDenoiser,         // image, timestep, label -> maps; what noise is in the image
  kTranscriber,      // features, num_frames -> logits
};

/// One input of an interface.
struct InputField {
  std::string name;  // "image": what batches call it
  Tensor Inputs::*tensor;
  DType dtype = DType::kFloat32;
  std::optional<Shape> of_sample = {};  // one sample's; none: that of the data
  bool in_samples = true;               // else the task makes it
};

struct InterfaceInfo {
  std::string name;   // for messages: "an image classifier"
  std::string gives;  // "logits", "maps"
  std::vector<InputField> reads;
};
const InterfaceInfo& info_of(Interface interface);

/// The inputs of an interface that reads a single tensor; throws ShapeError for others.
Inputs only_input(Interface interface, const Tensor& tensor);

}  // namespace fovea::models
