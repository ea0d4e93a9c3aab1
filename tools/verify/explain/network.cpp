#include "verify/explain/network.h"

#include <fmt/format.h>

#include <map>

#include "verify/dgsa/dgsa.h"
#include "verify/gdla/gdla.h"
#include "verify/kcla/kcla.h"
#include "verify/mala/mala.h"
#include "verify/module_case.h"

namespace fovea::verify {
namespace {

using Network = std::unique_ptr<models::Model>;

Network dgsa_vision(const Case& c) { return make_network(c, false); }
Network dgsa_text(const Case& c) { return make_network(c, true); }

}  // namespace

Network network_of(const Case& c, Checker& check) {
  static const std::map<std::string, std::map<std::string, Network (*)(const Case&)>> papers = {
      {"dgsa",
       {{"ViT", dgsa_vision},
        {"DIFF-ViT", dgsa_vision},
        {"DGViT", dgsa_vision},
        {"Transformer", dgsa_text},
        {"DIFF-Transformer", dgsa_text},
        {"DGT", dgsa_text}}},
      {"mala", {{"swin", swin_network}}},
      {"gdla", {{"pvt_v2_classifier", pvt_v2_classifier}}},
      {"kcla", {{"cifar_resnet", cifar_resnet}}}};
  const Config words = c.config().at("network");
  const auto paper = papers.find(words.text("paper"));
  if (paper == papers.end()) words.refuse("paper");
  const auto network = paper->second.find(words.text("operator"));
  if (network == paper->second.end()) words.refuse("operator");
  const Case inner = c.of_part(network->first, words.at("config"));
  Network model = network->second(inner);
  load_parameters(inner, *model, check);
  model->train(false);
  return model;
}

}  // namespace fovea::verify
