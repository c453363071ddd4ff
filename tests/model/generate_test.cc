#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <medley/base/error.h>

#include "tests/model/agent_fixture.h"

namespace medley {
namespace {

ModelInputs Prompt(const test::Example& example) {
  ModelInputs inputs = example.Inputs();
  std::erase_if(inputs, [](const ModelInput& input) { return input.name == "supervised"; });
  return inputs;
}

Generated Generate(const Agent& agent, const ModelInputs& prompt, const GenerateOptions& options) {
  ForwardContext plain;
  return agent.Generate(prompt, options, plain);
}

// Larger weights: an untrained agent would repeat one token.
Agent LivelyAgent() {
  Agent agent = test::SmallAgent();
  at::NoGradGuard no_grad;
  for (const Parameter& parameter : agent.parameters()) {
    if (parameter.tensor.dim() > 1) parameter.tensor.mul_(3);
  }
  return agent;
}

// The reply of one row without keys and values that are kept: the whole text again for each token.
std::vector<std::int64_t> SlowReply(const Agent& agent, test::Example row, std::int64_t most) {
  const std::int64_t eos = test::LetterTokenizer().eos();
  row.tokens = row.tokens.narrow(1, 0, row.lengths[0].item<std::int64_t>());
  std::vector<std::int64_t> reply;
  while (std::ssize(reply) < most) {
    const std::int64_t length = row.tokens.size(1);
    row.tokens =
        at::cat({row.tokens, at::zeros({1, 1}, at::kLong)}, 1);  // any token: it is what is asked for
    row.lengths.fill_(length + 1);
    row.supervised = {{length}};
    const std::int64_t next = test::Logits(agent, row).argmax(-1).item<std::int64_t>();
    if (next == eos) break;
    row.tokens[0][length] = next;
    reply.push_back(next);
  }
  return reply;
}

TEST(Generate, EachTokenIsTheBestOfTheFullForward) {
  const Agent agent = LivelyAgent();
  for (const std::int64_t images : {0, 1, 2}) {
    for (std::uint64_t seed = 21; seed < 24; ++seed) {
      const test::Example example = test::RandomExample(5, images, 9, seed);
      const Generated generated = Generate(agent, Prompt(example), {.max_new_tokens = 12});
      for (std::int64_t row = 0; row < 5; ++row) {
        EXPECT_EQ(generated.tokens[static_cast<std::size_t>(row)], SlowReply(agent, example.Rows(row, 1), 12))
            << images << " images, seed " << seed << ", row " << row;
      }
    }
  }
}

// A context that counts what is encoded, and keeps it.
class CountingContext : public ForwardContext {
 public:
  at::Tensor Shared(const std::string& key, const Fn& fn) override {
    at::Tensor& value = kept_[key];
    if (!value.defined()) ++made, value = fn();
    return value;
  }
  int made = 0;

