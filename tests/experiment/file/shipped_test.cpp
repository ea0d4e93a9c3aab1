// The experiment files that ship with the project.
#include <catch2/catch.hpp>

#include <cmath>

#include "backend/devices.h"
#include "experiment/costs/costs.h"
#include "experiment/file/experiment.h"
#include "experiment/sweep/ablation.h"
#include "optim/registry.h"
#include "schema/load.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::experiment;
namespace fs = std::filesystem;

namespace {

fs::path shipped(const std::string& name) {
  return fs::path(fovea::test::source_dir()) / "experiments" / name;
}

std::int64_t parameters(const schema::Value& config, std::int64_t classes) {
  const Experiment experiment = parse(config);
  return make_model(experiment, make_meta(), {3, 32, 32, classes})->parameter_count();
}

std::vector<std::int64_t> parameters_of_rows(const std::string& file, std::int64_t classes) {
  std::vector<std::int64_t> counts;
  for (const Row& row : load_ablation(shipped(file), experiment_kind()).rows)
    counts.push_back(parameters(row.config, classes));
  return counts;
}

}  // namespace

TEST_CASE("shipped: every file is a valid experiment or ablation", "[experiment]") {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(shipped(""))) {
    const fs::path file = entry.path();
    if (file.extension() != ".json" || file.filename() == "published.json") continue;
    INFO(file.string());
    const schema::Value value = schema::load(file);
    if (value.find("rows") != nullptr || value.find("axes") != nullptr) {
      const Ablation ablation = load_ablation(file, experiment_kind());
      CHECK(ablation.rows.size() >= 2);
    } else {
      CHECK_NOTHROW(resolve(load_unresolved(file, {})));
    }
    ++files;
  }
  CHECK(files >= 69);
}

TEST_CASE("shipped: the weights that runs report are those of each recipe", "[experiment]") {
  struct Reported {
    const char *file, *select, *on, *monitor;  // on: "" for val where there is one
  };
  const Reported recipes[] = {
      // dformer 7.6: last epoch, although 10 patients of ACDC are watched.
      {"dformer/recipe.json", "last", "", ""},
      {"dformer/acdc.json", "last", "", ""},
      {"dformer/synapse.json", "last", "", ""},
      // dgsa 6.1 and 6.2.
      {"dgsa/dgvit.json", "last", "", ""},
      {"dgsa/dgt.json", "best", "", ""},
      // gdla 6.1: the best mean Dice of val, of the test volumes on Synapse.
      {"gdla/acdc.json", "best", "", "case_dice"},
      {"gdla/busi.json", "best", "", "case_dice"},
      {"gdla/ham10000.json", "best", "", "case_dice"},
      {"gdla/ph2.json", "best", "", "case_dice"},
      {"gdla/synapse.json", "best", "test", "case_dice"},
      // kcla 5.1, 5.2 and 5.4.
      {"kcla/resnet20.json", "best", "test", ""},
      {"kcla/kcla56.json", "best", "test", ""},
      {"kcla/imagenet.json", "best", "", ""},
      {"kcla/segmentation.json", "best", "test", "loss"},
      // mala 7.1: the better of the raw and the averaged weights.
      {"mala/recipe.json", "best", "val", ""},
      {"mala/mavit_t.json", "best", "val", ""},
      // mala 7.3: after the last step, as mmseg reports it.
      {"mala/semantic_fpn.json", "last", "", "miou"},
      {"mala/upernet.json", "last", "", "miou"},
  };
  for (const Reported& recipe : recipes) {
    INFO(recipe.file);
    const schema::Value train = resolve(load_unresolved(shipped(recipe.file), {})).at("train");
    CHECK(train.at("select").as_string() == recipe.select);
    const schema::Value& on = train.at("select_on");
    CHECK((on.is_null() ? "" : on.as_string()) == recipe.on);
    CHECK(train.at("monitor").as_string() == recipe.monitor);
  }
}

