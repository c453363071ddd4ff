// From a conversation to what the model reads and what it learns.
#include "data/collate.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include <medley/base/error.h>

#include "tests/bytes.h"

namespace medley_volumes {
namespace {

const Limits kLimits{.geometry = {2, 1, 2},
                     .volume_tokens = 3,
                     .series_tokens = 2,
                     .positions = 200,
                     .text = 120,
                     .learned = 40};

Scan VolumeScan(double value = 0.5) {
  return {Modality::kVolume, [value] { return at::full({2, 2, 2}, value); }};
}
Scan SeriesScan() {
  return {Modality::kSeries, [] { return at::ones({2, 1, 1, 1}); }};
}

Conversation TwoTurns() {
  Conversation conversation;
  conversation.turns = {{Role::kUser, {VolumeScan(1), " a"}},
                        {Role::kAssistant, {" ok"}},
                        {Role::kUser, {SeriesScan(), VolumeScan(2), " b?"}},
                        {Role::kAssistant, {" yes"}}};
  return conversation;
}

Line LineOf(const Conversation& conversation, bool longest = false) {
  const ByteTokenizer tokenizer;
  return Collator(tokenizer, kLimits, medley::FileTexts(tokenizer, false)).LineOf(conversation, longest);
}

TEST(Collator, ATwoTurnConversationHasTheseLabels) {
  const Line line = LineOf(TwoTurns());
  const ByteTokenizer tokenizer;
  const std::string text =
      "user:<image><image><image></image> a<eos>"
      "assistant: ok<eos>"
      "user:<image><image></image><image><image><image></image> b?<eos>"
      "assistant: yes<eos>";
  EXPECT_EQ(tokenizer.Decode(line.tokens), text);
  // -100 where nothing is learned, else the token.
  std::vector<std::int64_t> labels(line.tokens.size(), -100);
  for (const std::int64_t at : line.learned)
    labels[static_cast<std::size_t>(at)] = line.tokens[static_cast<std::size_t>(at)];
  std::vector<std::int64_t> expected;
  const auto hidden = [&](const std::string& part) {
    expected.insert(expected.end(), tokenizer.Encode(part).size(), -100);
  };
  const auto learned = [&](const std::string& part) {
    for (const std::int64_t id : tokenizer.Encode(part)) expected.push_back(id);
  };
  hidden("user:<image><image><image></image> a<eos>assistant:");
  learned(" ok<eos>");
  hidden("user:<image><image></image><image><image><image></image> b?<eos>assistant:");
  learned(" yes<eos>");
  EXPECT_EQ(labels, expected);
  EXPECT_EQ(line.answer, 5);
  EXPECT_EQ(line.volume_at, (std::vector<std::int64_t>{5, 34}));
  EXPECT_EQ(line.series_at, (std::vector<std::int64_t>{31}));
  EXPECT_EQ(tokenizer.Decode({line.tokens.begin() + line.question, line.tokens.begin() + line.question_end}),
            " b?");
}

// One of UMBRELLA's two orders.
TEST(Collator, AQuestionMayStandBeforeItsScan) {
  Conversation conversation = TwoTurns();
  std::ranges::reverse(conversation.turns[2].items);
  const Line line = LineOf(conversation);
  EXPECT_EQ(kBytes.Decode({line.tokens.begin() + line.question, line.tokens.begin() + line.question_end}),
            " b?");
}

TEST(Collator, ARowAsLongAsCanBeHasTheLimits) {
  const Line line = LineOf(TwoTurns(), true);
  EXPECT_EQ(std::ssize(line.tokens), kLimits.text + kLimits.Tokens({2, 1}));
  EXPECT_EQ(std::ssize(line.learned), kLimits.learned);
  EXPECT_EQ(line.learned.back(), std::ssize(line.tokens) - 1);
  EXPECT_EQ(line.volume_at, LineOf(TwoTurns()).volume_at);
}

void ExpectRefused(const Conversation& conversation, const std::string& what,
                   const Limits& limits = kLimits) {
  const ByteTokenizer tokenizer;
  try {
    Collator(tokenizer, limits, medley::FileTexts(tokenizer, false)).LineOf(conversation);
    ADD_FAILURE() << "it was taken; expected: " << what;
  } catch (const medley::InputError& error) {
    EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
  }
}

TEST(Collator, RefusesWhatCannotBeLearned) {
  Conversation conversation = TwoTurns();
  conversation.turns.pop_back();
  ExpectRefused(conversation, "ends without an assistant's turn");
  ExpectRefused({}, "ends without an assistant's turn");
  conversation = TwoTurns();
  conversation.turns.back().items = {""};
  ExpectRefused(conversation, "an assistant's turn says nothing");
  conversation.turns.back().items = {VolumeScan()};
  ExpectRefused(conversation, "only users show scans");
}

TEST(Collator, RefusesATokenWithoutAScan) {
  Conversation conversation = TwoTurns();
  conversation.turns[0].items.emplace_back(" <image>");
  ExpectRefused(conversation, "a text holds <image>, which no scan belongs to");
  conversation.turns[0].items.back() = " x<eos>";
  ExpectRefused(conversation, "a text holds <eos>");
  // As text they are what anybody may say.
  const medley::FileTexts texts(kBytes, true);
  const Line said = Collator(kBytes, kLimits, texts).LineOf(conversation);
  EXPECT_NE(kBytes.Decode(said.tokens).find(" x<eos>"), std::string::npos);
  EXPECT_EQ(std::count(said.tokens.begin(), said.tokens.end(), kBytes.eos()), 4) << "a turn has one";
}

TEST(Collator, RefusesScansOfAnotherShapeOrWithoutValues) {
  Conversation conversation = TwoTurns();
  conversation.turns[0].items[0] = Scan{Modality::kVolume, [] { return at::zeros({2, 2, 3}); }};
  ExpectRefused(conversation, "a volume is [2, 2, 3], the model wants [2, 2, 2]");
  conversation.turns[0].items[0] = Scan{Modality::kVolume, [] {
                                          at::Tensor scan = at::zeros({2, 2, 2});
                                          scan[1][0][1] = std::numeric_limits<float>::quiet_NaN();
                                          return scan;
                                        }};
  ExpectRefused(conversation, "not finite (voxel 5 of 8");
}

TEST(Collator, RefusesMoreThanTheModelHasRoomFor) {
  Limits limits = kLimits;
  limits.positions = 50;
  ExpectRefused(TwoTurns(), "2 volume(s) and 1 series and ", limits);
  ExpectRefused(TwoTurns(),
                "positions, the model has 50; show fewer scans, or raise the model's language.positions",
                limits);
  limits = kLimits;
  limits.text = 20;
  ExpectRefused(TwoTurns(), "the option text has 20", limits);
  limits = kLimits;
  limits.learned = 8;
  ExpectRefused(TwoTurns(), "9 tokens of the assistant's, the option learned has 8", limits);
  Conversation many = TwoTurns();
  for (int i = 0; i < 2; ++i) many.turns[0].items.insert(many.turns[0].items.begin(), VolumeScan());
  ExpectRefused(many, "a conversation has at most 4 scans");
}

// Each scan with its place in its row; rows with 1 and 3 scans, and one without any.
TEST(AddLines, ScansOfAllRowsStandBehindOneAnother) {
  Conversation one, three, none;
  one.turns = {{Role::kUser, {VolumeScan(1), "q"}}, {Role::kAssistant, {"a"}}};
  three.turns = {{Role::kUser, {VolumeScan(2), VolumeScan(3), "q", VolumeScan(4)}},
                 {Role::kAssistant, {"bc"}}};
  none.turns = {{Role::kUser, {"q"}}, {Role::kAssistant, {"d"}}};
  const ByteTokenizer tokenizer;
  medley::Batch batch({.seed = 1, .begin = 0, .count = 3});
  AddLines(batch, {LineOf(one), LineOf(three), LineOf(none)}, 64, tokenizer.pad(), kLimits.geometry);
  const medley::RaggedColumn& volumes = batch.Ragged("volumes");
  EXPECT_EQ(volumes.offsets, (std::vector<std::int64_t>{0, 1, 4, 4}));
  EXPECT_TRUE(volumes.values.flatten(1).mean(1).equal(at::tensor({1.0F, 2.0F, 3.0F, 4.0F})));
  EXPECT_EQ(batch.Ragged("series").values.sizes(), (at::IntArrayRef{0, 2, 1, 1, 1}));
  const medley::ModelInputs inputs = InputsOf(batch, "learned");
  EXPECT_TRUE(
      medley::InputNamed(inputs, "volume_at").equal(at::tensor({5, 64 + 5, 64 + 9, 64 + 14}, at::kLong)));
  // A part of the rows: the same scans, places counted from its own first row.
  const medley::ModelInputs part = InputsOf(batch.Slice(1, 2), "learned");
  EXPECT_TRUE(medley::InputNamed(part, "volume_at").equal(at::tensor({5, 9, 14}, at::kLong)));
  EXPECT_EQ(medley::InputNamed(part, "volumes")[0].mean().item<double>(), 2);
  EXPECT_EQ(batch.ItemCount("reply"), 2 + 3 + 2);
}

}  // namespace
}  // namespace medley_volumes
