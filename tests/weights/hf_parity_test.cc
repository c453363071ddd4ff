// Folders as Hugging Face writes them, with what transformers computes from them: hf_cases/, made by its
// make.py, or the folders in MEDLEY_PARITY_CASES.

#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <medley/weights/safetensors.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/weights/published_language.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Published;
using Tensors = std::map<std::string, at::Tensor>;

constexpr double kTolerance = 1e-4;

std::vector<fs::path> Cases() {
  const char* elsewhere = std::getenv("MEDLEY_PARITY_CASES");
  const fs::path directory =
      elsewhere != nullptr ? fs::path(elsewhere) : fs::path(MEDLEY_SOURCE_DIR) / "tests/weights/hf_cases";
  std::vector<fs::path> cases;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (fs::exists(entry.path() / "expect.safetensors")) cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

struct Case {
  explicit Case(const fs::path& folder) : expected(ReadSafetensors(folder / "expect.safetensors")) {
    for (const char* name : {"tokens", "lengths", "logits", "loss"})
      if (expected.count(name) == 0) throw std::runtime_error(folder.string() + " expects no " + name);
  }
  const at::Tensor& operator[](const std::string& name) const { return expected.at(name); }
  // [rows, width], true where column + `ahead` is a token.
  at::Tensor Inside(std::int64_t ahead = 0) const {
    const at::Tensor& lengths = expected.at("lengths");
    const at::Tensor column = at::arange(expected.at("tokens").size(1)) + ahead;
    return column.unsqueeze(0).lt(lengths.unsqueeze(1));
  }
  Tensors expected;
};

void ForEachCase(const std::function<void(const fs::path&, const Case&)>& check) {
  const std::vector<fs::path> cases = Cases();
  ASSERT_FALSE(cases.empty());
  for (const fs::path& folder : cases) {
    SCOPED_TRACE(folder.filename().string());
    check(folder, Case(folder));
  }
}

double RelativeNorm(const at::Tensor& found, const at::Tensor& expected) {
  const at::Tensor wide = expected.to(at::kDouble);
  return ((found.to(at::kDouble) - wide).norm() / wide.norm()).item<double>();
}

TEST(HfParity, LogitsLossAndEveryGradientAreThoseOfTransformers) {
  ForEachCase([](const fs::path& folder, const Case& expected) {
    const at::Tensor& tokens = expected["tokens"];
    const Published published(folder, tokens.size(1));
    const at::Tensor logits = published.LogitsOf(tokens);
    const at::Tensor difference = (logits.detach() - expected["logits"]).abs();
    EXPECT_LE(difference.masked_select(expected.Inside().unsqueeze(2)).max().item<double>(), kTolerance);

    const at::Tensor learned = expected.Inside(/*ahead=*/1).narrow(1, 0, tokens.size(1) - 1);
    const at::Tensor told = logits.narrow(1, 0, tokens.size(1) - 1).flatten(0, 1);
    const at::Tensor places = learned.flatten().nonzero().squeeze(1);
    const at::Tensor loss =
        at::cross_entropy_loss(told.index_select(0, places),
                               tokens.narrow(1, 1, tokens.size(1) - 1).flatten().index_select(0, places));
    EXPECT_NEAR(loss.item<double>(), expected["loss"].item<double>(), kTolerance);

    loss.backward();
    std::size_t gradients = 0;
    for (const auto& [name, tensor] : expected.expected) gradients += name.starts_with("grad.") ? 1 : 0;
    EXPECT_EQ(gradients, published.parameters().size());
    for (const Parameter& parameter : published.parameters()) {
      const auto found = expected.expected.find("grad." + parameter.name);
      if (found == expected.expected.end())
        ADD_FAILURE() << "no gradient of " << parameter.name;
      else
        EXPECT_LE(RelativeNorm(parameter.tensor.grad(), found->second), kTolerance) << parameter.name;
    }
  });
}

// Token by token, from the keys and values that are kept.
TEST(HfParity, GreedyTokensAreThoseOfTransformers) {
  bool any = false;
  ForEachCase([&](const fs::path& folder, const Case& expected) {
    if (expected.expected.count("greedy") == 0) return;
    any = true;
    const at::NoGradGuard no_grad;
    const at::Tensor &tokens = expected["tokens"], &greedy = expected["greedy"];
    const std::int64_t width = tokens.size(1), steps = greedy.size(1);
    Published published(folder, width + steps);
    published.To(at::kDouble);
    const Language& language = published.language();
    ForwardContext context;
    TextCache cache;
    cache.positions = width + steps;
    at::Tensor lengths = expected["lengths"].clone();
    TextInput text;
    text.selected = at::arange(tokens.size(0)) * width + lengths - 1, text.cache = &cache;
    at::Tensor hidden = language.Hidden(language.Embed(tokens), text, context);
    for (std::int64_t step = 0; step < steps; ++step, lengths = lengths + 1) {
      const at::Tensor next = language.Logits(hidden).argmax(-1);
      ASSERT_TRUE(next.equal(greedy.select(1, step))) << "step " << step;
      hidden = language.Continue(language.Embed(next), lengths, width + step + 1, cache);
    }
  });
  EXPECT_TRUE(any || std::getenv("MEDLEY_PARITY_CASES") != nullptr);
}

}  // namespace
}  // namespace medley