TEST_CASE("shipped: timm's rule leaves out of weight decay what timm does", "[experiment]") {
  // timm 1.0.31: param_groups_weight_decay(model, no_weight_decay_list=model.no_weight_decay()).
  struct Exempt {
    const char *file, *model;
    std::size_t all, exempt,
        tables;  // tensors; those without decay; of these with two axes or more
  };
  for (const Exempt& timm : {Exempt{"mala/deit_tiny.json", "deit_tiny", 152, 102, 2},
                             Exempt{"mala/swin_tiny.json", "swin_t", 173, 120, 12}}) {
    INFO(timm.model);
    schema::Value config =
        resolve(load_unresolved(shipped(timm.file), {"optimizer.no_decay=timm"}));
    const Experiment e = parse(config);
    const auto model = make_model(e, make_meta(), {3, 224, 224, 1000});
    std::vector<optim::Parameter> parameters;
    for (const nn::NamedTensor& named : model->parameters())
      parameters.push_back({named.name, named.tensor});
    CHECK(parameters.size() == timm.all);
    const std::vector<double> decay =
        optim::make_optimiser(e.optimizer, parameters)->weight_decay();
    std::size_t exempt = 0, tables = 0;
    for (std::size_t i = 0; i < decay.size(); ++i) {
      if (decay[i] != 0) continue;
      ++exempt;
      if (parameters[i].tensor.rank() > 1) ++tables;
    }
    CHECK(exempt == timm.exempt);
    CHECK(tables == timm.tables);
  }
}

TEST_CASE("shipped: a warm-up by epochs stands in those recipes that have one", "[experiment]") {
  for (const auto& entry : fs::recursive_directory_iterator(shipped(""))) {
    const fs::path file = entry.path();
    if (file.extension() != ".json" || file.filename() == "published.json") continue;
    const schema::Value value = schema::load(file);
    if (value.find("rows") != nullptr || value.find("axes") != nullptr) continue;
    INFO(file.string());
    const schema::Value schedule = resolve(load_unresolved(file, {})).at("schedule");
    const bool rises =
        schedule.find("warmup_epochs") != nullptr && schedule.at("warmup_epochs").as_double() > 0;
    if (!rises || schedule.at("unit").as_string() == "step") continue;
    // kcla 5.1 and 5.2, mala 7.1: the rates of the papers' code stay the same for an epoch.
    CHECK(schedule.at("warmup_unit").as_string() == "epoch");
    CHECK(schedule.at("warmup_lr").as_double() + schedule.at("warmup_floor").as_double() > 0);
  }
}

TEST_CASE("shipped: rates and weight decay of scenes are those of mala 7.3", "[experiment]") {
  const auto rate_of = [](const Experiment& e) {
    return optim::make_schedule(e.schedule, {.lr = e.optimizer.options.at("lr").as_double(),
                                             .steps = e.train.steps,
                                             .steps_per_epoch = 1263});
  };
  const Experiment fpn = parse(resolve(load_unresolved(shipped("mala/semantic_fpn.json"), {})));
  const optim::Schedule fpn_rate = rate_of(fpn);
  for (const std::int64_t t : {0, 1, 40000, 79999}) {
    const double left = 1 - static_cast<double>(t) / 80000;
    CHECK(fpn_rate(t) == Approx((1e-4 - 1e-6) * std::pow(left, 0.9) + 1e-6));
  }
  const Experiment uper = parse(resolve(load_unresolved(shipped("mala/upernet.json"), {})));
  const optim::Schedule uper_rate = rate_of(uper);
  CHECK(uper_rate(0) == Approx(6e-11));
  CHECK(uper_rate(750) == Approx(3e-5).epsilon(1e-5));
  for (const std::int64_t t : {1500, 80000, 159999})
    CHECK(uper_rate(t) == Approx(6e-5 * (1 - static_cast<double>(t) / 160000)));
  const auto model = make_model(uper, make_meta(), {3, 512, 512, 150});
  std::vector<optim::Parameter> parameters;
  for (const nn::NamedTensor& named : model->parameters())
    parameters.push_back({named.name, named.tensor});
  const std::vector<double> decay =
      optim::make_optimiser(uper.optimizer, parameters)->weight_decay();
  for (std::size_t i = 0; i < decay.size(); ++i) {
    INFO(parameters[i].name);
    CHECK(decay[i] == (parameters[i].name.find("norm") == std::string::npos ? 0.01 : 0.0));
  }
}

