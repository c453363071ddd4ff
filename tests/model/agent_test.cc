#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>

#include "tests/model/agent_fixture.h"

namespace medley {
namespace {

using test::LargestDifference;
using test::Logits;
using test::Loss;
using test::Picture;
using test::RandomExample;
using test::SmallAgent;

TEST(Agent, GradientsEqualFiniteDifferences) {
  for (const AgentConfig& config :
       {test::SmallConfig(true), test::SmallConfig(false), test::ConfigWithAlpha()}) {
    const Agent agent = test::AgentOf(config);
    const test::Example example = RandomExample(2, 2, 8, 3);
    torch::autograd::backward({Loss(agent, example)}, {});
    constexpr double kStep = 1e-5;
    at::NoGradGuard no_grad;
    for (const Parameter& parameter : agent.parameters()) {
      ASSERT_TRUE(parameter.tensor.grad().defined()) << parameter.name;
      // The element with the largest gradient: a relative bound means something there.
      const at::Tensor grad = parameter.tensor.grad().flatten();
      const std::int64_t at = grad.abs().argmax().item<std::int64_t>();
      at::Tensor value = parameter.tensor.detach().view(-1)[at];
      const double kept = value.item<double>();
      value.fill_(kept + kStep);
      const double above = Loss(agent, example).item<double>();
      value.fill_(kept - kStep);
      const double below = Loss(agent, example).item<double>();
      value.fill_(kept);
      const double expected = (above - below) / (2 * kStep);
      EXPECT_NEAR(grad[at].item<double>(), expected, 1e-7 + 1e-5 * std::abs(expected)) << parameter.name;
    }
  }
}

TEST(Agent, ARowDoesNotDependOnOtherRows) {
  for (const AgentConfig& config : {test::SmallConfig(), test::ConfigWithAlpha()}) {
    const Agent agent = test::AgentOf(config);
    test::Example all = RandomExample(5, 2, 9, 4);
    const at::Tensor logits = Logits(agent, all), picture = Picture(agent, all);
    for (std::int64_t row = 0; row < 5; ++row) {
      EXPECT_LT(LargestDifference(Logits(agent, all.Rows(row, 1)), logits.narrow(0, 3 * row, 3)), 1e-12);
      EXPECT_LT(LargestDifference(Picture(agent, all.Rows(row, 1)), picture.narrow(0, row, 1)), 1e-12);
    }
  }
}

TEST(Agent, PadsChangeNothing) {
  const Agent agent = SmallAgent();
  const test::Example example = RandomExample(4, 1, 9, 5);
  test::Example padded = example;
  padded.tokens = at::constant_pad_nd(example.tokens, {0, 6}, 0);
  EXPECT_LT(LargestDifference(Logits(agent, example), Logits(agent, padded)), 1e-12);
  EXPECT_LT(LargestDifference(Picture(agent, example), Picture(agent, padded)), 1e-12);
  // Whatever stands in the pads.
  test::Example scribbled = padded;
  scribbled.tokens = padded.tokens.clone();
  for (std::int64_t row = 0; row < 4; ++row) {
    const std::int64_t length = example.lengths[row].item<std::int64_t>();
    scribbled.tokens[row].narrow(0, length, 15 - length).fill_(50);
  }
  EXPECT_LT(LargestDifference(Logits(agent, example), Logits(agent, scribbled)), 1e-12);
  EXPECT_LT(LargestDifference(Picture(agent, example), Picture(agent, scribbled)), 1e-12);
}

TEST(Agent, ATokenChangesNoLogitBeforeIt) {
  const Agent agent = SmallAgent();
  test::Example example = RandomExample(1, 1, 10, 6);
  example.lengths.fill_(10);
  example.supervised = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
  const at::Tensor before = Logits(agent, example);
  example.tokens[0][6].fill_(99);
  const at::Tensor change = (Logits(agent, example) - before).abs().amax(-1);
  // Item i is read at position i: items 0..5 see tokens 0..5.
  EXPECT_EQ(change.narrow(0, 0, 6).max().item<double>(), 0);
  EXPECT_GT(change.narrow(0, 6, 3).min().item<double>(), 1e-6);
}

TEST(Agent, TheOrderOfImagesMatters) {
  const Agent agent = SmallAgent();
  test::Example example = RandomExample(2, 3, 8, 7);
  const at::Tensor before = Logits(agent, example);
  std::swap(example.images[0], example.images[2]);
  EXPECT_GT(LargestDifference(before, Logits(agent, example)), 1e-4);
}

TEST(Agent, GradientReachesEveryImage) {
  const Agent agent = SmallAgent();
  test::Example example = RandomExample(2, 4, 8, 8);
  for (at::Tensor& image : example.images) image.set_requires_grad(true);
  const at::Tensor logits = Logits(agent, example);
  torch::autograd::backward({logits.square().sum()}, {});
  for (const at::Tensor& image : example.images) {
    EXPECT_GT(image.grad().abs().amax({1, 2, 3}).min().item<double>(), 1e-8);
  }
}

TEST(Agent, ThePictureSeesItsContextOnly) {
  const Agent agent = SmallAgent();
  test::Example example = RandomExample(2, 1, 10, 9);
  example.lengths.fill_(10);
  example.context_lengths = at::tensor({4, 6}, at::kLong);
  const at::Tensor before = Picture(agent, example);
  test::Example later = example;
  later.tokens = example.tokens.clone();
  later.tokens.narrow(1, 6, 4).fill_(33);
  later.tokens[0].narrow(0, 4, 2).fill_(34);
  EXPECT_LT(LargestDifference(before, Picture(agent, later)), 1e-12);
  later.tokens[1][5].fill_(35);
  const at::Tensor change = (Picture(agent, later) - before).abs().amax({1, 2, 3});
  EXPECT_LT(change[0].item<double>(), 1e-12);
  EXPECT_GT(change[1].item<double>(), 1e-9);
}

at::Tensor ParameterOf(const Agent& agent, const std::string& name) {
  for (const Parameter& parameter : agent.parameters()) {
    if (parameter.name == name) return parameter.tensor;
  }
  return {};
}

ModelOutputs BothPictures(const Agent& agent, const test::Example& example) {
  ForwardContext context;
  return agent.Forward(example.Inputs(), {"image", "drawing"}, context);
}

TEST(Agent, WithoutAlphaTheImageIsTheDrawing) {
  const ModelOutputs both = BothPictures(SmallAgent(), RandomExample(2, 2, 8, 3));
  EXPECT_TRUE(both.at("image").is_same(both.at("drawing")));
}

TEST(Agent, AlphaLiesOverTheLastImage) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const Agent agent = test::AgentOf(test::ConfigWithAlpha(), dtype);
    const at::ScalarType wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
    const test::Example example = RandomExample(2, 3, 8, 3, wide);
    const at::Tensor bias = ParameterOf(agent, "img_dec.alpha.bias").detach();
    const ModelOutputs half = BothPictures(agent, example);
    EXPECT_EQ(half.at("image").scalar_type(), wide);
    const at::Tensor &seen = example.images.back(), &drawing = half.at("drawing");
    // Between the two, and near the middle where the weights are fresh.
    const at::Tensor share = (half.at("image") - seen) / (drawing - seen);
    EXPECT_GT(share.min().item<double>(), 0) << dtype;
    EXPECT_LT(share.max().item<double>(), 1) << dtype;
    EXPECT_NEAR(share.mean().item<double>(), 0.5, 0.1) << dtype;
    bias.fill_(-1e3);
    EXPECT_TRUE(at::equal(BothPictures(agent, example).at("image"), seen)) << dtype << ": not bit for bit";
    bias.fill_(1e3);
    const ModelOutputs covered = BothPictures(agent, example);
    EXPECT_TRUE(at::equal(covered.at("image"), covered.at("drawing"))) << dtype;
    EXPECT_TRUE(at::equal(covered.at("drawing"), drawing)) << dtype << ": whatever the opacity";
  }
}

