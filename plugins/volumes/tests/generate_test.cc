// What the model replies: each token by a forward of the whole text, whatever is kept and whoever stands
// beside.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/error.h>

#include "tests/models.h"

namespace medley_volumes {
namespace {

Conversation AskedRow(medley::Row& row) {
  Conversation conversation =
      row.number % 2 == 0 ? CompareExample(row, {8, 4, 4}, 3, false) : MultimodalExample(row, {8, 4, 4}, 0.5);
  conversation.turns.pop_back();
  return conversation;
}

// Larger weights: an untrained model would repeat one token.
Made LivelyModel(at::ScalarType dtype) {
  Made made;
  const at::NoGradGuard no_grad;
  for (const medley::Parameter& parameter : made->parameters()) {
    if (parameter.tensor.dim() > 1) parameter.tensor.mul_(3);
  }
  made->To(at::kCPU, dtype);
  return made;
}

medley::ModelInputs PromptsOf(const Made& made, const std::vector<Conversation>& conversations) {
  const Collator collator(kBytes, made.limits(), medley::FileTexts(kBytes, false));
  std::vector<Line> lines;
  std::int64_t width = 0;
  for (const Conversation& conversation : conversations) {
    lines.push_back(collator.PromptOf(conversation));
    width = std::max<std::int64_t>(width, std::ssize(lines.back().tokens));
  }
  medley::Batch batch({.seed = 1, .count = std::ssize(conversations)});
  AddLines(batch, lines, width, kBytes.pad(), made.geometry());
  return PromptInputs(batch);
}

medley::Generated Reply(const Made& made, const std::vector<Conversation>& rows,
                        std::vector<std::uint64_t> seeds, double temperature, bool cache = true) {
  medley::ForwardContext context;
  return made->Generate(PromptsOf(made, rows),
                        {.max_new_tokens = 12,
                         .temperature = temperature,
                         .top_p = temperature > 0 ? 0.9 : 1,
                         .seeds = std::move(seeds),
                         .log_probabilities = true,
                         .cache = cache},
                        context);
}

TEST(Replies, AreTheSameAloneInABatchAndWithoutWhatIsKept) {
  const std::vector<Conversation> rows = Rows(5, AskedRow);
  const std::vector<std::uint64_t> seeds{21, 22, 23, 24, 25};
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
    const Made made = LivelyModel(dtype);
    for (const double temperature : {0.0, 1.5}) {
      const medley::Generated all = Reply(made, rows, seeds, temperature);
      const medley::Generated without = Reply(made, rows, seeds, temperature, /*cache=*/false);
      EXPECT_EQ(all.tokens, without.tokens);
      EXPECT_EQ(all.ends, without.ends);
      for (std::size_t row = 0; row < rows.size(); ++row) {
        const medley::Generated alone = Reply(made, {rows[row]}, {seeds[row]}, temperature);
        EXPECT_EQ(alone.tokens[0], all.tokens[row]) << row;
        EXPECT_NEAR(alone.log_probabilities[0], all.log_probabilities[row], 1e-3);
      }
    }
  }
}

// By Forward, to which a conversation with that reply is a row.
TEST(Replies, AreAsLikelyAsForwardHasThem) {
  const Made made = LivelyModel(at::kDouble);
  const std::vector<Conversation> rows = Rows(3, AskedRow);
  const medley::Generated all = Reply(made, rows, {31, 32, 33}, 1.5);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    medley::ModelInputs inputs = PromptsOf(made, {rows[row]});
    std::vector<std::int64_t> reply = all.tokens[row];
    if (all.ends[row] >= 0) reply.push_back(all.ends[row]);
    std::vector<std::int64_t> places;
    for (medley::ModelInput& input : inputs) {
      if (input.name != "tokens") continue;
      for (std::size_t i = 0; i < reply.size(); ++i)
        places.push_back(input.tensor.size(1) + static_cast<std::int64_t>(i));
      input.tensor = at::cat({input.tensor, at::tensor(reply, at::kLong).unsqueeze(0)}, 1);
    }
    inputs.push_back({"supervised", at::tensor(places, at::kLong), ""});
    medley::ForwardContext context;
    const at::Tensor logits = made->Forward(inputs, {"logits"}, context).at("logits");
    const double sum = at::log_softmax(logits.narrow(1, 0, kBytes.size()), 1)
                           .gather(1, at::tensor(reply, at::kLong).unsqueeze(1))
                           .sum()
                           .item<double>();
    EXPECT_NEAR(all.log_probabilities[row], sum, 1e-9) << row;
  }
}

TEST(Replies, NeedPositionsAndAUserToAnswer) {
  const Made made;
  const std::vector<Conversation> rows = Rows(1, AskedRow);
  medley::ForwardContext context;
  EXPECT_THROW(made->Generate(PromptsOf(made, rows), {.max_new_tokens = 1 << 16}, context),
               medley::InputError);
  const Collator collator(kBytes, made.limits(), medley::FileTexts(kBytes, false));
  Conversation answered = rows[0];
  answered.turns.push_back({Role::kAssistant, {" a"}});
  EXPECT_THROW(collator.PromptOf(answered), medley::InputError);
  EXPECT_THROW(collator.PromptOf({}), medley::InputError);
}

// A prompt is the front of the row that is trained on, and what Forward learns there begins behind it.
TEST(Replies, PromptsAreTheFrontsOfRows) {
  const Made made;
  const Collator collator(kBytes, made.limits(), medley::FileTexts(kBytes, false));
  for (const Conversation& row : Rows(4, AskedRow)) {
    Conversation answered = row;
    answered.turns.push_back({Role::kAssistant, {" an answer"}});
    const Line whole = collator.LineOf(answered), prompt = collator.PromptOf(row);
    ASSERT_LT(prompt.tokens.size(), whole.tokens.size());
    EXPECT_TRUE(std::equal(prompt.tokens.begin(), prompt.tokens.end(), whole.tokens.begin()));
    EXPECT_EQ(std::ssize(prompt.tokens),
              whole.learned[whole.learned.size() - static_cast<std::size_t>(whole.answer)]);
    EXPECT_TRUE(prompt.learned.empty());
  }
}

}  // namespace
}  // namespace medley_volumes
