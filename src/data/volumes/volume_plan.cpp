#include "data/volumes/volume_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "schema/json/parse.h"
#include "tensor/random.h"

namespace fovea::data {
namespace {

constexpr double kAnisotropic = 3;         // ratio of spacings from which on slices are far apart
constexpr double kMostlyKept = 3.0 / 4.0;  // of a volume, by the cut to what is not 0

std::int64_t count_of(const VolumeSides& size) { return size[0] * size[1] * size[2]; }

double percentile_of(std::vector<double> values, double percent) {
  std::sort(values.begin(), values.end());
  const double at = percent / 100 * static_cast<double>(values.size() - 1);
  const auto first = static_cast<std::size_t>(at);
  const std::size_t second = std::min(first + 1, values.size() - 1);
  const double share = at - static_cast<double>(first);
  return (1 - share) * values[first] + share * values[second];
}

bool anisotropic(const std::array<double, 3>& spacing) {
  return *std::max_element(spacing.begin(), spacing.end()) >
         kAnisotropic * *std::min_element(spacing.begin(), spacing.end());
}

// Calls `row` with the start of every row of the box in the volume, in order.
template <class Row>
void each_row(const VolumeSides& size, const VolumeSides& first, const VolumeSides& box,
              const Row& row) {
  for (std::int64_t d = 0; d < box[0]; ++d) {
    for (std::int64_t h = 0; h < box[1]; ++h)
      row(((first[0] + d) * size[1] + first[1] + h) * size[2] + first[2]);
  }
}

template <class T>
std::vector<T> cut(std::span<const T> values, const VolumeSides& size, const VolumeSides& first,
                   const VolumeSides& box) {
  std::vector<T> part;
  part.reserve(static_cast<std::size_t>(count_of(box)));
  each_row(size, first, box, [&](std::int64_t at) {
    const auto from = values.begin() + at;
    part.insert(part.end(), from, from + box[2]);
  });
  return part;
}

VolumeSides sides_of(const VolumeSize& size) { return {size.depth, size.height, size.width}; }

Turn turn_of(const LabelledVoxels& volume, bool canonical) {
  return canonical ? turn_to_ras(volume.affine, volume.file.string()) : Turn();
}

// Labels are turned as their image is.
void apply(const Turn& turn, LabelledVoxels& volume) {
  if (turn == Turn()) return;
  const VolumeSides file = sides_of(volume), sides = turned(file, turn);
  volume.values = turned(std::span<const float>(volume.values), file, turn);
  volume.labels = turned(std::span<const std::uint8_t>(volume.labels), file, turn);
  static_cast<VolumeSize&>(volume) = {sides[0], sides[1], sides[2], turned(volume.spacing, turn),
                                      turned(volume.affine, file, turn)};
}

// Appends the values of the foreground of one case, all or `most` of them.
void add_foreground(std::span<const float> values, std::span<const std::uint8_t> labels,
                    std::int64_t most, const RandomStream& draws, std::vector<float>& into) {
  const std::int64_t count = std::ranges::count_if(labels, is_foreground);
  const std::int64_t taken = most == 0 ? count : std::min(count, most);
  const auto begin_of = [&](std::int64_t stretch) { return stretch * count / taken; };
  // The foreground voxel that a stretch contributes.
  const auto drawn = [&](std::int64_t stretch) {
    const std::int64_t first = begin_of(stretch);
    return first + draws.below(begin_of(stretch + 1) - first, static_cast<std::uint64_t>(stretch));
  };
  std::int64_t stretch = 0, number = 0;
  for (std::size_t v = 0; v < labels.size() && stretch < taken; ++v) {
    if (!is_foreground(labels[v])) continue;
    if (number++ != drawn(stretch)) continue;
    into.push_back(values[v]);
    ++stretch;
  }
}

void check_plan(const VolumePlan& plan, const std::string& name) {
  bool fits = std::ranges::all_of(plan.spacing, [](double s) { return std::isfinite(s) && s > 0; });
  for (const Intensities& c : plan.channels)
    fits = fits && std::isfinite(c.mean) && std::isfinite(c.std) && c.std >= 0 && c.low <= c.high;
  FOVEA_CHECK(fits, FileError,
              fmt::format("{}: is no plan of volumes: spacings and deviations are to be positive, "
                          "low no more than high",
                          name));
}

}  // namespace

std::optional<std::size_t> separate_axis(const std::array<double, 3>& from,
                                         const std::array<double, 3>& to) {
  for (const std::array<double, 3>& spacing : {from, to}) {
    if (!anisotropic(spacing)) continue;
    const auto largest = std::ranges::max_element(spacing);
    if (std::ranges::count(spacing, *largest) > 1) return std::nullopt;
    return static_cast<std::size_t>(largest - spacing.begin());
  }
  return std::nullopt;
}

std::int64_t PreparedVolume::bytes() const {
  std::int64_t all = std::ssize(values) * 4 + std::ssize(labels);
  for (const auto& places : voxels) all += std::ssize(places) * 4;
  return all;
}

void note_voxels(PreparedVolume& volume, std::size_t num_classes,
                 const std::vector<Region>& regions) {
  std::vector<std::vector<std::size_t>> lists(num_classes);  // by class: those its voxels are in
  for (std::size_t c = 1; regions.empty() && c < num_classes; ++c) lists[c] = {c - 1};
  for (std::size_t r = 0; r < regions.size(); ++r) {
    for (const std::uint8_t c : regions[r].classes) lists.at(c).push_back(r);
  }
  volume.voxels.assign(regions.empty() ? num_classes - 1 : regions.size(), {});
  volume.labelled = 0;
  for (std::size_t i = 0; i < volume.labels.size(); ++i) {
    if (volume.labels[i] == kIgnoredVoxel) continue;
    ++volume.labelled;
    for (const std::size_t list : lists[volume.labels[i]])
      volume.voxels[list].push_back(static_cast<std::int32_t>(i));
  }
}

void nonzero_box(const LabelledVoxels& volume, VolumeSides& first, VolumeSides& box) {
  const VolumeSides size = sides_of(volume);
  VolumeSides low = size, high = {-1, -1, -1};
  for (std::int64_t i = 0; i < std::ssize(volume.values); ++i) {
    if (volume.values[static_cast<std::size_t>(i)] == 0) continue;
    const std::int64_t at = i % count_of(size);
    const VolumeSides place{at / (size[1] * size[2]), at / size[2] % size[1], at % size[2]};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], place[axis]);
      high[axis] = std::max(high[axis], place[axis]);
    }
  }
  const bool empty = high[0] < 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    first[axis] = empty ? 0 : low[axis];
    box[axis] = empty ? size[axis] : high[axis] - low[axis] + 1;
  }
}