 private:
  std::map<std::string, at::Tensor> kept_;
};

TEST(Generate, RepliesAndPicturesToOneImageShareItsEncoding) {
  const Agent agent = LivelyAgent();
  const ModelInputs prompt = Prompt(test::RandomExample(2, 2, 8, 27));
  CountingContext context;
  const auto first = agent.Generate(prompt, {.max_new_tokens = 5, .decode_image = true}, context);
  const auto second = agent.Generate(prompt, {.max_new_tokens = 5, .decode_image = true}, context);
  agent.Forward(prompt, {"image"}, context);
  EXPECT_EQ(context.made, 2);
  EXPECT_EQ(first.tokens, second.tokens);
  EXPECT_TRUE(first.image.equal(second.image));
}

TEST(Generate, ATextThatCouldNotGrowToItsEndIsRefused) {
  const Agent agent = test::SmallAgent();
  try {
    Generate(agent, Prompt(test::RandomExample(1, 0, 8, 28)), {.max_new_tokens = Agent::kLongestText});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("4096"), std::string::npos) << error.what();
  }
}

// The longer prompt and the longer reply together have none.
TEST(Generate, EachRowNeedsRoomForItsOwnReply) {
  const Agent agent = test::SmallAgent();
  test::Example example = test::RandomExample(2, 0, 20, 29);
  example.lengths = at::tensor(std::vector<std::int64_t>{20, 8}, at::kLong);
  const std::int64_t first = Agent::kLongestText - 20, second = Agent::kLongestText - 8;
  GenerateOptions options{.max_new_tokens = second,
                          .most = {first, second},
                          .on_token = [steps = 0](const Generated&) mutable { return ++steps < 7; }};
  const Generated both = Generate(agent, Prompt(example), options);
  test::Example alone = example.Rows(1, 1);
  alone.tokens = alone.tokens.narrow(1, 0, 8);
  EXPECT_EQ(Generate(agent, Prompt(alone), {.max_new_tokens = 7}).tokens[0], both.tokens[1]);
  options.most = {first + 1, 1};
  EXPECT_THROW(Generate(agent, Prompt(example), options), InputError);
}

TEST(Generate, MorePicturesThanItSeesAreRefused) {
  ModelInputs prompt = Prompt(test::RandomExample(1, 4, 8, 28));
  const ModelInputs before = prompt;
  prompt.insert(prompt.begin(), before.front());
  EXPECT_EQ(Generate(test::SmallAgent(), before, {.max_new_tokens = 1}).tokens.size(), 1U);
  EXPECT_THROW(Generate(test::SmallAgent(), prompt, {.max_new_tokens = 1}), InputError);
}

TEST(Generate, ARowStopsAtItsEndOfText) {
  Agent agent = test::SmallAgent();
  const test::LetterTokenizer tokenizer;
  {  // every hidden state leans to eos
    at::NoGradGuard no_grad;
    for (const Parameter& p : agent.parameters()) {
      if (p.name == "model.embed_tokens.weight") p.tensor.zero_();
    }
  }
  const Generated zero = Generate(agent, Prompt(test::RandomExample(2, 1, 8, 22)), {.max_new_tokens = 3});
  EXPECT_EQ(zero.tokens,
            (std::vector<std::vector<std::int64_t>>{{0, 0, 0}, {0, 0, 0}}));  // ties: the first id, pad

  const Agent lively = LivelyAgent();
  for (const double temperature : {0.0, 5.0}) {
    const Generated many = Generate(lively, Prompt(test::RandomExample(16, 1, 8, 23)),
                                    {.max_new_tokens = 40, .temperature = temperature, .seed = 3});
    for (const auto& reply : many.tokens) {
      EXPECT_LE(reply.size(), 40);
      EXPECT_EQ(std::count(reply.begin(), reply.end(), tokenizer.eos()), 0);
    }
  }
}

TEST(Generate, SamplingIsAFunctionOfTheSeed) {
  const Agent agent = test::SmallAgent();
  const ModelInputs prompt = Prompt(test::RandomExample(4, 1, 8, 24));
  const auto draw = [&](std::uint64_t seed) {
    return Generate(agent, prompt, {.max_new_tokens = 8, .temperature = 1, .seed = seed}).tokens;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

// Seeds and rows of an example in another order, and each alone.
GenerateOptions Drawn(std::vector<std::uint64_t> seeds, double temperature = 1.5, double top_p = 1) {
  return {.max_new_tokens = 14,
          .temperature = temperature,
          .top_p = top_p,
          .seeds = std::move(seeds),
          .log_probabilities = true};
}

// In a batch of rows of unlike lengths, in either order, alone, with and without what is kept: one reply.
void ExpectRepliesOfRowsAlone(const Agent& agent, std::int64_t images, double temperature, double top_p) {
  const std::vector<std::uint64_t> seeds{11, 12, 13, 14, 15};
  const test::Example example = test::RandomExample(5, images, 9, 61, FloatTypeOf(agent));
  const Generated all = Generate(agent, Prompt(example), Drawn(seeds, temperature, top_p));
  GenerateOptions again = Drawn(seeds, temperature, top_p);
  again.cache = false;
  const Generated without = Generate(agent, Prompt(example), again);
  EXPECT_EQ(all.tokens, without.tokens) << images << " images";
  EXPECT_EQ(all.ends, without.ends);
  for (std::size_t row = 0; row < seeds.size(); ++row) {
    test::Example alone = example.Rows(static_cast<std::int64_t>(row), 1);
    alone.tokens = alone.tokens.narrow(1, 0, alone.lengths[0].item<std::int64_t>());
    const Generated one = Generate(agent, Prompt(alone), Drawn({seeds[row]}, temperature, top_p));
    EXPECT_EQ(one.tokens[0], all.tokens[row]) << images << " images, row " << row;
    EXPECT_EQ(one.ends[0], all.ends[row]);
    EXPECT_NEAR(one.log_probabilities[0], all.log_probabilities[row], 1e-3);
    EXPECT_NEAR(without.log_probabilities[row], all.log_probabilities[row], 1e-3);
  }
}

TEST(Generate, ARowsReplyHangsOnNoRowBesideItAndOnNoCache) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
    Agent agent = LivelyAgent();
    agent.To(at::kCPU, dtype);
    for (const std::int64_t images : {0, 2}) {
      ExpectRepliesOfRowsAlone(agent, images, 0, 1);
      ExpectRepliesOfRowsAlone(agent, images, 1.5, 1);
      ExpectRepliesOfRowsAlone(agent, images, 1.5, 0.7);
    }
  }
}

// Not its place: today's seeds of places differ where a row moves.
TEST(Generate, SeedsBelongToRowsWhereverTheyStand) {
  const Agent agent = LivelyAgent();
  const test::Example example = test::RandomExample(4, 0, 8, 62);
  const Generated all = Generate(agent, Prompt(example), Drawn({1, 2, 3, 4}));
  const Generated rest = Generate(agent, Prompt(example.Rows(1, 3)), Drawn({2, 3, 4}));
  for (std::size_t row = 0; row < 3; ++row) EXPECT_EQ(rest.tokens[row], all.tokens[row + 1]) << row;
  EXPECT_NE(Generate(agent, Prompt(example), Drawn({4, 3, 2, 1})).tokens, all.tokens);
  EXPECT_THROW(Generate(agent, Prompt(example), Drawn({1, 2})), Error);
}

// The likeliest alone where little of the probability is let through; and never one outside of it.
TEST(Generate, TopPKeepsTheLikeliestTokens) {
  const Agent agent = LivelyAgent();
  const test::Example example = test::RandomExample(3, 0, 8, 63);
  GenerateOptions greedy = Drawn({1, 2, 3});
  greedy.temperature = 0;
  EXPECT_EQ(Generate(agent, Prompt(example), Drawn({1, 2, 3}, 3, 1e-9)).tokens,
            Generate(agent, Prompt(example), greedy).tokens);
  test::Example one = example.Rows(0, 1);
  one.tokens = one.tokens.narrow(1, 0, one.lengths[0].item<std::int64_t>());
  test::Example asked = one;
  asked.tokens = at::cat({one.tokens, at::zeros({1, 1}, at::kLong)}, 1);
  asked.supervised = {{one.tokens.size(1)}};
  asked.lengths = one.lengths + 1;
  const at::Tensor sorted =
      std::get<0>(at::softmax(test::Logits(agent, asked)[0].narrow(0, 0, test::LetterTokenizer().size()), 0)
                      .sort(0, true));
  const double top_p = 0.5;
  const std::int64_t kept = sorted.cumsum(0).lt(top_p).sum().item<std::int64_t>() + 1;
  std::set<std::int64_t> first;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    GenerateOptions options = Drawn({seed}, 1, top_p);
    options.max_new_tokens = 1;
    const Generated drawn = Generate(agent, Prompt(one), options);
    first.insert(drawn.ends[0] >= 0 ? drawn.ends[0] : drawn.tokens[0][0]);
  }
  EXPECT_LE(std::ssize(first), kept);
  EXPECT_GE(std::ssize(first), std::min<std::int64_t>(kept, 2));
}

