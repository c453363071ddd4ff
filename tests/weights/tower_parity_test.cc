// Towers as Hugging Face writes them, alone and in a LLaVA, with what transformers computes from them:
// tower_cases/, made by its make.py, or the folders in MEDLEY_TOWER_CASES.

#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <medley/weights/pretrained_tower.h>
#include <medley/weights/safetensors.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/weights/published_agent.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::PublishedAgent;
using test::PublishedVisionTower;

constexpr double kExact = 1e-5;

struct TowerCase {
  explicit TowerCase(const fs::path& folder)
      : folder(folder), expected(ReadSafetensors(folder / "expect.safetensors")) {}

  bool is_llava() const { return expected.contains("logits"); }
  const at::Tensor& operator[](const std::string& name) const { return expected.at(name); }
  std::vector<at::Tensor> Images() const {
    std::vector<at::Tensor> images;
    for (std::size_t i = 0; expected.contains(Image(i)); ++i) images.push_back(expected.at(Image(i)));
    return images;
  }
  static std::string Image(std::size_t i) { return "images." + std::to_string(i); }
  // Of the items of `learned`, row * width + position.
  at::Tensor Supervised() const { return expected.at("learned").flatten().nonzero().squeeze(1); }
  ModelInputs Inputs() const {
    ModelInputs inputs;
    for (const at::Tensor& image : Images()) inputs.push_back({"images", image, ""});
    inputs.push_back({"tokens", expected.at("tokens"), ""});
    inputs.push_back({"lengths", expected.at("lengths"), ""});
    inputs.push_back({"supervised", Supervised(), ""});
    return inputs;
  }

  fs::path folder;
  std::map<std::string, at::Tensor> expected;
};

std::vector<TowerCase> TowerCases() {
  const char* elsewhere = std::getenv("MEDLEY_TOWER_CASES");
  const fs::path directory =
      elsewhere != nullptr ? fs::path(elsewhere) : fs::path(MEDLEY_SOURCE_DIR) / "tests/weights/tower_cases";
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (fs::exists(entry.path() / "expect.safetensors")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  std::vector<TowerCase> cases(folders.begin(), folders.end());
  return cases;
}

double LargestDifference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}
double RootMeanSquare(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).square().mean().sqrt().item<double>();
}

// Of every parameter whose name begins so. Those of keys' biases are 0 but for rounding, so the whole
// gradient says how far off one may be.
void ExpectGradients(const TowerCase& of, const std::vector<Parameter>& parameters) {
  std::size_t count = 0;
  double whole = 0;
  for (const auto& [name, tensor] : of.expected) {
    if (!name.starts_with("grad.")) continue;
    ++count, whole += tensor.to(at::kDouble).square().sum().item<double>();
  }
  std::size_t found = 0;
  for (const Parameter& parameter : parameters) {
    const auto gradient = of.expected.find("grad." + parameter.name);
    if (gradient == of.expected.end()) {
      EXPECT_FALSE(parameter.tensor.grad().defined()) << "a gradient of " << parameter.name;
      continue;
    }
    ++found;
    const double norm = gradient->second.to(at::kDouble).norm().item<double>();
    const at::Tensor off = parameter.tensor.grad().to(at::kDouble) - gradient->second.to(at::kDouble);
    EXPECT_LE(off.norm().item<double>(), kExact * std::max(norm, 1e-2 * std::sqrt(whole))) << parameter.name;
  }
  EXPECT_EQ(found, count);
}

TEST(TowerParity, TwelveFoldersAreThere) {
  const std::vector<TowerCase> cases = TowerCases();
  if (std::getenv("MEDLEY_TOWER_CASES") != nullptr) GTEST_SKIP() << "of another directory";
  EXPECT_EQ(cases.size(), 12U);
}

TEST(TowerParity, FeaturesAndEveryGradientOfATowerAloneAreThoseOfTransformers) {
  for (const TowerCase& of : TowerCases()) {
    SCOPED_TRACE(of.folder.filename().string());
    const PublishedVisionTower tower(of.folder);
    const at::Tensor features = tower(at::cat(of.Images()));
    EXPECT_LE(LargestDifference(features, of["features"]), kExact);
    if (of.is_llava()) continue;
    const at::Tensor loss = (features * of["direction"]).mean();
    EXPECT_NEAR(loss.item<double>(), of["loss"].item<double>(), kExact);
    loss.backward();
    ExpectGradients(of, tower.parameters());
  }
}

TEST(TowerParity, LogitsLossAndEveryGradientOfALlavaAreThoseOfTransformers) {
  for (const TowerCase& of : TowerCases()) {
    if (!of.is_llava()) continue;
    SCOPED_TRACE(of.folder.filename().string());
    PublishedAgent published(test::TowerFile(of.folder, /*with_language=*/true));
    ForwardContext context;
    const ModelOutputs outputs = published.agent().Forward(of.Inputs(), {"logits", "losses"}, context);
    const at::Tensor expected = of["logits"].flatten(0, 1).index_select(0, of.Supervised() - 1);
    EXPECT_LE(LargestDifference(outputs.at("logits"), expected),
              kExact * expected.abs().max().item<double>());
    const at::Tensor loss = outputs.at("losses").mean();
    EXPECT_NEAR(loss.item<double>(), of["loss"].item<double>(), kExact);
    loss.backward();
    ExpectGradients(of, published.agent().parameters());
  }
}

// What bf16 leaves of a result, transformers and we lose likewise.
TEST(TowerParity, InBf16ResultsAreAsFarFromFloatAsThoseOfTransformers) {
  const at::NoGradGuard no_grad;
  for (const TowerCase& of : TowerCases()) {
    SCOPED_TRACE(of.folder.filename().string());
    PublishedVisionTower tower(of.folder);
    tower.To(at::kBFloat16);
    EXPECT_LE(RootMeanSquare(tower(at::cat(of.Images())), of["features"]),
              1.1 * of["bf16.features"].item<double>());
    if (!of.is_llava()) continue;
    PublishedAgent published(test::TowerFile(of.folder, /*with_language=*/true));
    published.agent().To(at::kCPU, at::kBFloat16);
    ForwardContext context;
    const at::Tensor logits = published.agent().Forward(of.Inputs(), {"logits"}, context).at("logits");
    const at::Tensor expected = of["logits"].flatten(0, 1).index_select(0, of.Supervised() - 1);
    EXPECT_LE(RootMeanSquare(logits, expected), 1.1 * of["bf16.logits"].item<double>());
  }
}

}  // namespace
}  // namespace medley
