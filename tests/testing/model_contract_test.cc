// Models that no task runs: what is wrong with them is found with every seed, and a right one hears nothing.
#include <medley/testing/checks.h>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/blocks/dropout.h>
#include <medley/model/mlp_model.h>
#include <medley/model/model_info.h>
#include <medley/testing/made_model.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/sweep.h"

namespace medley {
namespace {

// Before the first tensor of the program.
const bool kCounted = (InstallCpuAllocator(), true);

enum class Mistake {
  kNone,
  kBatchNorm,
  kSoftmaxOverRows,
  kPadsInTheMean,
  kRunningMean,
  kGrowingList,
  kDetachedOutput,
  kDetachedPart,
  kParameterLeftOut,
  kLibtorchsDropout,
  kNotFinite,
  kOtherShape,
  kSmallFootprint,
};

constexpr ModelSpec kSeriesSpec{
    .name = "series_net",
    .summary = "the mean over a series of points and words",
    .sizes = {{.name = "frames", .lengths = "lengths"}},
    .inputs = {{.name = "series", .dimensions = {"rows", "frames", "2"}},
               {.name = "words", .dtype = "int64", .dimensions = {"rows", "frames"}, .below = 7},
               {.name = "lengths", .dtype = "int64", .dimensions = {"rows"}}},
    .outputs = {{.name = "logits", .dimensions = {"rows", "3"}},
                {.name = "places", .dimensions = {"rows", "frames", "3"}}}};

// The mean over a row's own frames of a map of points and words, and a map of each.
class SeriesNet final : public ParameterModel {
 public:
  SeriesNet(Mistake mistake, const ModelContext& context)
      : ParameterModel(kSeriesSpec, context),
        mistake_(mistake),
        in_(set(), "in", 2, kHidden, true),
        out_(set(), "out", kHidden, 3, true),
        words_(set().Normal("words", {7, kHidden}, 0.5)),
        scale_(set().Constant("scale", {kHidden}, 1)) {}

  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs&,
                       ForwardContext& context) const override {
    const at::Tensor series = InputNamed(inputs, "series").to(FloatTypeOf(*this));
    const at::Tensor lengths = InputNamed(inputs, "lengths");
    at::Tensor hidden = at::tanh(in_(series) + at::embedding(words_, InputNamed(inputs, "words")));
    if (mistake_ != Mistake::kParameterLeftOut) hidden = hidden * scale_;
    hidden = Dropout(0.3, "hidden", context)(hidden);
    if (mistake_ == Mistake::kLibtorchsDropout) hidden = at::dropout(hidden, 0.3, /*train=*/true);
    if (mistake_ == Mistake::kBatchNorm) hidden = (hidden - hidden.mean(0)) / (hidden.std(0, false) + 0.1);
    if (mistake_ == Mistake::kSoftmaxOverRows) hidden = at::softmax(hidden, 0);
    if (mistake_ == Mistake::kDetachedPart) hidden = hidden * (1 + 0.1 * hidden.detach());
    const at::Tensor mask =
        at::arange(series.size(1), at::kLong).lt(lengths.unsqueeze(1)).unsqueeze(2).to(hidden.scalar_type());
    at::Tensor mean = (hidden * mask).sum(1) / lengths.unsqueeze(1);
    if (mistake_ == Mistake::kPadsInTheMean) mean = hidden.mean(1);
    if (mistake_ == Mistake::kRunningMean) {
      const at::Tensor now = mean.detach().mean();
      running_ = running_.defined() ? running_ * 0.9 + now * 0.1 : now;
      mean = mean - running_.to(mean.scalar_type());
    }
    if (mistake_ == Mistake::kGrowingList) kept_.push_back(mean.detach().clone());
    at::Tensor logits = out_(mean);
    if (mistake_ == Mistake::kDetachedOutput) logits = logits.detach();
    if (mistake_ == Mistake::kNotFinite) logits = logits.sub(logits).div(0);
    if (mistake_ == Mistake::kOtherShape) logits = logits.unsqueeze(2);
    const at::Tensor places = out_(hidden * mask);
    return {{"logits", logits}, {"places", mistake_ == Mistake::kDetachedOutput ? places.detach() : places}};
  }

  std::vector<ForwardPart> Footprint(const ForwardShape& shape) const override {
    if (mistake_ != Mistake::kSmallFootprint) return ParameterModel::Footprint(shape);
    return {{.kept = 16, .forward = 16}};
  }

 private:
  static constexpr std::int64_t kHidden = 6;

