#include "experiment/tables/latex_text.h"

#include <catch2/catch.hpp>

#include <string_view>

using namespace fovea::experiment;

TEST_CASE("latex: commands are escaped, signs and accents become commands", "[experiment]") {
  CHECK(latex_text("a_b & 50 % of $x #1 {y}") == "a\\_b \\& 50 \\% of \\$x \\#1 \\{y\\}");
  CHECK(latex_text("a\\b~c^d") == "a\\textbackslash{}b\\textasciitilde{}c\\textasciicircum{}d");
  CHECK(latex_text("λ = 0.8 ± 0.1 → β₂ ≥ 10⁻") ==
        "$\\lambda$ = 0.8 $\\pm$ 0.1 $\\rightarrow$ "
        "$\\beta$$_{2}$ $\\geq$ 10⁻");
  CHECK(latex_text("Müller, Łoś, naïve, ß") ==
        "M\\\"{u}ller, \\L{}o\\'{s}, na\\\"{\\i{}}ve, \\ss{}");
  CHECK(latex_text("“x” – y…") == "``x'' -- y\\ldots{}");
  CHECK(latex_text("a < b | c > \"d\"") == "a $<$ b $|$ c $>$ ''d''");
  // Dashes stay as they are typed.
  CHECK(latex_text("--set a---b") == "-{}-set a-{}-{}-b");
  // After the end of a row these would be its arguments.
  CHECK(latex_text("[1] *x") == "{[}1] {*}x");
  CHECK(latex_text("two\nlines\tand\x7F") == "two lines and ");
  CHECK(latex_text("bad \xFF\xC3 bytes") == "bad ?? bytes");
}

TEST_CASE("latex: what has no command needs another engine, and only that", "[experiment]") {
  CHECK_FALSE(needs_unicode_engine(latex_text("DGViT λ × 4, naïve, Müller ± 3 §†‡")));
  CHECK(needs_unicode_engine(latex_text("注意")));
  CHECK(latex_text("注意") == "注意");
}

TEST_CASE("latex: every byte and every common character gives balanced text", "[experiment]") {
  std::string all;
  for (int c = 1; c < 256; ++c) all.push_back(static_cast<char>(c));
  for (const std::string& text : {all, std::string("αβγ±×÷¿¡éèêëñçőůžşğı′‖†•½µ°²₃")}) {
    int depth = 0;
    int dollars = 0;
    const std::string latex = latex_text(text);
    for (std::size_t i = 0; i < latex.size(); ++i) {
      if (latex[i] == '\\') {
        ++i;  // the escaped character, or the first letter of a command
        continue;
      }
      depth += latex[i] == '{' ? 1 : latex[i] == '}' ? -1 : 0;
      dollars += latex[i] == '$' ? 1 : 0;
      REQUIRE(depth >= 0);
      CHECK(std::string_view("&%#_~^").find(latex[i]) ==
            (dollars % 2 == 1 && (latex[i] == '_' || latex[i] == '^')
                 ? std::string_view("&%#_~^").find(latex[i])
                 : std::string_view::npos));
    }
    CHECK(depth == 0);
    CHECK(dollars % 2 == 0);
  }
}