// For a forward whose rows ask for unlike things.
TEST(Agent, RowsThatAreDrawnAloneAreTheirDrawingAndTeachAlphaNothing) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const Agent agent = test::AgentOf(test::ConfigWithAlpha(), dtype);
    const test::Example example = RandomExample(3, 2, 8, 3, dtype == at::kDouble ? at::kDouble : at::kFloat);
    const ModelOutputs all = BothPictures(agent, example);
    ModelInputs inputs = example.Inputs();
    inputs.push_back({"drawn_alone", at::tensor({1, 0, 1}, at::kLong).to(at::kBool), ""});
    ForwardContext context;
    const at::Tensor image = agent.Forward(inputs, {"image"}, context).at("image");
    EXPECT_TRUE(at::equal(image[0], all.at("drawing")[0])) << dtype;
    EXPECT_TRUE(at::equal(image[1], all.at("image")[1])) << dtype;
    EXPECT_TRUE(at::equal(image[2], all.at("drawing")[2])) << dtype;
    torch::autograd::backward({image[0].square().sum() + image[2].square().sum()}, {});
    EXPECT_EQ(ParameterOf(agent, "img_dec.alpha.weight").grad().abs().max().item<double>(), 0) << dtype;
    EXPECT_GT(ParameterOf(agent, "img_dec.patch.weight").grad().abs().max().item<double>(), 0) << dtype;
  }
}