TEST_CASE("shipped: the rows of Table 1 have the published parameter counts", "[experiment]") {
  // dgsa 4.2; ViT is this project's count with 100 rows of positions and a hidden layer in the
  // head.
  const std::vector<std::int64_t> ten = {6391178, 3774154, 5351114, 5351114};
  CHECK(parameters_of_rows("dgsa/table1_cifar10.json", 10) == ten);
  CHECK(parameters_of_rows("dgsa/table1_fashion_mnist.json", 10) == ten);
  CHECK(parameters_of_rows("dgsa/table1_cifar100.json", 100) ==
        std::vector<std::int64_t>{6402788, 3785764, 5362724, 5362724});
  const schema::Value plain = resolve(load_unresolved(shipped("dgsa/dgvit_plain.json"), {}));
  CHECK(parameters(plain, 10) == 5310538);
}

TEST_CASE("shipped: the controls of dgsa have the counts of its specification", "[experiment]") {
  CHECK(parameters_of_rows("dgsa/controls.json", 10) ==
        std::vector<std::int64_t>{6391178, 3765642, 5342602, 3758218, 5335178, 3774154, 5351114});
}

TEST_CASE("shipped: the rows of Table 2 have the counts of the specification", "[experiment]") {
  // dgsa 4.3: 256 for each word and K for the rest; DGT's are published, rounded, in Table 6.
  const auto counts = [](const std::string& file, std::int64_t words, std::int64_t classes) {
    std::vector<std::int64_t> all;
    models::DataShape shape;
    shape.vocab_size = words;
    shape.max_len = 256;
    shape.num_classes = classes;
    for (const Row& row : load_ablation(shipped(file), experiment_kind()).rows)
      all.push_back(make_model(parse(row.config), make_meta(), shape)->parameter_count());
    return all;
  };
  const std::int64_t v = 7690 * 256;
  CHECK(counts("dgsa/table2_rotten_tomatoes.json", 7690, 2) ==
        std::vector<std::int64_t>{v + 3160066, v + 1843586, v + 2632066, v + 3155666, 3820194,
                                  4608674, 5132274});
  CHECK(counts("dgsa/table2_imdb.json", 89606, 2).back() == 27684074);
  CHECK(counts("dgsa/table2_imdb_published_counts.json", 89606, 2)[4] == 25715954);
  CHECK(counts("dgsa/table2_ag_news.json", 40776, 4)[5] == 14398708);
  CHECK(counts("dgsa/table2_newsgroups20.json", 39796, 20)[6] == 13356036);
  const Ablation ablation =
      load_ablation(shipped("dgsa/table2_newsgroups20.json"), experiment_kind());
  REQUIRE(ablation.rows.size() == 7);
  CHECK(ablation.jobs.size() == 35);
  CHECK(ablation.rows[6].published[0].value == PublishedValue{63.53, 0.87});
  CHECK(ablation.rows[6].published[1].value.mean == Approx(13.4e6));
  CHECK(ablation.rows[6].config.at("model").at("depth").as_int() == 4);
}

TEST_CASE("shipped: the ResNets of kcla have the counts of its specification", "[experiment]") {
  const auto count = [](const std::string& type, std::int64_t classes) {
    const schema::Value config =
        resolve(load_unresolved(shipped("kcla/resnet20.json"), {"model.type=" + type}));
    return parameters(config, classes);
  };
  CHECK(count("resnet20", 10) == 220378);
  CHECK(count("resnet56", 100) == 614452);
  CHECK(count("resnet110", 100) == 1170868);
}

