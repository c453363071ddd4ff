#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <medley/base/error.h>
#include <medley/model/agent/spliced_text.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/model/tower_fixture.h"
#include "tests/words.h"

namespace medley {
namespace {

using test::Example;
using test::kPictureToken;
using test::TowerAgentConfig;
using test::TowerExample;

std::vector<std::int64_t> ToVector(const at::Tensor& numbers) {
  const at::Tensor flat = numbers.contiguous();
  const auto* begin = flat.const_data_ptr<std::int64_t>();
  return {begin, begin + flat.numel()};
}

PictureWords Words() {
  return {
      .labels = {at::tensor({11, 12}, at::kLong), at::tensor({13}, at::kLong), at::tensor({14}, at::kLong)},
      .closing = at::tensor({19}, at::kLong),
      .patches = 3,
      .token = 9,
      .pad = 0};
}

// Of a row: what stands at each position, a word's id or -1 - (picture * patches + vector); and where each
// token ends.
struct SlowlySpliced {
  std::vector<std::int64_t> what, ends;
};
SlowlySpliced SpliceSlowly(const std::vector<std::int64_t>& row, const PictureWords& words,
                           std::int64_t pictures) {
  SlowlySpliced spliced;
  std::int64_t next = 0;
  const auto add_picture = [&] {
    for (std::int64_t i = 0; i < words.patches; ++i) spliced.what.push_back(-1 - (next * words.patches + i));
    ++next;
  };
  if (std::count(row.begin(), row.end(), words.token) == 0) {
    for (std::int64_t i = 0; i < pictures; ++i) {
      for (const std::int64_t id : ToVector(words.labels[static_cast<std::size_t>(i)]))
        spliced.what.push_back(id);
      add_picture();
      for (const std::int64_t id : ToVector(words.closing)) spliced.what.push_back(id);
    }
  }
  for (const std::int64_t id : row) {
    if (id == words.token)
      add_picture();
    else
      spliced.what.push_back(id);
    spliced.ends.push_back(std::ssize(spliced.what) - 1);
  }
  return spliced;
}

TEST(SplicedText, IsWhatOneWritesDownByHand) {
  const PictureWords words = Words();
  at::Generator generator = at::detail::createCPUGenerator(3);
  for (std::int64_t round = 0; round < 200; ++round) {
    const std::int64_t pictures = 1 + round % 3, width = 4 + round % 5, rows = 3;
    at::Tensor tokens = at::randint(20, 90, {rows, width}, generator, at::kLong);
    for (std::int64_t row = 0; row < rows; ++row) {
      if ((round + row) % 3 == 0) continue;
      const at::Tensor places = at::randperm(width, generator, at::kLong).narrow(0, 0, pictures);
      tokens[row].index_fill_(0, places, words.token);
    }
    const SplicedText spliced = Splice(tokens, words, pictures);
    ASSERT_EQ(spliced.length(), words.Front(pictures) + width);
    at::Tensor what = spliced.ids.flatten().clone();
    for (std::int64_t i = 0; i < pictures; ++i) {
      const at::Tensor vectors = -1 - (i * words.patches + at::arange(words.patches, at::kLong));
      what.index_copy_(0, spliced.pictures[static_cast<std::size_t>(i)], vectors.repeat({rows}));
    }
    what = what.view_as(spliced.ids);
    for (std::int64_t row = 0; row < rows; ++row) {
      const SlowlySpliced slow = SpliceSlowly(ToVector(tokens[row]), words, pictures);
      EXPECT_EQ(ToVector(what[row].narrow(0, 0, std::ssize(slow.what))), slow.what);
      EXPECT_EQ(ToVector(spliced.last[row]), slow.ends);
    }
  }
}

// Whatever its tokens are, a row that nobody could check reaches no memory of others.
TEST(SplicedText, OfTooManyOrTooFewTokensStaysInside) {
  const PictureWords words = Words();
  for (const std::int64_t count : {1, 3, 6}) {
    at::Tensor tokens = at::full({2, 6}, 30, at::kLong);
    tokens[1].narrow(0, 0, count).fill_(words.token);
    const SplicedText spliced = Splice(tokens, words, 2);
    for (const at::Tensor& places : spliced.pictures) {
      EXPECT_GE(places.min().item<std::int64_t>(), 0);
      EXPECT_LT(places.max().item<std::int64_t>(), spliced.ids.numel());
    }
    EXPECT_LT(spliced.last.max().item<std::int64_t>(), spliced.length());
  }
}

TEST(TowerAgent, ARowIsTheSameAloneAndBesideOthersWithItsPicturesElsewhere) {
  for (const TowerKind kind : {TowerKind::kClip, TowerKind::kSiglip}) {
    const Agent agent = test::AgentOf(TowerAgentConfig(kind));
    const Example example = TowerExample(4, 2, 12, 5, {1, 3});
    const at::Tensor together = test::Logits(agent, example), picture = test::Picture(agent, example);
    EXPECT_EQ(picture.sizes(), (at::IntArrayRef{4, 3, 9, 9}));
    std::int64_t begin = 0;
    for (std::int64_t row = 0; row < 4; ++row) {
      const Example alone = example.Rows(row, 1);
      const at::Tensor logits = test::Logits(agent, alone);
      EXPECT_LE(test::LargestDifference(logits, together.narrow(0, begin, logits.size(0))), 1e-12);
      EXPECT_LE(test::LargestDifference(test::Picture(agent, alone), picture.narrow(0, row, 1)), 1e-12);
      begin += logits.size(0);
    }
  }
}

TEST(TowerAgent, WhereAPictureStandsMatters) {
  const Agent agent = test::AgentOf(TowerAgentConfig());
  Example example = TowerExample(1, 1, 12, 5, {});
  const at::Tensor in_front = test::Logits(agent, example);
  example.tokens[0][0] = kPictureToken;
  const at::Tensor first = test::Logits(agent, example);
  example.images[0] = 1 - example.images[0];
  EXPECT_GT(test::LargestDifference(in_front, first), 1e-6);
  EXPECT_GT(test::LargestDifference(test::Logits(agent, example), first), 1e-6);
}

TEST(TowerAgent, EveryParameterHasAGradientAndItIsHowTheLossChanges) {
  const AgentConfig config = TowerAgentConfig();
  const Agent agent = test::AgentOf(config);
  const Example example = TowerExample(3, 2, 12, 8, {0});
  test::Loss(agent, example).backward();
  at::Generator generator = at::detail::createCPUGenerator(1);
  double slope = 0;
  std::vector<at::Tensor> direction;
  for (const Parameter& parameter : agent.parameters()) {
    ASSERT_TRUE(parameter.tensor.grad().defined()) << parameter.name;
    direction.push_back(
        at::randn(parameter.tensor.sizes(), generator, parameter.tensor.options().requires_grad(false)));
    slope += (parameter.tensor.grad() * direction.back()).sum().item<double>();
  }
  const at::NoGradGuard no_grad;
  constexpr double kStep = 1e-6;
  const auto moved = [&](double by) {
    for (std::size_t i = 0; i < direction.size(); ++i) agent.parameters()[i].tensor.add_(direction[i], by);
    return test::Loss(agent, example).item<double>();
  };
  const double up = moved(kStep), down = moved(-2 * kStep);
  EXPECT_NEAR((up - down) / (2 * kStep), slope, 1e-5 * std::abs(slope));
}

TEST(TowerAgent, HasNoEncoderOfItsOwnAndTheNamesOfALlava) {
  const Agent agent = test::AgentOf(TowerAgentConfig());
  for (const Parameter& parameter : agent.parameters()) {
    EXPECT_FALSE(parameter.name.starts_with("img_enc.")) << parameter.name;
  }
  EXPECT_EQ(agent.parameters().front().name, "vision_tower.embeddings.class_embedding");
}

TEST(TowerAgent, RefusesARowWithOtherNumbersOfTokensAndPictures) {
  const Agent agent = test::AgentOf(TowerAgentConfig());
  Example example = TowerExample(2, 2, 12, 5, {});
  example.tokens[1][3] = kPictureToken;
  const std::string words = test::MessageOf<InputError>([&] { test::Logits(agent, example); });
  EXPECT_NE(
      words.find(
          "'tokens' has 1 tokens for pictures (tower.image_token, 134) in row 1, and pictures are shown: 2"),
      std::string::npos)
      << words;
  ModelInputs prompt = example.Inputs();
  std::erase_if(prompt, [](const ModelInput& input) { return input.name == "supervised"; });
  EXPECT_NE(test::MessageOf<InputError>([&] {
              ForwardContext context;
              agent.Generate(prompt, {}, context);
            }).find("has 1 tokens for pictures"),
            std::string::npos);
}

// From the kept keys and values and without, pictures among the words of one row and in front of another.
TEST(TowerAgent, RepliesAreTheSameWithAndWithoutWhatIsKept) {
  const Agent agent = test::AgentOf(TowerAgentConfig(TowerKind::kSiglip));
  const Example example = TowerExample(3, 2, 12, 6, {1});
  ModelInputs prompt;
  for (const at::Tensor& image : example.images) prompt.push_back({"images", image, ""});
  prompt.push_back({"tokens", example.tokens, ""});
  prompt.push_back({"lengths", example.lengths, ""});
  const auto replies = [&](bool cache) {
    ForwardContext context;
    GenerateOptions options{.max_new_tokens = 9, .decode_image = true};
    options.cache = cache;
    return agent.Generate(prompt, options, context);
  };
  const Generated kept = replies(true), again = replies(false);
  EXPECT_EQ(kept.tokens, again.tokens);
  EXPECT_LE(test::LargestDifference(kept.image, again.image), 1e-9);
  EXPECT_FALSE(kept.tokens[0].empty());
  for (std::int64_t row = 0; row < 3; ++row) {
    ModelInputs alone;
    for (const ModelInput& input : prompt) alone.push_back({input.name, input.tensor.narrow(0, row, 1), ""});
    ForwardContext context;
    GenerateOptions options{.max_new_tokens = 9};
    EXPECT_EQ(agent.Generate(alone, options, context).tokens[0], kept.tokens[static_cast<std::size_t>(row)]);
  }
}

}  // namespace
}  // namespace medley
