#include "inspect/augment.h"

#include <fmt/format.h>

#include "experiment/file/experiment.h"
#include "experiment/run/augmented.h"

namespace fovea::apps {

Options add_augment(Options cli, std::string& experiment, AugmentArguments& args) {
  Options augment = cli.add_subcommand("augment",
                                       "training images as the network sees them, epoch by epoch: "
                                       "augmented, mixed, with noise, and their masks");
  augment.add_option("EXPERIMENT", experiment, "experiment file").required().value("EXPERIMENT");
  augment.add_option("--samples", args.samples, "images (default: 6)").positive();
  augment.add_option("--epochs", args.epochs, "epochs (default: 6)").positive();
  augment.add_option("-o,--out", args.out, "picture, .png (default: augment.png)").value("FILE");
  return augment;
}

int draw_augmented(const schema::Value& resolved, const AugmentArguments& args) {
  visualise::write_png(args.out, experiment::augmented_figure(experiment::parse(resolved),
                                                              args.samples, args.epochs));
  fmt::print("{}\n", args.out);
  return 0;
}

}  // namespace fovea::apps
