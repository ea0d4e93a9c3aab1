#include "experiment/tables/results.h"

#include <catch2/catch.hpp>

#include "experiment/run/run_folder.h"
#include "tests/experiment/fixture.h"

using namespace fovea;
using namespace fovea::experiment;
using namespace fovea::experiment::test;

namespace {

// Three rows with two seeds; the last row has one run so far.
Ablation example(const io::fs::path& sweep) {
  write("../paper/published.json", R"({"tables": [
    {"table": "Table 1", "rows": [{"row": "ViT", "values": {"A": {"mean": 75.9, "std": 0.09}}},
                                  {"row": "DGViT", "values": {"A": 78.06}}]},
    {"table": "Table 5", "unit": "million", "rows": [{"row": "DGViT", "values": {"A": 5.35}}]}]})");
  write("a.json", R"({"name": "tiny_1", "published": "paper", "base": {}, "seeds": [1, 0],
    "metrics": ["test_top1", "test_loss"], "rows": [
    {"name": "ViT", "published": {"table": "Table 1", "row": "ViT", "columns": {"test_top1": "A"}}},
    {"name": "DGViT λ", "set": {"model.depth": 3},
     "published": [{"table": "Table 1", "row": "DGViT", "columns": {"test_top1": "A"}},
                   {"table": "Table 5", "row": "DGViT", "columns": {"parameters": "A"}}]},
    {"name": "half", "set": {"model.depth": 2}}]})");
  Ablation ablation = load_ablation("a.json", kind());
  const std::string counts = R"(, "parameters": 5351114, "macs": 359946752, "time_s": 2.5)";
  // Jobs: ViT, DGViT, half with seed 1, then with seed 0.
  finish(sweep, ablation.jobs[0], R"({"test": {"top1": 75.5, "loss": 0.7}})", counts);
  finish(sweep, ablation.jobs[1], R"({"test": {"top1": 78.0, "loss": 0.6}})", counts);
  finish(sweep, ablation.jobs[2], R"({"test": {"top1": 76.25, "loss": 0.65}})", counts);
  finish(sweep, ablation.jobs[3],
         R"({"test": {"top1": 76.5, "loss": 0.8}, "train": {"loss": 0.1}})", counts);
  finish(sweep, ablation.jobs[4], R"({"test": {"top1": 79.0, "loss": 0.5}})", counts);
  return ablation;
}

std::string lines_of(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

}  // namespace

TEST_CASE("results: the table for the terminal", "[experiment]") {
  const Folder folder("text");
  const Ablation ablation = example("out");
  CHECK(
      to_text(collect_results(ablation, "out")) ==
      R"x(row       test_top1 (%) ↑     published  difference          test_loss ↓  parameters  published     MACs  time of a run
-------  ----------------  ------------  ----------  -------------------  ----------  ---------  -------  -------------
ViT      76.00 ± 0.71 (2)  75.90 ± 0.09       +0.10  0.7500 ± 0.0707 (2)     5.351 M          -  359.9 M            3 s
DGViT λ  78.50 ± 0.71 (2)         78.06       +0.44  0.5500 ± 0.0707 (2)     5.351 M     5.35 M  359.9 M            3 s
half            76.25 (1)             -           -           0.6500 (1)     5.351 M          -  359.9 M            3 s

Mean ± sample standard deviation, n = 1 to 2 of 2 seeds (1, 0).
Not all runs are finished.
MACs: multiply-adds of one forward pass at batch 1.
Published: paper, Table 1, Table 5; difference: ours - published.

Differences to ViT, paired by seed:
row         metric  difference       95 % interval  pairs  p (exact)  p (Holm)              verdict
-------  ---------  ----------  ------------------  -----  ---------  --------  -------------------
DGViT λ  test_top1       +2.50      +2.50 to +2.50      2        0.5       0.5  not distinguishable
DGViT λ  test_loss     -0.2000  -1.4706 to +1.0706      2        0.5       0.5  not distinguishable

Noise floor: two runs of ViT that differ in their seed alone are apart by no more than this in 95 of 100 cases: test_top1 12.71, test_loss 1.2706.

With 2 pairs no p below 0.5 is possible; 6 pairs are needed for 0.05.
)x");
}