TEST(Generate, TheLogProbabilityIsThatOfTheFullForwardAndTheEndIsSaid) {
  const Agent agent = LivelyAgent();
  const test::Example example = test::RandomExample(6, 1, 8, 64);
  GenerateOptions options = Drawn({1, 2, 3, 4, 5, 6}, 3);
  options.max_new_tokens = 60;
  const Generated all = Generate(agent, Prompt(example), options);
  const std::int64_t eos = test::LetterTokenizer().eos();
  for (std::int64_t row = 0; row < 6; ++row) {
    const auto place = static_cast<std::size_t>(row);
    std::vector<std::int64_t> reply = all.tokens[place];
    if (all.ends[place] >= 0) reply.push_back(all.ends[place]);
    EXPECT_EQ(all.ends[place], std::ssize(all.tokens[place]) == 60 ? -1 : eos);
    test::Example whole = example.Rows(row, 1);
    const std::int64_t length = whole.lengths[0].item<std::int64_t>(), count = std::ssize(reply);
    whole.tokens = at::cat({whole.tokens.narrow(1, 0, length), at::tensor(reply, at::kLong).unsqueeze(0)}, 1);
    whole.lengths.fill_(length + count);
    whole.supervised = {{}};
    for (std::int64_t i = 0; i < count; ++i) whole.supervised[0].push_back(length + i);
    const at::Tensor logs =
        at::log_softmax(test::Logits(agent, whole).narrow(1, 0, test::LetterTokenizer().size()), 1);
    const double sum = logs.gather(1, at::tensor(reply, at::kLong).unsqueeze(1)).sum().item<double>();
    EXPECT_NEAR(all.log_probabilities[place], sum, 1e-9) << row;
  }
}