TEST(Agent, ADrawingLeavesAlphaAlone) {
  const Agent agent = test::AgentOf(test::ConfigWithAlpha());
  ForwardContext context;
  const auto outputs = agent.Forward(RandomExample(2, 2, 8, 3).Inputs(), {"drawing"}, context);
  EXPECT_EQ(outputs.count("image"), 0U);
  torch::autograd::backward({outputs.at("drawing").square().sum()}, {});
  for (const Parameter& parameter : agent.parameters()) {
    EXPECT_EQ(parameter.tensor.grad().defined(), !parameter.name.starts_with("img_dec.alpha."))
        << parameter.name;
  }
}

// A canvas that an earlier pass drew may be anything.
TEST(Agent, ACarriedCanvasIsClampedAndHasItsGradientThroughTheMixing) {
  const Agent agent = test::AgentOf(test::ConfigWithAlpha());
  test::Example example = RandomExample(1, 1, 8, 3);
  ParameterOf(agent, "img_dec.alpha.bias").detach().fill_(-1e3);
  at::Tensor& canvas = example.images.front();
  canvas = (canvas * 3 - 1).requires_grad_(true);
  const at::Tensor picture = Picture(agent, example);
  EXPECT_TRUE(at::equal(picture, canvas.clamp(0, 1)));
  torch::autograd::backward({picture.sum()}, {});
  const at::Tensor inside = canvas.gt(0).logical_and(canvas.lt(1));
  ASSERT_TRUE(inside.any().item<bool>() && !inside.all().item<bool>());
  EXPECT_TRUE(at::equal(canvas.grad(), inside.to(at::kDouble)));
}

TEST(Agent, LogitsAreTheSameWhetherAPictureIsWantedOrNot) {
  const Agent agent = SmallAgent();
  const test::Example example = RandomExample(3, 2, 9, 10);
  ForwardContext context;
  const ModelOutputs both = agent.Forward(example.Inputs(), {"logits", "image"}, context);
  EXPECT_LT(LargestDifference(both.at("logits"), Logits(agent, example)), 1e-12);
}

class Caching : public ForwardContext {
 public:
  explicit Caching(bool beside_layers) : beside_layers_(beside_layers) {}
  bool SharesBesideLayers(const std::string&) const override { return beside_layers_; }
  at::Tensor Shared(const std::string& key, const Fn& fn) override {
    at::Tensor& value = cache[key];
    if (!value.defined()) value = fn();
    return value;
  }
  std::map<std::string, at::Tensor> cache;

 private:
  bool beside_layers_;
};

