// Pictures and numbers of what a trained network does across its layers. kcla figures 2, 4 and 7.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/model.h"

namespace fovea::visualise {

/// Gives the next batch of images (b, c, h, w), normalised as in training; undefined at the end.
using NextBatch = std::function<Tensor()>;

/// Whether the layers of the network tell anything that write_across_depth() draws.
bool shows_across_depth(models::Model& model, const Tensor& images);

/// Runs the network in evaluation mode over all batches and writes into `folder` what its layer
/// attention allows:
///   keys.png, keys.csv      cosines between keys of layers, adjacent and any two, in 100 bins
///                           (variants that record "keys")
///   decay.png, decay.csv    mean and std over channels of |beta| (and beta) of the last layer of
///                           every stage (lambda_t of MRLA-L and DLA-L; needs no batch)
///   scores.png, scores.csv  weights of layers at every layer, mean over images, for the heads of
///                           smallest, middle and largest temperature of every stage ("key_norm")
/// Returns the names of the files. Throws ConfigError if there is nothing to draw.
std::vector<std::string> write_across_depth(models::Model& model, const NextBatch& next,
                                            const std::string& folder);

}  // namespace fovea::visualise