  Mistake mistake_;
  Linear in_, out_;
  at::Tensor words_, scale_;
  mutable at::Tensor running_;
  mutable std::vector<at::Tensor> kept_;
};

check::Findings FindingsOf(Mistake mistake, std::uint64_t seed,
                           std::vector<std::string>* not_judged = nullptr) {
  const ModelConfig config(InfoOf(kSeriesSpec));
  SeriesNet model(mistake, ModelContext(config, seed, at::kCPU, nullptr));
  return check::ModelContract(model, config, not_judged);
}

std::string Joined(const check::Findings& findings) {
  std::string all;
  for (const std::string& one : findings) all += one + "\n";
  return all;
}

TEST(ModelContract, FindsEachMistakeWithEverySeed) {
  ASSERT_TRUE(kCounted);
  const std::vector<std::pair<Mistake, std::string>> mistakes = {
      {Mistake::kBatchNorm, "is another beside 2 rows, of which some are longer, than alone"},
      {Mistake::kSoftmaxOverRows, "is another beside 2 rows"},
      {Mistake::kPadsInTheMean, "pads that are not masked"},
      {Mistake::kRunningMean, "running statistics"},
      {Mistake::kGrowingList, "more in use than the one before"},
      {Mistake::kDetachedOutput, "no gradient of an output reaches the parameters"},
      {Mistake::kDetachedPart, "is not how they change"},
      {Mistake::kParameterLeftOut, "what the parameters scale are for"},
      {Mistake::kLibtorchsDropout, "libtorch's own generator"},
      {Mistake::kNotFinite, "is not finite"},
      {Mistake::kOtherShape, "is another than in the spec"},
      {Mistake::kSmallFootprint, "the footprint of a forward peaks at"}};
  for (const std::int64_t seed : test::SliceOfSteps("models", 0, 20, /*of=*/10)) {
    for (const auto& [mistake, words] : mistakes) {
      std::vector<std::string> not_judged;
      const std::string findings = Joined(FindingsOf(mistake, static_cast<std::uint64_t>(seed), &not_judged)),
                        found = findings + Joined(not_judged);
      EXPECT_EQ(findings.empty(), mistake == Mistake::kParameterLeftOut) << words;
      EXPECT_NE(found.find(words), std::string::npos) << words << ", seed " << seed << ": " << found;
    }
  }
}

TEST(ModelContract, FindsNothingInARightModelWithEverySeed) {
  for (const std::int64_t seed : test::SliceOfSteps("right models", 0, 20, /*of=*/10)) {
    std::vector<std::string> not_judged;
    EXPECT_EQ(FindingsOf(Mistake::kNone, static_cast<std::uint64_t>(seed), &not_judged), check::Findings());
    EXPECT_EQ(not_judged, std::vector<std::string>());
  }
}

TEST(ModelContract, LeavesTheModelsTypeAndTheGeneratorsAsTheyWere) {
  const ModelConfig config(InfoOf(kSeriesSpec));
  SeriesNet model(Mistake::kNone, ModelContext(config, 1, at::kCPU, nullptr));
  std::vector<at::Tensor> before;
  for (const Parameter& parameter : model.parameters()) before.push_back(parameter.tensor.detach().clone());
  EXPECT_EQ(check::ModelContract(model, config), check::Findings());
  EXPECT_EQ(FloatTypeOf(model), at::kFloat);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_TRUE(before[i].equal(model.parameters()[i].tensor.detach())) << model.parameters()[i].name;
}

class Mlp final : public MlpModel {
 public:
  static constexpr ModelSpec kSpec = MlpSpec("mlp", "", {{.name = "x", .dimensions = {"rows", "6"}}},
                                             {{.name = "y", .dimensions = {"rows", "5"}}});
  explicit Mlp(const ModelContext& context) : MlpModel(kSpec, context) {}
};

TEST(ModelContract, FindsNothingInAPerceptronWhoseFootprintItCounts) {
  const check::Made<Mlp> made({{"width", 8.0}});
  EXPECT_EQ(check::ModelContract(*made, made.config()), check::Findings());
}

class Unbounded final : public ParameterModel {
 public:
  static constexpr ModelSpec kSpec{.name = "unbounded",
                                   .inputs = {{.name = "kinds", .dtype = "int64", .dimensions = {"rows"}}},
                                   .outputs = {{.name = "y", .dimensions = {"rows", "5"}}}};
  explicit Unbounded(const ModelContext& context)
      : ParameterModel(kSpec, context), table_(set().Normal("table", {3, 5}, 1)) {}
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs&, ForwardContext&) const override {
    return {{"y", at::embedding(table_, InputNamed(inputs, "kinds"))}};
  }

 private:
  at::Tensor table_;
};

TEST(ModelContract, NamesWhatTheSpecDoesNotSay) {
  const check::Made<Unbounded> made;
  std::vector<std::string> not_judged;
  EXPECT_EQ(check::ModelContract(*made, made.config(), &not_judged), check::Findings());
  EXPECT_EQ(not_judged,
            std::vector<std::string>{"integers of 'kinds' have no bound (.below in the model's spec)"});
}

}  // namespace
}  // namespace medley