TEST(Agent, SharedEncodingsKeysAndValuesGiveTheSameGradients) {
  const auto gradients = [](ForwardContext& context) {
    const Agent agent = SmallAgent();
    const test::Example first = RandomExample(2, 2, 8, 11);
    test::Example second = RandomExample(2, 2, 9, 12);
    second.images = first.images;
    const auto loss = [&](const test::Example& example) {
      return agent.Forward(example.Inputs(), {"logits"}, context).at("logits").square().sum();
    };
    torch::autograd::backward({loss(first), loss(second)}, {});
    std::vector<at::Tensor> all;
    for (const Parameter& parameter : agent.parameters()) {
      if (parameter.tensor.grad().defined()) all.push_back(parameter.tensor.grad().flatten());
    }
    return at::cat(all);
  };
  ForwardContext plain;
  const at::Tensor expected = gradients(plain);
  for (const bool beside_layers : {false, true}) {
    Caching caching(beside_layers);
    const at::Tensor shared = gradients(caching);
    const std::size_t pictures = 2, layers = 2;
    EXPECT_EQ(caching.cache.size(), beside_layers ? pictures + 2 * pictures * layers : pictures);
    EXPECT_LT((expected - shared).norm().item<double>(), 1e-12 * expected.norm().item<double>());
  }
}

// A picture that only this pass sees stands behind those that others see too.
TEST(Agent, KeysOfSharedPicturesStandBeforeThoseOfOthers) {
  class FirstAlone : public ForwardContext {
   public:
    bool SharesBesideLayers(const std::string& key) const override { return key == first; }
    std::string first;
  } context;
  const Agent agent = SmallAgent();
  const test::Example example = RandomExample(2, 3, 8, 14);
  context.first = example.Inputs().front().key;
  ASSERT_FALSE(context.first.empty());
  const auto logits = agent.Forward(example.Inputs(), {"logits"}, context).at("logits");
  EXPECT_LT(LargestDifference(logits, Logits(agent, example)), 1e-12);
}

TEST(Agent, ThePictureDecoderDoesNotRunUnlessAskedFor) {
  class Counting : public ForwardContext {
   public:
    at::Tensor Layer(std::string_view stack, int index, const at::Tensor& x,
                     const std::function<at::Tensor(const at::Tensor&)>& fn) override {
      ++layers[std::string(stack)];
      return ForwardContext::Layer(stack, index, x, fn);
    }
    std::map<std::string, int> layers;
  } context;
  const Agent agent = SmallAgent();
  agent.Forward(RandomExample(1, 2, 8, 13).Inputs(), {"logits"}, context);
  EXPECT_EQ(context.layers, (std::map<std::string, int>{{"encoder", 4}, {"text", 2}}));
}

TEST(Agent, FreshWeightsDependOnSeedAndNameOnly) {
  const at::Tensor before = at::rand({4});
  at::manual_seed(1);
  const at::Tensor expected = at::rand({3});
  at::manual_seed(1);
  const Agent one = SmallAgent(), two = SmallAgent();
  EXPECT_TRUE(at::equal(at::rand({3}), expected)) << "building a model moved the default generator";
  for (std::size_t i = 0; i < one.parameters().size(); ++i) {
    EXPECT_TRUE(at::equal(one.parameters()[i].tensor, two.parameters()[i].tensor))
        << one.parameters()[i].name;
  }
  AgentConfig deeper = test::SmallConfig();
  deeper.language.layers = 3;
  Agent other(deeper, test::LetterTokenizer(), 8);
  const auto find = [](const Agent& agent, const std::string& name) {
    for (const Parameter& p : agent.parameters()) {
      if (p.name == name) return p.tensor;
    }
    return at::Tensor();
  };
  EXPECT_FALSE(
      at::equal(find(one, "img_enc.patch.weight"), find(other, "img_enc.patch.weight").to(at::kDouble)));
}

