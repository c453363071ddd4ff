#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>

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