TEST(Generate, FurtherEndsAndMostOfARowEndIt) {
  const Agent agent = LivelyAgent();
  const test::Example example = test::RandomExample(3, 0, 8, 65);
  const Generated plain = Generate(agent, Prompt(example), {.max_new_tokens = 10});
  const std::int64_t third = plain.tokens[0][2];
  const Generated ended = Generate(agent, Prompt(example), {.max_new_tokens = 10, .ends = {third}});
  const auto end = std::ranges::find(plain.tokens[0], third);
  EXPECT_EQ(ended.tokens[0], std::vector<std::int64_t>(plain.tokens[0].begin(), end));
  EXPECT_EQ(ended.ends[0], third);
  const Generated cut = Generate(agent, Prompt(example), {.max_new_tokens = 10, .most = {2, 10, 5}});
  for (std::size_t row = 0; row < 3; ++row) {
    std::vector<std::int64_t> front = plain.tokens[row];
    front.resize(std::min<std::size_t>(front.size(), std::array{2, 10, 5}[row]));
    EXPECT_EQ(cut.tokens[row], front) << row;
  }
  EXPECT_EQ(cut.ends[0], -1);
}

TEST(Generate, WhoIsToldOfTokensMayEndIt) {
  const Agent agent = LivelyAgent();
  const test::Example example = test::RandomExample(2, 0, 8, 66);
  std::vector<std::size_t> seen;
  const Generated stopped =
      Generate(agent, Prompt(example), {.max_new_tokens = 10, .on_token = [&](const Generated& so_far) {
                                          seen.push_back(so_far.tokens[0].size());
                                          return seen.size() < 3;
                                        }});
  EXPECT_EQ(seen, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.tokens[0].size(), 3);
  EXPECT_EQ(stopped.ends[0], -1);
}

TEST(Generate, ThePictureSeesPromptAndReply) {
  const Agent agent = LivelyAgent();
  test::Example example = test::RandomExample(1, 2, 8, 25);
  const Generated generated = Generate(agent, Prompt(example), {.max_new_tokens = 4, .decode_image = true});
  ASSERT_EQ(generated.tokens[0].size(), 4) << "choose another seed: this reply ended";
  const std::int64_t length = example.lengths[0].item<std::int64_t>();
  example.tokens = at::cat(
      {example.tokens.narrow(1, 0, length), at::tensor(generated.tokens[0], at::kLong).unsqueeze(0)}, 1);
  example.lengths.fill_(length + 4);
  example.supervised = {{1}};
  EXPECT_LT(test::LargestDifference(generated.image, test::Picture(agent, example)), 1e-12);
  EXPECT_FALSE(generated.image.requires_grad());
}

TEST(Generate, WithoutAnImageThereIsNoPicture) {
  const Agent agent = test::SmallAgent();
  EXPECT_THROW(Generate(agent, Prompt(test::RandomExample(1, 0, 8, 26)), {.decode_image = true}), Error);
}

}  // namespace
}  // namespace medley
