#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>

#include "tests/model/agent_fixture.h"

namespace medley {
namespace {

// The message of the error, "" where there is none.
std::string Failure(const ModelInputs& inputs, const WantedOutputs& wanted = {"logits"}) {
  static const Agent agent = test::SmallAgent();
  ForwardContext context;
  try {
    agent.Forward(inputs, wanted, context);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

ModelInputs With(const std::string& name, const at::Tensor& tensor) {
  ModelInputs inputs = test::RandomExample(3, 1, 8, 1).Inputs();
  for (ModelInput& input : inputs) {
    if (input.name == name) input.tensor = tensor;
  }
  return inputs;
}

ModelInputs Without(const std::string& name) {
  ModelInputs inputs = test::RandomExample(3, 1, 8, 1).Inputs();
  std::erase_if(inputs, [&](const ModelInput& input) { return input.name == name; });
  return inputs;
}

TEST(AgentInputs, BadInputsAreErrorsThatNameThem) {
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << message << "' lacks '" << part << "'";
  };
  EXPECT_EQ(Failure(With("none", {})), "");

  ModelInputs unknown = With("none", {});
  unknown.push_back({"frames", at::rand({3}), ""});
  has(Failure(unknown), "'frames' is unknown");
  ModelInputs twice = With("none", {});
  twice.push_back({"tokens", at::zeros({3, 8}, at::kLong), ""});
  has(Failure(twice), "'tokens' is given twice");

  has(Failure(Without("tokens")), "'tokens' is missing");
  has(Failure(Without("lengths")), "'lengths' is missing");
  has(Failure(Without("supervised")), "'supervised' is missing");
  has(Failure(With("tokens", at::zeros({8}, at::kLong))), "'tokens' is [8] Long, expected int64 with 2");
  has(Failure(With("tokens", at::zeros({3, 8}))), "expected int64");
  has(Failure(With("tokens", at::full({3, 8}, 100000, at::kLong))), "'tokens' has values");
  has(Failure(With("lengths", at::ones({2}, at::kLong))), "'lengths' has 2 rows, 'tokens' has 3");
  has(Failure(With("lengths", at::zeros({3}, at::kLong))),
      "'lengths' has values from 0 to 0, expected 1 to 8");
  has(Failure(With("images", at::rand({2, 3, 8, 8}))), "'images' has 2 rows");
  has(Failure(With("images", at::rand({3, 3, 12, 12}))), "expected floats [rows, 3, 8, 8]");
  has(Failure(With("images", at::zeros({3, 3, 8, 8}, at::kByte))), "expected floats");
  has(Failure(With("supervised", at::tensor({8, 9}, at::kLong))), "'supervised (position in the row)'");
  has(Failure(With("supervised", at::tensor({24}, at::kLong))), "'supervised' has values from 24");

  const auto alone = [](const at::Tensor& rows) {
    ModelInputs inputs = With("none", {});
    inputs.push_back({"drawn_alone", rows, ""});
    return Failure(inputs);
  };
  has(alone(at::zeros({3}, at::kLong)), "'drawn_alone' is [3] Long, expected bool [rows]");
  has(alone(at::zeros({2}, at::kBool)), "'drawn_alone' has 2 rows");

  has(Failure(With("none", {}), {"boxes"}), "no output 'boxes'");
  has(Failure(Without("images"), {"image"}), "without an image");
  ModelInputs many = With("none", {});
  for (int i = 0; i < 4; ++i) many.push_back({"images", at::rand({3, 3, 8, 8}), ""});
  has(Failure(many), "is given 5 times, the most is 4");
}

TEST(AgentInputs, AContextThatEndsBehindItsTextNamesBoth) {
  test::Example example = test::RandomExample(3, 1, 8, 1);
  example.context_lengths = example.lengths.clone();
  EXPECT_EQ(Failure(example.Inputs(), {"image"}), "");
  example.lengths[1] = 5;
  example.context_lengths[1] = 6;
  const std::string message = Failure(example.Inputs(), {"image"});
  EXPECT_NE(message.find("'context_lengths' is 6 in row 1, where 'lengths' is 5"), std::string::npos)
      << message;
  const Agent agent = test::SmallAgent();
  ForwardContext context;
  EXPECT_THROW(agent.Forward(example.Inputs(), {"image"}, context), InputError);
}

TEST(AgentInputs, TextWithoutImagesIsALanguageModel) { EXPECT_EQ(Failure(Without("images")), ""); }

TEST(AgentInputs, NoSupervisedTokenGivesNoLogits) {
  test::Example example = test::RandomExample(3, 1, 8, 1);
  example.supervised = {{}, {}, {}};
  const Agent agent = test::SmallAgent();
  EXPECT_EQ(test::Logits(agent, example).sizes(), (at::IntArrayRef{0, 135}));
}

TEST(AgentInputs, SizesThatDoNotFitAreInputErrors) {
  const auto build = [](const std::function<void(AgentConfig&)>& change) {
    AgentConfig config = test::SmallConfig();
    change(config);
    Agent(config, test::LetterTokenizer(), 1);
  };
  EXPECT_THROW(build([](AgentConfig& c) { c.image.size = 10; }), InputError);
  EXPECT_THROW(build([](AgentConfig& c) { c.language.kv_heads = 3; }), InputError);
  EXPECT_THROW(build([](AgentConfig& c) { c.language.vocabulary = 20; }), InputError);
  EXPECT_THROW(build([](AgentConfig& c) { c.encoder.heads = 5; }), InputError);
  EXPECT_THROW(build([](AgentConfig& c) { c.decoder.dropout = 1; }), InputError);
  EXPECT_NO_THROW(build([](AgentConfig& c) { c.decoder.dropout = 0.1; }));
  EXPECT_NO_THROW(build([](AgentConfig& c) { c.language.vocabulary = 200; }));
}

}  // namespace
}  // namespace medley