TEST_CASE("shipped: Tables I and V of kcla have the counts of its specification", "[experiment]") {
  const std::vector<std::int64_t> ten = {
      220378, 241882, 439226, 230286, 231182, 230286,  410158,  235507,  591322,  655834,  810170,
      621046, 623734, 621046, 802710, 627723, 1147738, 1276762, 1366586, 1212562, 1391538, 1216047};
  CHECK(parameters_of_rows("kcla/table1_cifar10.json", 10) == ten);
  CHECK(parameters_of_rows("kcla/table5_ablation.json", 100) ==
        std::vector<std::int64_t>{650853, 650853, 650853, 648837, 650853, 775901, 678909, 655277,
                                  652841, 650853});
}

TEST_CASE("shipped: the rows of kcla's Table IV have the counts of its specification",
          "[experiment]") {
  const auto rows = [](const std::string& name) {
    return parameters_of_rows("kcla/" + name + ".json", 1);
  };
  CHECK(rows("table4_kvasir") ==
        std::vector<std::int64_t>{13395329, 1533217, 1541729, 1565997, 1545965, 1545965});
  CHECK(rows("table4_isic2017") ==
        std::vector<std::int64_t>{7765985, 1533217, 1541729, 1565997, 1545965, 1545965});
  CHECK(rows("table4_isic2018") ==
        std::vector<std::int64_t>{7765985, 9163329, 1533217, 1541729, 1565997, 1545965, 1545965});
  const Ablation ablation = load_ablation(shipped("kcla/table4_kvasir.json"), experiment_kind());
  REQUIRE(ablation.rows[1].published.size() == 4);
  CHECK(ablation.rows[1].published[1].value == PublishedValue{84.05, 0.45});
}

TEST_CASE("shipped: gdla's costs are counted at the published size, not at 64 x 64",
          "[experiment]") {
  // gdla 4: "verified_counts", by the paper's counter.
  const Ablation ablation = load_ablation(shipped("gdla/networks.json"), experiment_kind());
  const auto costs = [&](const std::string& row) {
    for (const Row& known : ablation.rows) {
      if (known.name != row) continue;
      const Experiment e = parse(known.config);
      return count_costs(e, data_shape(e));
    }
    return Summary{};
  };
  CHECK(costs("PVT-GDLA").macs_paper == 6853774893);
  CHECK(costs("PVT-GDLA").macs == 6345971968);
  CHECK(costs("PVT-SelfAttn").macs_paper == 5407509709);
  CHECK(costs("PVT-LinearAttn").macs_paper == 5386453037);
  Experiment e = parse(ablation.rows[4].config);
  CHECK(cost_size_text(e) == "224 x 224");
  e.cost_img_size = {224};
  CHECK_THROWS_WITH(count_costs(e, data_shape(e)),
                    "cost_img_size: 1 number, expected 2: height and width");
  e.cost_img_size = {};
  CHECK(count_costs(e, data_shape(e)).macs < 1000000000);  // at 64 x 64
}

TEST_CASE("shipped: the networks of gdla have the counts of its specification", "[experiment]") {
  const auto rows = [](const std::string& name) {
    std::vector<std::int64_t> counts;
    for (const Row& row : load_ablation(shipped("gdla/" + name), experiment_kind()).rows) {
      const Experiment e = parse(row.config);
      counts.push_back(make_model(e, make_meta(), data_shape(e))->parameter_count());
    }
    return counts;
  };
  CHECK(rows("networks.json") == std::vector<std::int64_t>{26772635, 28751695, 28258159, 28258159,
                                                           32134607, 31037001, 34877941});
  const std::vector<std::int64_t> parts = rows("table3_components.json");
  CHECK(parts[0] == 28252319);
  CHECK(std::vector<std::int64_t>(parts.begin() + 2, parts.begin() + 6) ==
        std::vector<std::int64_t>{29893375, 30016767, 31139583, 32128767});
  const Ablation ablation = load_ablation(shipped("gdla/networks.json"), experiment_kind());
  REQUIRE(ablation.rows[4].published.size() == 2);
  CHECK(ablation.rows[4].published[0].value.mean == Approx(32.13e6));
  CHECK(ablation.rows[4].published[1].value.mean == Approx(6.85e9));
}