TEST_CASE("results: JSON as scripts read it", "[experiment]") {
  const Folder folder("json");
  const Ablation ablation = example("out");
  CHECK(to_json(collect_results(ablation, "out")) ==
        R"x([
  {
    "name": "ViT",
    "overrides": {},
    "seeds": [0, 1],
    "metrics": {
      "test_top1": {
        "mean": 76.0,
        "std": 0.7071067811865476,
        "n": 2,
        "values": [76.5, 75.5],
        "ci95_low": 69.64689763191267,
        "ci95_high": 82.35310236808733,
        "dataset": null,
        "split": "test",
        "metric": "top1",
        "unit": "%",
        "larger_is_better": true,
        "defined": null,
        "compared": null
      },
      "test_loss": {
        "mean": 0.75,
        "std": 0.07071067811865482,
        "n": 2,
        "values": [0.8, 0.7],
        "ci95_low": 0.11468976319126567,
        "ci95_high": 1.3853102368087344,
        "dataset": null,
        "split": "test",
        "metric": "loss",
        "unit": "",
        "larger_is_better": false,
        "defined": null,
        "compared": null
      }
    },
    "parameters": 5351114,
    "macs": 359946752,
    "macs_paper": null,
    "time_s": 2.5,
    "published": {
      "key": "paper",
      "metrics": {
        "test_top1": {
          "table": "Table 1",
          "row": "ViT",
          "column": "A",
          "mean": 75.9,
          "std": 0.09
        }
      }
    },
    "changes": [],
    "selected_on": null,
    "differences": {},
    "remarks": []
  },
  {
    "name": "DGViT λ",
    "overrides": {
      "model.depth": 3
    },
    "seeds": [0, 1],
    "metrics": {
      "test_top1": {
        "mean": 78.5,
        "std": 0.7071067811865476,
        "n": 2,
        "values": [79.0, 78.0],
        "ci95_low": 72.14689763191267,
        "ci95_high": 84.85310236808733,
        "dataset": null,
        "split": "test",
        "metric": "top1",
        "unit": "%",
        "larger_is_better": true,
        "defined": null,
        "compared": null
      },
      "test_loss": {
        "mean": 0.55,
        "std": 0.07071067811865474,
        "n": 2,
        "values": [0.5, 0.6],
        "ci95_low": -0.08531023680873362,
        "ci95_high": 1.1853102368087338,
        "dataset": null,
        "split": "test",
        "metric": "loss",
        "unit": "",
        "larger_is_better": false,
        "defined": null,
        "compared": null
      }
    },
    "parameters": 5351114,
    "macs": 359946752,
    "macs_paper": null,
    "time_s": 2.5,
    "published": {
      "key": "paper",
      "metrics": {
        "test_top1": {
          "table": "Table 1",
          "row": "DGViT",
          "column": "A",
          "mean": 78.06,
          "std": null
        },
        "parameters": {
          "table": "Table 5",
          "row": "DGViT",
          "column": "A",
          "mean": 5350000.0,
          "std": null
        }
      }
    },
    "changes": [],
    "selected_on": null,
    "differences": {
      "test_top1": {
        "to": "ViT",
        "mean": 2.5,
        "ci95_low": 2.5,
        "ci95_high": 2.5,
        "pairs": 2,
        "p_exact": 0.5,
        "p_holm": 0.5,
        "paired_by": "seed",
        "left_out": 0,
        "verdict": "not distinguishable",
        "bca95_low": null,
        "bca95_high": null,
        "detectable": null
      },
      "test_loss": {
        "to": "ViT",
        "mean": -0.2,
        "ci95_low": -1.470620473617468,
        "ci95_high": 1.070620473617468,
        "pairs": 2,
        "p_exact": 0.5,
        "p_holm": 0.5,
        "paired_by": "seed",
        "left_out": 0,
        "verdict": "not distinguishable",
        "bca95_low": null,
        "bca95_high": null,
        "detectable": null
      }
    },
    "remarks": []
  },
  {
    "name": "half",
    "overrides": {
      "model.depth": 2
    },
    "seeds": [1],
    "metrics": {
      "test_top1": {
        "mean": 76.25,
        "std": null,
        "n": 1,
        "values": [76.25],
        "ci95_low": null,
        "ci95_high": null,
        "dataset": null,
        "split": "test",
        "metric": "top1",
        "unit": "%",
        "larger_is_better": true,
        "defined": null,
        "compared": null
      },
      "test_loss": {
        "mean": 0.65,
        "std": null,
        "n": 1,
        "values": [0.65],
        "ci95_low": null,
        "ci95_high": null,
        "dataset": null,
        "split": "test",
        "metric": "loss",
        "unit": "",
        "larger_is_better": false,
        "defined": null,
        "compared": null
      }
    },
    "parameters": 5351114,
    "macs": 359946752,
    "macs_paper": null,
    "time_s": 2.5,
    "published": null,
    "changes": [],
    "selected_on": null,
    "differences": {},
    "remarks": []
  }
]
)x");
}