std::vector<std::uint8_t> filled_mask(std::span<const float> values, std::int64_t channels,
                                      const VolumeSides& size) {
  const std::int64_t count = count_of(size);
  // 1 not 0, 0 hole, 2 joined to the outside.
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(count), 0);
  for (std::int64_t i = 0; i < channels * count; ++i) {
    if (values[static_cast<std::size_t>(i)] != 0) mask[static_cast<std::size_t>(i % count)] = 1;
  }
  std::vector<std::int64_t> open;
  const auto visit = [&](std::int64_t d, std::int64_t h, std::int64_t w) {
    if (d < 0 || h < 0 || w < 0 || d >= size[0] || h >= size[1] || w >= size[2]) return;
    const std::int64_t at = (d * size[1] + h) * size[2] + w;
    if (mask[static_cast<std::size_t>(at)] != 0) return;
    mask[static_cast<std::size_t>(at)] = 2;
    open.push_back(at);
  };
  for (std::int64_t at = 0; at < count; ++at) {
    const std::int64_t d = at / (size[1] * size[2]), h = at / size[2] % size[1], w = at % size[2];
    const bool border =
        d == 0 || h == 0 || w == 0 || d == size[0] - 1 || h == size[1] - 1 || w == size[2] - 1;
    if (border) visit(d, h, w);
  }
  while (!open.empty()) {
    const std::int64_t at = open.back();
    open.pop_back();
    const std::int64_t d = at / (size[1] * size[2]), h = at / size[2] % size[1], w = at % size[2];
    visit(d - 1, h, w);
    visit(d + 1, h, w);
    visit(d, h - 1, w);
    visit(d, h + 1, w);
    visit(d, h, w - 1);
    visit(d, h, w + 1);
  }
  for (std::uint8_t& voxel : mask) voxel = voxel == 2 ? 0 : 1;
  return mask;
}