TEST_CASE("shipped: Table 3 of dformer has the counts of its specification", "[experiment]") {
  std::vector<std::int64_t> counts;
  const Ablation ablation = load_ablation(shipped("dformer/table3_size.json"), experiment_kind());
  for (const Row& row : ablation.rows) {
    const Experiment e = parse(row.config);
    counts.push_back(make_model(e, make_meta(), data_shape(e))->parameter_count());
    CHECK(sample_shape(e, data_shape(e)) == Shape{1, 64, 128, 128});
  }
  CHECK(counts == std::vector<std::int64_t>{16319536, 92482990, 50550528});
  REQUIRE(ablation.rows[2].published.size() == 2);
  CHECK(ablation.rows[2].published[1].value.mean == Approx(54.46e9));
}

TEST_CASE("shipped: the experiments of dformer read volumes of the network's size",
          "[experiment]") {
  for (const char* name : {"recipe", "synapse", "acdc", "hippocampus", "acdc3d"}) {
    INFO(name);
    const schema::Value config =
        resolve(load_unresolved(shipped(std::string("dformer/") + name + ".json"), {}));
    const std::string type = config.at("dataset").at("type").as_string();
    CHECK((type == "nnunet" || type == "acdc_volumes"));
    const schema::Value& inferer = config.at("eval").at("inferer");
    if (std::string(name) == "recipe") continue;  // its sizes are no copy's
    CHECK(config.at("dataset").at("img_size").dump() == config.at("model").at("img_size").dump());
    CHECK(inferer.at("roi_size").dump() == config.at("model").at("img_size").dump());
  }
}

TEST_CASE("shipped: networks of timm and torchvision have their counts and normalisation",
          "[experiment]") {
  // timm 1.0.31 and torchvision 0.29; no data set is looked at.
  const auto check = [](const std::string& name, std::int64_t count, double mean, double std,
                        std::int64_t side = 224) {
    INFO(name);
    const schema::Value config =
        resolve(load_unresolved(shipped("imagenet/" + name + ".json"), {}));
    const Experiment e = parse(config);
    CHECK(e.name == name);
    CHECK(make_model(e, make_meta(), data_shape(e))->parameter_count() == count);
    CHECK(sample_shape(e, data_shape(e)) == Shape{3, side, side});
    CHECK(config.at("dataset").at("mean").at(0).as_double() == mean);
    CHECK(config.at("dataset").at("std").at(2).as_double() == std);
  };
  const std::map<std::string, std::int64_t> sizes = {
      {"tiny", 5717416}, {"small", 22050664}, {"base", 86567656}};
  for (const auto& [size, count] : sizes) {
    check("vit_" + size + "_patch16_224", count, 0.5, 0.5);
    check("deit_" + size + "_patch16_224", count, 0.485, 0.225);
  }
  check("deit3_small_patch16_224", 22059496, 0.485, 0.225);
  check("vit_base_patch32_clip_quickgelu_224", 87849728, 0.48145466, 0.27577711);
  check("vit_small_patch14_reg4_dinov2", 22057344, 0.485, 0.225, 518);
  check("resnet18", 11689512, 0.485, 0.225);
  check("resnet50", 25557032, 0.485, 0.225);
  check("resnet101", 44549160, 0.485, 0.225);
}

TEST_CASE("shipped: Table 1 stands beside the paper's numbers", "[experiment]") {
  const Ablation ablation = load_ablation(shipped("dgsa/table1_cifar100.json"), experiment_kind());
  const Row& best = ablation.rows.back();
  CHECK(best.name == "DGViT x4, dropout x2");
  REQUIRE(best.published.size() == 3);
  CHECK(best.published[0].value == PublishedValue{47.72, 0.35});
  CHECK(best.published[1].value.mean == Approx(5.36e6));
  CHECK(best.config.at("dataset").at("type").as_string() == "cifar100");
  CHECK(ablation.jobs.size() == 20);
}