TEST_CASE("results: the paper's count of multiply-adds stands beside ours, published ones too",
          "[experiment]") {
  const Folder folder("macs_paper");
  write("../paper/published.json", R"({"tables": [{"table": "Table 1", "unit": "million",
    "rows": [{"row": "GDLA", "values": {"FLOPs": 6850}}]}]})");
  write("a.json", R"({"name": "a", "published": "paper", "base": {}, "metrics": ["test_top1"],
    "rows": [{"name": "GDLA", "published": {"table": "Table 1", "row": "GDLA",
                                            "columns": {"macs_paper": "FLOPs"}}}]})");
  const Ablation ablation = load_ablation("a.json", kind());
  finish("out", ablation.jobs[0], R"({"test": {"top1": 80}})",
         R"(, "macs": 6345971968, "macs_paper": 6853774893)");
  const Results results = collect_results(ablation, "out");
  const std::string text = to_text(results);
  CHECK_THAT(text, Catch::Contains("MACs  MACs (paper)  published\n"));
  CHECK_THAT(text, Catch::Contains("6.346 G       6.854 G     6.85 G\n"));
  CHECK_THAT(text, Catch::Contains("which leaves out the matrix products of attention.\n"));
  CHECK_THAT(to_latex(results), Catch::Contains("MACs (paper) & Published"));
  CHECK(to_csv(results).ends_with(",6853774893,,,,,,,,,,,\n"));
}