std::array<double, 3> target_spacing(const std::vector<std::array<double, 3>>& spacings,
                                     const std::vector<VolumeSides>& sizes) {
  std::array<double, 3> target, sides;
  const auto along = [](const auto& list, std::size_t axis) {
    std::vector<double> values;
    for (const auto& one : list) values.push_back(static_cast<double>(one[axis]));
    return values;
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    target[axis] = percentile_of(along(spacings, axis), 50);
    sides[axis] = percentile_of(along(sizes, axis), 50);
  }
  const auto worst =
      static_cast<std::size_t>(std::max_element(target.begin(), target.end()) - target.begin());
  const double others = std::max(target[(worst + 1) % 3], target[(worst + 2) % 3]);
  const double least_sides = std::min(sides[(worst + 1) % 3], sides[(worst + 2) % 3]);
  if (target[worst] > kAnisotropic * others && sides[worst] * kAnisotropic < least_sides) {
    const double tenth = percentile_of(along(spacings, worst), 10);
    // nnU-Net's constant: the axis stays the coarsest.
    target[worst] = tenth < others ? others + 1e-5 : tenth;
  }
  return target;
}

VolumePlan make_plan(const std::function<LabelledVoxels(std::int64_t)>& read, std::int64_t count,
                     const VolumeInfo& info, const PlanRules& rules) {
  VolumePlan plan;
  plan.canonical = rules.canonical;
  plan.ct = info.ct;
  std::vector<std::array<double, 3>> spacings;
  std::vector<VolumeSides> sizes;
  std::vector<double> kept;
  std::vector<std::vector<float>> foreground(static_cast<std::size_t>(info.ct ? info.channels : 0));
  for (std::int64_t i = 0; i < count; ++i) {
    const LabelledVoxels volume = read(i);
    if (volume.voxels() == 0) continue;  // it is left out
    VolumeSides first, box;
    nonzero_box(volume, first, box);
    const Turn turn = turn_of(volume, rules.canonical);
    spacings.push_back(turned(volume.spacing, turn));
    sizes.push_back(turned(box, turn));
    kept.push_back(static_cast<double>(count_of(box)) / static_cast<double>(volume.voxels()));
    for (std::size_t c = 0; c < foreground.size(); ++c) {
      const std::span<const float> values(volume.values);
      const auto voxels = static_cast<std::size_t>(volume.voxels());
      add_foreground(values.subspan(c * voxels, voxels), volume.labels, rules.foreground_voxels,
                     RandomStream(0).fork("fingerprint").fork(static_cast<std::uint64_t>(i)),
                     foreground[c]);
    }
  }
  plan.spacing = target_spacing(spacings, sizes);
  if (!rules.spacing.empty()) std::ranges::copy(rules.spacing, plan.spacing.begin());
  plan.nonzero = !info.ct && percentile_of(kept, 50) < kMostlyKept;
  for (auto& values : foreground) plan.channels.push_back(intensities_of(std::move(values)));
  return plan;
}

PreparedVolume prepare_volume(LabelledVoxels volume, const VolumePlan& plan,
                              std::size_t num_classes, const std::vector<Region>& regions) {
  PreparedVolume result;
  VolumePlace& place = result.place;
  place.file = sides_of(volume);
  place.spacing = volume.spacing;
  place.prepared_spacing = plan.spacing;
  place.turn = turn_of(volume, plan.canonical);
  apply(place.turn, volume);
  const VolumeSides sides = sides_of(volume);
  nonzero_box(volume, place.first, place.box);
  result.channels = std::ssize(volume.values) / volume.voxels();
  result.size = resampled_size(place.box, volume.spacing, plan.spacing);
  for (std::int64_t& side : result.size) side = std::max<std::int64_t>(side, 1);
  const bool same = result.size == place.box;
  const auto slices = separate_axis(volume.spacing, plan.spacing);
  for (std::int64_t c = 0; c < result.channels; ++c) {
    const std::span<const float> whole(volume.values.data() + c * volume.voxels(),
                                       static_cast<std::size_t>(volume.voxels()));
    std::vector<float> part = cut(whole, sides, place.first, place.box);
    if (!same) part = resample_volume(part, place.box, result.size, slices);
    result.values.insert(result.values.end(), part.begin(), part.end());
  }
  std::vector<std::uint8_t> inside;
  if (plan.nonzero) inside = filled_mask(result.values, result.channels, result.size);
  const std::int64_t voxels = count_of(result.size);
  for (std::int64_t c = 0; c < result.channels; ++c) {
    const std::span<float> channel(result.values.data() + c * voxels,
                                   static_cast<std::size_t>(voxels));
    if (plan.ct) {
      normalise_ct(channel, plan.channels.at(static_cast<std::size_t>(c)));
    } else {
      normalise_mr(channel, inside);
    }
  }
  if (volume.labels.empty()) return result;
  const std::vector<std::uint8_t> labels =
      cut(std::span<const std::uint8_t>(volume.labels), sides, place.first, place.box);
  const std::vector<std::int64_t> wide(labels.begin(), labels.end());
  for (const std::int64_t label : same ? wide : resample_labels(wide, place.box, result.size))
    result.labels.push_back(static_cast<std::uint8_t>(label));
  note_voxels(result, num_classes, regions);
  return result;
}