TEST(Agent, FloatAndDoubleAgree) {
  const Agent wide = SmallAgent(at::kDouble), narrow = SmallAgent(at::kFloat);
  const test::Example example = RandomExample(3, 2, 9, 14);
  EXPECT_EQ(Logits(narrow, example).scalar_type(), at::kFloat);
  EXPECT_LT(LargestDifference(Logits(wide, example), Logits(narrow, example)), 1e-4);
  EXPECT_LT(LargestDifference(Picture(wide, example), Picture(narrow, example)), 1e-4);
}

// The words that the language has: LetterTokenizer's.
AgentConfig WithRoomFor(std::int64_t items, bool tied = true) {
  AgentConfig config = test::SmallConfig();
  config.language.tied = tied;
  config.language.loss_bytes = items * LossPieces::ItemBytes(test::LetterTokenizer().size());
  return config;
}

at::Tensor LossesOf(const Agent& agent, const ModelInputs& inputs) {
  ForwardContext context;
  return agent.Forward(inputs, {"losses"}, context).at("losses");
}

TEST(Agent, LossesAreThoseOfItsLogitsToTheBitWhereAllFit) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const Agent agent = test::SmallAgent(dtype);
    const ModelInputs inputs = test::RandomExample(3, 1, 8, 11, dtype).Inputs();
    ForwardContext context;
    const ModelOutputs outputs = agent.Forward(inputs, {"logits", "losses", "targets"}, context);
    const at::Tensor losses = LossesOf(agent, inputs);
    EXPECT_TRUE(losses.equal(outputs.at("losses")));
    EXPECT_TRUE(losses.equal(
        at::cross_entropy_loss(outputs.at("logits"), outputs.at("targets"), {}, at::Reduction::None)));
  }
}

TEST(Agent, LossesThatAreCutHaveTheGradientsOfThoseThatAreNot) {
  for (const bool tied : {true, false}) {
    const Agent whole = test::AgentOf(WithRoomFor(1000, tied)), cut = test::AgentOf(WithRoomFor(2, tied));
    test::Example example = test::RandomExample(3, 2, 9, 12);
    ModelInputs inputs = example.Inputs();
    inputs.push_back({"smoothing", at::linspace(0, 1, 9, at::kDouble), ""});
    const at::Tensor weights = at::linspace(-1, 2, 9, at::kDouble);
    const at::Tensor expected = LossesOf(whole, inputs), losses = LossesOf(cut, inputs);
    EXPECT_LT(test::LargestDifference(losses, expected), 1e-12);
    (expected * weights).sum().backward(), (losses * weights).sum().backward();
    for (std::size_t i = 0; i < whole.parameters().size(); ++i) {
      const Parameter &one = cut.parameters()[i], &other = whole.parameters()[i];
      ASSERT_EQ(one.tensor.grad().defined(), other.tensor.grad().defined()) << one.name;
      if (!one.tensor.grad().defined()) continue;
      EXPECT_LT(test::LargestDifference(one.tensor.grad(), other.tensor.grad()), 1e-12) << one.name;
    }
  }
}

TEST(Agent, ALossLimitBelowOneItemsLogitsIsRefusedWithBoth) {
  AgentConfig config = test::SmallConfig();
  config.language.loss_bytes = 1000;
  try {
    test::AgentOf(config);
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    const std::string least = std::to_string(12 * test::LetterTokenizer().size());
    EXPECT_NE(std::string(error.what()).find("language.loss_bytes is 1000"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find(least + " bytes"), std::string::npos) << error.what();
  }
}

TEST(Agent, SmoothingIsAShareForEachItem) {
  const Agent agent = test::SmallAgent();
  const test::Example example = test::RandomExample(2, 1, 8, 11);
  for (const at::Tensor& wrong : {at::full({6}, 1.5), at::full({5}, 0.5), at::zeros({6}, at::kLong)}) {
    ModelInputs inputs = example.Inputs();
    inputs.push_back({"smoothing", wrong, ""});
    EXPECT_THROW(LossesOf(agent, inputs), Error) << wrong;
  }
}

}  // namespace
}  // namespace medley