TEST_CASE("results: CSV with full precision", "[experiment]") {
  const Folder folder("csv");
  const Ablation ablation = example("out");
  CHECK(
      to_csv(collect_results(ablation, "out")) ==
      R"x(row,metric,n,mean,std,ci95_low,ci95_high,published_mean,published_std,difference,parameters,macs,seeds,values,difference_to,paired_difference,paired_ci95_low,paired_ci95_high,pairs,p_exact,p_holm,changes,selected_on,remarks,macs_paper,time_s,defined,compared,left_out,folds,verdict,bca95_low,bca95_high,detectable,equivalence_margin,p_equivalence
ViT,test_top1,2,76,0.7071067811865476,69.64689763191267,82.35310236808733,75.9,0.09,0.09999999999999432,5351114,359946752,0 1,76.5 75.5,,,,,,,,,,,,2.5,,,,,,,,,,
ViT,test_loss,2,0.75,0.07071067811865482,0.11468976319126567,1.3853102368087344,,,,5351114,359946752,0 1,0.8 0.7,,,,,,,,,,,,2.5,,,,,,,,,,
DGViT λ,test_top1,2,78.5,0.7071067811865476,72.14689763191267,84.85310236808733,78.06,,0.4399999999999977,5351114,359946752,0 1,79 78,ViT,2.5,2.5,2.5,2,0.5,0.5,,,,,2.5,,,0,,not distinguishable,,,,,
DGViT λ,test_loss,2,0.55,0.07071067811865474,-0.08531023680873362,1.1853102368087338,,,,5351114,359946752,0 1,0.5 0.6,ViT,-0.2,-1.470620473617468,1.070620473617468,2,0.5,0.5,,,,,2.5,,,0,,not distinguishable,,,,,
half,test_top1,1,76.25,,,,,,,5351114,359946752,1,76.25,,,,,,,,,,,,2.5,,,,,,,,,,
half,test_loss,1,0.65,,,,,,,5351114,359946752,1,0.65,,,,,,,,,,,,2.5,,,,,,,,,,
)x");
}

TEST_CASE("results: Markdown", "[experiment]") {
  const Folder folder("markdown");
  const Ablation ablation = example("out");
  CHECK(to_markdown(collect_results(ablation, "out")) ==
        R"x(# tiny_1

| row     |      test_top1 (%) ↑ |    published | difference |             test_loss ↓ | parameters | published |    MACs | time of a run |
|:--------|---------------------:|-------------:|-----------:|------------------------:|-----------:|----------:|--------:|--------------:|
| ViT     |     76.00 ± 0.71 (2) | 75.90 ± 0.09 |      +0.10 |     0.7500 ± 0.0707 (2) |    5.351 M |         - | 359.9 M |           3 s |
| DGViT λ | **78.50** ± 0.71 (2) |        78.06 |      +0.44 | **0.5500** ± 0.0707 (2) |    5.351 M |    5.35 M | 359.9 M |           3 s |
| half    |     <u>76.25</u> (1) |            - |          - |       <u>0.6500</u> (1) |    5.351 M |         - | 359.9 M |           3 s |

Mean ± sample standard deviation, n = 1 to 2 of 2 seeds (1, 0).
Not all runs are finished.
MACs: multiply-adds of one forward pass at batch 1.
Published: paper, Table 1, Table 5; difference: ours - published.
Best mean bold, second underlined.

## Differences to ViT, paired by seed

| row     |    metric | difference |      95 % interval | pairs | p (exact) | p (Holm) |             verdict |
|:--------|----------:|-----------:|-------------------:|------:|----------:|---------:|--------------------:|
| DGViT λ | test_top1 |      +2.50 |     +2.50 to +2.50 |     2 |       0.5 |      0.5 | not distinguishable |
| DGViT λ | test_loss |    -0.2000 | -1.4706 to +1.0706 |     2 |       0.5 |      0.5 | not distinguishable |

Interval: Student's t. p: exact randomisation test of the signs, two-sided; Holm over the rows of a metric. Better and worse: p (Holm) of at most 0.05, so at most 5 % of tables without a true difference say either of a metric.
Noise floor: two runs of ViT that differ in their seed alone are apart by no more than this in 95 of 100 cases: test_top1 12.71, test_loss 1.2706.
With 2 pairs no p below 0.5 is possible; 6 pairs are needed for 0.05.
)x");
}