std::vector<float> map_on_file(std::span<const float> map, const VolumeSides& size,
                               const VolumePlace& place, float outside) {
  const VolumeSides sides = turned(place.file, place.turn);
  std::vector<float> resampled;
  if (size != place.box) {
    resampled =
        resample_volume(map, size, place.box,
                        separate_axis(place.prepared_spacing, turned(place.spacing, place.turn)));
    map = resampled;
  }
  std::vector<float> whole(static_cast<std::size_t>(count_of(place.file)), outside);
  auto from = map.begin();
  each_row(sides, place.first, place.box, [&](std::int64_t at) {
    std::copy_n(from, place.box[2], whole.begin() + at);
    from += place.box[2];
  });
  if (place.turn == Turn()) return whole;
  return turned_back(std::span<const float>(whole), place.file, place.turn);
}

std::vector<std::uint8_t> labels_on_file(std::span<const float> maps, std::int64_t count,
                                         const VolumeSides& size, const VolumePlace& place) {
  const std::size_t voxels = maps.size() / static_cast<std::size_t>(count);
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(count_of(place.file)), 0);
  std::vector<float> largest;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::vector<float> map =
        map_on_file(maps.subspan(static_cast<std::size_t>(k) * voxels, voxels), size, place,
                    k == 0 ? 1.0f : 0.0f);
    if (k == 0) {
      largest = map;
      continue;
    }
    for (std::size_t i = 0; i < map.size(); ++i) {
      if (!(map[i] > largest[i])) continue;
      largest[i] = map[i];
      labels[i] = static_cast<std::uint8_t>(k);
    }
  }
  return labels;
}

schema::Value VolumePlan::json() const {
  schema::Value list = schema::Value::array();
  for (const Intensities& c : channels)
    list.push_back(schema::Value::object(
        {{"low", c.low}, {"high", c.high}, {"mean", c.mean}, {"std", c.std}}));
  return schema::Value::object(
      {{"canonical", canonical},
       {"spacing", schema::Value::array(std::vector<double>(spacing.begin(), spacing.end()))},
       {"intensities", ct ? "ct" : "mr"},
       {"nonzero", nonzero},
       {"channels", list}});
}

std::string VolumePlan::text() const { return json().dump() + "\n"; }

VolumePlan VolumePlan::parse(const std::string& text, const std::string& name) {
  try {
    const schema::Value value = schema::parse(text, name);
    VolumePlan plan;
    // Plans of older versions do not have the key.
    const schema::Value* canonical = value.find("canonical");
    plan.canonical = canonical != nullptr && canonical->as_bool();
    for (std::size_t axis = 0; axis < 3; ++axis)
      plan.spacing[axis] = value.at("spacing").at(axis).as_double();
    const std::string intensities = value.at("intensities").as_string();
    FOVEA_CHECK(intensities == "ct" || intensities == "mr", FileError,
                fmt::format("{}: intensities are \"{}\"; expected ct or mr", name, intensities));
    plan.ct = intensities == "ct";
    plan.nonzero = value.at("nonzero").as_bool();
    for (const schema::Value& c : value.at("channels").items())
      plan.channels.push_back({c.at("low").as_double(), c.at("high").as_double(),
                               c.at("mean").as_double(), c.at("std").as_double()});
    check_plan(plan, name);
    return plan;
  } catch (const ConfigError& error) {
    throw FileError(error.what());
  }
}

}  // namespace fovea::data
