#include "visualise/figures/figure.h"

#include <algorithm>

#include "base/error.h"
#include "data/volumes/volume_dataset.h"
#include "ops/create.h"
#include "ops/elementwise.h"

namespace fovea::visualise {

Reads reads_of(const ShownRun& run) {
  if (run.model.interface() == models::Interface::kTextClassifier) return Reads::kTexts;
  if (run.model.interface() == models::Interface::kLanguageModel) return Reads::kStreams;
  if (run.model.interface() == models::Interface::kTranscriber) return Reads::kRecordings;
  if (run.model.interface() == models::Interface::kDenoiser) return Reads::kNoise;
  if (data::find_volumes(run.samples) != nullptr) return Reads::kVolumes;
  return run.model.geometry().grid_h > 0 ? Reads::kOneGrid : Reads::kSeveralGrids;
}

const char* name_of(Reads reads) {
  switch (reads) {
    case Reads::kTexts:
      return "texts";
    case Reads::kStreams:
      return "streams of text";
    case Reads::kRecordings:
      return "recordings";
    case Reads::kNoise:
      return "noise, of which it makes images";
    case Reads::kVolumes:
      return "volumes";
    case Reads::kOneGrid:
      return "images";
    default:
      return "images on grids of several sizes";
  }
}

std::string flag_of(const std::string& key) {
  std::string flag = "--" + key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void FigureRequest::say_files(const std::vector<std::string>& names) const {
  for (const std::string& name : names) say((out / name).string());
}

std::string Figure::asked_by() const { return info.flag ? flag_of(name) : "--figure " + name; }

std::string unless_reading(Reads wanted, const ShownRun& run) {
  const Reads reads = reads_of(run);
  return reads == wanted ? "" : std::string("reads ") + name_of(reads);
}

std::string unless_images(const ShownRun& run) {
  const Reads reads = reads_of(run);
  const bool images = reads == Reads::kOneGrid || reads == Reads::kSeveralGrids;
  return images ? "" : std::string("reads ") + name_of(reads);
}

bool can(const std::function<void()>& look) {
  try {
    look();
    return true;
  } catch (const Error&) {
    return false;
  }
}

namespace {

// As a sample of data that are described alone: zeros of a usual size.
Tensor usual_sample(const ShownRun& run, const std::string& name) {
  const std::vector<data::Field>& fields = run.samples.fields();
  const auto field = std::find_if(fields.begin(), fields.end(),
                                  [&](const data::Field& f) { return f.name == name; });
  const data::SampleShape usual = run.samples.shape();
  Shape shape{1};
  if (field->rule == data::Collate::kPad) shape.push_back(std::max<std::int64_t>(1, field->pad_to));
  for (const std::int64_t size : field->shape) shape.push_back(size);
  if (field->rule == data::Collate::kGrow) shape = {1, usual.channels, usual.height, usual.width};
  return ops::zeros(shape, field->dtype, run.device);
}

}  // namespace

Tensor first_sample(const ShownRun& run) {
  const std::string& name = models::info_of(run.model.interface()).reads.front().name;
  if (run.samples.size() == 0) return usual_sample(run, name);
  data::Collator collator(run.samples.fields(), 1, run.host);
  data::Sample sample;
  collator.next(sample);
  run.samples.prepare(0, {}, sample);
  collator.add(sample);
  return ops::to(collator.finish().at(name), run.device);
}

}  // namespace fovea::visualise