TEST_CASE("results: LaTeX", "[experiment]") {
  const Folder folder("latex");
  const Ablation ablation = example("out");
  CHECK(to_latex(collect_results(ablation, "out")) ==
        R"x(% Needs \usepackage{booktabs}.
\begin{table}
  \centering
  \caption{tiny\_1}
  \begin{tabular}{lrrrrrrr}
    \toprule
    Row & test\_top1 (\%) $\uparrow$ & Published & $\Delta$ & test\_loss $\downarrow$ & Parameters & Published & MACs \\
    \midrule
    ViT & $76.00_{\pm 0.71}$ & $75.90_{\pm 0.09}$ & $+0.10$ & $0.7500_{\pm 0.0707}$ & 5.351 M & -- & 359.9 M \\
    DGViT $\lambda$ & $\textbf{78.50}_{\pm 0.71}$ & $78.06$ & $+0.44$ & $\textbf{0.5500}_{\pm 0.0707}$ & 5.351 M & 5.35 M & 359.9 M \\
    half & $\underline{76.25}$ & -- & -- & $\underline{0.6500}$ & 5.351 M & -- & 359.9 M \\
    \bottomrule
  \end{tabular}

  \medskip
  {\footnotesize Differences to ViT, paired by seed.}

  \begin{tabular}{llrrrrrl}
    \toprule
    Row & Metric & Difference & 95\,\% interval & Pairs & $p$ (exact) & $p$ (Holm) & Verdict \\
    \midrule
    DGViT $\lambda$ & test\_top1 & $+2.50$ & $+2.50$ to $+2.50$ & 2 & 0.5 & 0.5 & not distinguishable \\
    DGViT $\lambda$ & test\_loss & $-0.2000$ & $-1.4706$ to $+1.0706$ & 2 & 0.5 & 0.5 & not distinguishable \\
    \bottomrule
  \end{tabular}

  \smallskip
  {\footnotesize
  Mean $\pm$ sample standard deviation, n = 1 to 2 of 2 seeds (1, 0).
  Not all runs are finished.
  MACs: multiply-adds of one forward pass at batch 1.
  Published: paper, Table 1, Table 5; difference: ours - published.
  Best mean bold, second underlined.
  Interval: Student's t. p: exact randomisation test of the signs, two-sided; Holm over the rows of a metric. Better and worse: p (Holm) of at most 0.05, so at most 5 \% of tables without a true difference say either of a metric.
  Noise floor: two runs of ViT that differ in their seed alone are apart by no more than this in 95 of 100 cases: test\_top1 12.71, test\_loss 1.2706.
  With 2 pairs no p below 0.5 is possible; 6 pairs are needed for 0.05.
  }
\end{table}
)x");
}

TEST_CASE("results: check says what does not fit the run folders", "[experiment]") {
  const Folder folder("check");
  const Ablation ablation = example("out");
  const Job& last = ablation.jobs[5];
  update_results(ablation, "out");
  CHECK(lines_of(check_results(ablation, "out")) == "out/runs/" + last.id + ": not finished\n");

  // A run of another configuration does not count, and the tables are out of date.
  finish("out", last, R"({"test": {"top1": 1}})");
  CHECK(lines_of(check_results(ablation, "out")).find("out/results.json:") != std::string::npos);
  update_results(ablation, "out");
  CHECK(lines_of(check_results(ablation, "out")).empty());
  write("out/runs/" + last.id + "/config.json", "{}");
  CHECK(
      lines_of(check_results(ablation, "out"))
          .find("out/runs/" + last.id +
                ": summary.json or config.json is damaged, or the configuration is not that of the "
                "job\n") == 0);

  finish("out", last, R"({"test": {"top1": 1}})", R"(, "version": "2", "commit": "abc")");
  update_results(ablation, "out");
  CHECK(lines_of(check_results(ablation, "out")) ==
        "out/runs/" + last.id + ": made by \"2, abc\", but " + ablation.jobs[0].id + " by \"\"\n");
  io::write_atomic("out/results.md", io::read_text("out/results.md") + "edited\n");
  io::remove_all("out/results.tex");
  const std::string lines = lines_of(check_results(ablation, "out"));
  CHECK(lines.find("the file has \"edited\", the run folders give \"(end)\"") != std::string::npos);
  CHECK(lines.find("out/results.tex: not found") != std::string::npos);
}
