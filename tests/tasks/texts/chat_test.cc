// The driver of conversations, with rows of its own.
#include <medley/task/drivers/chat_task.h>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/data/resize_picture.h>
#include <medley/eval/asker.h>
#include <medley/eval/pictures.h>
#include <medley/report/picture.h>
#include <medley/task/text_rows.h>

#include "tests/plugin/test_files.h"
#include "tests/tasks/texts/talk_testing.h"

namespace medley::tasks {
namespace {

class Told final : public ChatTask {
 public:
  static constexpr TaskSpec kSpec = ChatSpec("told", "", {.text_width = 64});
  Told(const TaskContext& context, std::vector<Conversation> rows)
      : ChatTask(context), told_(std::move(rows)) {}

 private:
  Conversation Draw(Row& row) const override {
    return told_[static_cast<std::size_t>(row.number) % told_.size()];
  }
  std::vector<Conversation> told_;
};

const std::vector<Conversation> kRows = {
    {{"user", "a"}, {"assistant", "bcd", true}},
    {{"user", "a longer question"}, {"assistant", "x", true}},
    {{"user", "p"}, {"assistant", "not this"}, {"user", "q"}, {"assistant", "but this <eos>", true}},
    {{"system", "s"},
     {"user", "u"},
     {"assistant", "first", true},
     {"user", "v"},
     {"assistant", "second", true}},
    {{"user", ""}, {"assistant", "  ", true}}};

Told MakeTold(const OptionValues& changed = {}, std::vector<Conversation> rows = kRows) {
  return {TalkContext(TalkOptions(Told::kSpec, changed)), std::move(rows)};
}

// What is learned of each row, written out; the end of a turn is [E].
std::string LearnedText(const Batch& on_host, std::int64_t row) {
  const Batch one = on_host.Slice(row, 1);
  const at::Tensor& ids = one.Ragged("tokens").values;
  std::string text;
  const at::Tensor& places = one.Ragged("learned").values;
  for (std::int64_t i = 0; i < places.numel(); ++i) {
    const auto id = ids[places[i].item<std::int64_t>()].item<std::int64_t>();
    text += id == TalkBytes().eos() ? "[E]" : TalkBytes().Piece(id);
  }
  return text;
}

TEST(ChatTask, LearnsAnswersWithTheirEndsAndNothingElse) {
  const Batch batch = MakeTold().Sample({1, 0, 5});
  const std::vector<std::string> learned{"bcd[E]", "x[E]", "but this <eos>[E]", "first[E]second[E]", "  [E]"};
  for (std::int64_t row = 0; row < 5; ++row) {
    EXPECT_EQ(LearnedText(batch, row), learned[static_cast<std::size_t>(row)]);
    EXPECT_EQ(batch.items().at("reply")[row].item<std::int64_t>(),
              batch.Slice(row, 1).Ragged("learned").values.numel());
  }
}

TEST(ChatTask, ItsLossIsThatOfItsLearnedTokensByHand) {
  const Batch batch = MakeTold().Sample({1, 0, 5});
  double by_hand = 0;
  const std::vector<std::string> asked{"user:a<eos>assistant:", "user:a longer question<eos>assistant:"},
      replies{"bcd", "x"};
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<std::int64_t> ids = TalkBytes().Encode(asked[i]);
    const std::size_t begin = ids.size();
    for (const std::int64_t id : TalkBytes().EncodeText(replies[i])) ids.push_back(id);
    ids.push_back(TalkBytes().eos());
    for (std::size_t place = begin; place < ids.size(); ++place)
      by_hand += TalkLoss(ids[place - 1], ids[place], 0.5);
  }
  Carries carries;
  TalkPass pass(batch.Slice(0, 2), 0.5, 0, carries);
  const double sum = MakeTold().Run("reply", pass).at("reply").item<double>();
  EXPECT_NEAR(sum, by_hand, 1e-12 * by_hand);
}

// Of a row what it is beside any other, and alone.
TEST(ChatTask, SumsOfARowAreThoseBesideAnyOther) {
  const Told task = MakeTold();
  const Batch batch = task.Sample({1, 0, 5});
  const auto sum_of = [&](const Batch& rows) {
    Carries carries;
    TalkPass pass(rows, 0.5, 0, carries);
    return task.Run("reply", pass).at("reply").item<double>();
  };
  for (std::int64_t row = 0; row < 5; ++row) {
    const double alone = sum_of(batch.Slice(row, 1));
    for (std::int64_t other = 0; other < 5; ++other) {
      const double together = sum_of(batch.Take({row, other})), apart = sum_of(batch.Slice(other, 1));
      EXPECT_NEAR(together, alone + apart, 1e-12 * together) << row << ' ' << other;
    }
  }
}

TEST(ChatTask, RowsAreAsLongAsTheOptionSaysWhereThatIsAsked) {
  const Told task = MakeTold({{"text_width", 60.0}});
  const Batch batch = task.Sample({.seed = 1, .begin = 0, .count = 3, .longest = true});
  EXPECT_EQ(batch.To(at::kCPU).Column("tokens").sizes(), (at::IntArrayRef{3, 60}));
  EXPECT_TRUE(batch.Column("lengths").eq(60).all().item<bool>());
  EXPECT_EQ(batch.ItemCount("reply"), 3 * 59);
}

std::string MistakeOf(Conversation conversation, const OptionValues& changed = {}) {
  try {
    MakeTold(changed, {std::move(conversation)}).Sample({1, 20, 1});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ChatTask, RowsThatCannotBeTakenAreNamed) {
  EXPECT_EQ(MistakeOf({{"user", "a"}, {"assistant", "b"}}),
            "row 20: nothing of it is learned; expected an assistant's turn that is");
  EXPECT_EQ(MistakeOf({{"assistant", "b", true}}),
            "row 20: turn 1: expected user, whom an assistant answers, found 'assistant'");
  EXPECT_EQ(MistakeOf({{"user", std::string(60, 'a')}, {"assistant", "b", true}})
                .rfind("row 20: 78 tokens, text_width is 64. Shorten it", 0),
            0U)
      << MistakeOf({{"user", std::string(60, 'a')}, {"assistant", "b", true}});
}

TEST(ChatTask, WholeOldestTurnsGoWhereThatIsAsked) {
  const std::string long_words(30, 'a');
  const Conversation row{{"system", "s"},
                         {"user", long_words},
                         {"assistant", "first", true},
                         {"user", "second one"},
                         {"assistant", "yes", true}};
  const OptionValues cuts{{"too_long", std::string("cut")}};
  const Told task = MakeTold(cuts, {row});
  const Batch batch = task.Sample({1, 0, 1});
  EXPECT_EQ(LearnedText(batch, 0), "yes[E]");
  std::vector<std::int64_t> ids(
      batch.Ragged("tokens").values.const_data_ptr<std::int64_t>(),
      batch.Ragged("tokens").values.const_data_ptr<std::int64_t>() + batch.Ragged("tokens").values.numel());
  EXPECT_EQ(TalkBytes().Decode(ids), "system:s<eos>user:second one<eos>assistant:yes<eos>");
  // A short one is as it was.
  EXPECT_EQ(MakeTold(cuts).Sample({1, 0, 5}).Ragged("tokens").values.numel(),
            MakeTold().Sample({1, 0, 5}).Ragged("tokens").values.numel());
  EXPECT_NE(
      MistakeOf(
          {{"user", "q"}, {"assistant", "b", true}, {"user", std::string(70, 'a')}, {"assistant", "b", true}},
          cuts)
          .find("its last turns alone have 88"),
      std::string::npos);
  EXPECT_NE(MistakeOf({{"user", std::string(70, 'a')}, {"assistant", "b", true}}, cuts)
                .find("there is no turn to leave out"),
            std::string::npos);
}

TEST(ChatTask, TheOptionsFormatGoesBeforeTheRunsWhichGoesBeforePlain) {
  const auto first_of = [](const std::string& option, const std::string& run) {
    const Told task(TalkContext(TalkOptions(Told::kSpec, {{"chat", option}}), "default", run), kRows);
    return TalkBytes().Piece(task.Sample({1, 0, 1}).Ragged("tokens").values[0].item<std::int64_t>());
  };
  EXPECT_EQ(first_of("", ""), "u");
  EXPECT_EQ(first_of("", "chatml"), "<|im_start|>");
  EXPECT_EQ(first_of("gemma", "chatml"), "<bos>");
  EXPECT_THROW(first_of("llama3", ""), InputError) << "the vocabulary lacks its headers";
  EXPECT_THROW(first_of("lama3", ""), InputError);
}

TEST(ChatTask, ScoresTokensAndShowsWhatIsReplied) {
  const Told task = MakeTold();
  TalkEval context(task, 0.5, 0);
  context.reply = TalkBytes().EncodeText("bcd");
  const Outcomes outcomes = task.Evaluate(context, {1, 0, 5});
  ASSERT_EQ(outcomes.score.size(), 5U);
  // By hand: is the likeliest token behind the one before it the right one?
  for (const std::size_t row : {std::size_t{0}, std::size_t{1}}) {
    const Batch batch = task.Sample({1, static_cast<std::int64_t>(row), 1});
    const at::Tensor &ids = batch.Ragged("tokens").values, &places = batch.Ragged("learned").values;
    double right = 0;
    for (std::int64_t i = 0; i < places.numel(); ++i) {
      const std::int64_t place = places[i].item<std::int64_t>();
      const at::Tensor said = TalkLogits(ids.narrow(0, place - 1, 1), 0.5).argmax(1);
      right += said.item<std::int64_t>() == ids[place].item<std::int64_t>() ? 1 : 0;
    }
    EXPECT_DOUBLE_EQ(outcomes.score[row], right / static_cast<double>(places.numel()));
  }
  ASSERT_EQ(outcomes.answers.size(), 5U);
  EXPECT_EQ(outcomes.answers[0][0].question, "user:a<eos>assistant:");
  EXPECT_EQ(outcomes.answers[0][0].right, "bcd");
  EXPECT_TRUE(outcomes.answers[0][0].is_right);
  EXPECT_FALSE(outcomes.answers[1][0].is_right);
  EXPECT_EQ(outcomes.answers[3][0].question,
            "system:s<eos>user:u<eos>assistant:first<eos>user:v<eos>assistant:");
}

JsonItem AskedLine(const nlohmann::json& messages, const std::string& place = "f.jsonl:3") {
  return {nlohmann::json{{"messages", messages}}, place};
}

TEST(ChatTask, IsAskedAsItsPromptsAre) {
  const Told told = MakeTold();
  EXPECT_EQ(told.Asks().kind, AnswerKind::kWords);
  EXPECT_TRUE(told.Asks().talks);
  const ChatFormat format(BuiltInChatFormat("plain"), TalkBytes());
  const Conversation first{{"system", "s"}, {"user", "u <eos>"}, {"assistant", "a"}, {"user", "v"}},
      second{{"user", "w"}};
  const Asked asked = told.Ask({.lines = {AskedLine({{{"role", "system"}, {"content", "s"}},
                                                     {{"role", "user"}, {"content", "u <eos>"}},
                                                     {{"role", "assistant"}, {"content", "a"}},
                                                     {{"role", "user"}, {"content", "v"}}}),
                                          AskedLine({{{"role", "user"}, {"content", "w"}},
                                                     {{"role", "assistant"}, {"content", "x"}}})}});
  EXPECT_EQ(asked.ends, std::vector<std::int64_t>{format.end()});
  const at::Tensor& tokens = InputNamed(asked.inputs, "tokens");
  for (std::int64_t row = 0; row < 2; ++row) {
    const std::vector<std::int64_t> prompt = format.Prompt(row == 0 ? first : second);
    const std::int64_t length = InputNamed(asked.inputs, "lengths")[row].item<std::int64_t>();
    EXPECT_EQ(HostValues(tokens[row].narrow(0, 0, length)), prompt);
    EXPECT_EQ(asked.room[static_cast<std::size_t>(row)], 64 - length);
  }
}

TEST(ChatTask, AQuestionThatIsTooLongIsCutOrRefusedByItsPlace) {
  const nlohmann::json long_talk = {{{"role", "system"}, {"content", "s"}},
                                    {{"role", "user"}, {"content", std::string(40, 'x')}},
                                    {{"role", "assistant"}, {"content", "a"}},
                                    {{"role", "user"}, {"content", "v"}}};
  const auto words_of = [](const Told& told, const nlohmann::json& messages) -> std::string {
    try {
      told.Ask({.lines = {AskedLine(messages)}});
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_TRUE(words_of(MakeTold(), long_talk).starts_with("f.jsonl:3: a prompt of "))
      << words_of(MakeTold(), long_talk);
  const Told cuts = MakeTold({{"too_long", std::string("cut")}});
  const Asked cut = cuts.Ask({.lines = {AskedLine(long_talk)}});
  const ChatFormat format(BuiltInChatFormat("plain"), TalkBytes());
  EXPECT_EQ(HostValues(InputNamed(cut.inputs, "tokens")[0]), format.Prompt({{"system", "s"}, {"user", "v"}}));
  EXPECT_NE(words_of(cuts, {{{"role", "user"}, {"content", std::string(64, 'x')}}}), "");
  EXPECT_TRUE(
      words_of(cuts, {{{"role", "assistant"}, {"content", "x"}}}).starts_with("f.jsonl:3: messages: "));
  EXPECT_TRUE(words_of(cuts, {{{"role", "user"}, {"contents", "x"}}})
                  .starts_with("f.jsonl:3: messages[0]: \"content\" is missing"));
  EXPECT_TRUE(words_of(cuts, {{{"role", "user"}, {"content", "x"}},
                              {{"role", "system"}, {"content", "y"}},
                              {{"role", "user"}, {"content", "x"}}})
                  .starts_with("f.jsonl:3: turn 2: "));
}

// Its lines have messages and colours, each of them one picture in front of the last turn's words.
class Coloured final : public ChatTask {
 public:
  static constexpr TaskSpec kSpec = ChatSpec("coloured", "", {.text_width = 64, .pictures = true});
  explicit Coloured(const TaskContext& context) : ChatTask(context) {}

 private:
  Conversation Draw(Row&) const override { return kRows[0]; }
  Conversation Question(const JsonItem& line) const override {
    Conversation conversation = AskedMessages(line);
    conversation.back().pictures.assign(line.Integers("colours").size(), 0);
    return conversation;
  }
  void ShowQuestion(const JsonItem& line, const std::filesystem::path& folder,
                    const std::vector<PictureBytes>& pictures) const override {
    const std::vector<std::int64_t> colours = line.Integers("colours");
    ASSERT_EQ(pictures.size(), colours.size());
    for (std::size_t i = 0; i < colours.size(); ++i)
      pictures[i].Fill(
          {static_cast<std::uint8_t>(colours[i]), 0, folder == "here" ? std::uint8_t{255} : std::uint8_t{0}});
  }
};

constexpr std::int64_t kSide = 4;

Coloured MakeColoured(double images) {
  return Coloured({{.model = AgentValues(),
                    .tokenizer = &TalkBytes(),
                    .image = ImageGeometry{.size = kSide, .patch = 2},
                    .task = "talk"},
                   "default",
                   TalkOptions(Coloured::kSpec, {{"images", images}})});
}

JsonItem ColouredLine(const std::vector<int>& colours, const std::string& words = "q") {
  return {nlohmann::json{{"messages", {{{"role", "user"}, {"content", words}}}}, {"colours", colours}},
          "f.jsonl:3"};
}

TEST(ChatTask, QuestionsShowTheirPicturesInOrder) {
  const Coloured task = MakeColoured(1);
  EXPECT_EQ(task.Asks().files, "pictures, PNG or JPEG");
  const Asked asked =
      task.Ask({.lines = {ColouredLine({51, 102}), ColouredLine({153, 204}, "longer")}, .folder = "here"});
  ASSERT_EQ(asked.inputs.size(), 4U);
  for (std::size_t place = 0; place < 2; ++place) {
    EXPECT_EQ(asked.inputs[place].name, "images");
    const at::Tensor& pictures = asked.inputs[place].tensor;
    ASSERT_EQ(pictures.sizes(), (at::IntArrayRef{2, 3, kSide, kSide}));
    ASSERT_EQ(pictures.scalar_type(), at::kFloat);
    for (std::int64_t row = 0; row < 2; ++row) {
      const double red = 0.2 * static_cast<double>(2 * row + static_cast<std::int64_t>(place) + 1);
      EXPECT_LT(pictures[row][0].sub(red).abs().max().item<double>(), 1e-6) << place << ' ' << row;
      EXPECT_TRUE(pictures[row][1].eq(0).all().item<bool>());
      EXPECT_TRUE(pictures[row][2].eq(1).all().item<bool>());
    }
  }
  EXPECT_EQ(asked.inputs[2].name, "tokens");
  EXPECT_EQ(task.Ask({.lines = {ColouredLine({})}}).inputs.size(), 2U) << "words alone";
}

TEST(ChatTask, QuestionsShowNoPicturesWhereNoneAreLearnedNorTooMany) {
  const auto words_of = [](const Coloured& task, const std::vector<int>& colours) -> std::string {
    try {
      task.Ask({.lines = {ColouredLine(colours)}});
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(MakeColoured(0).Asks().files, "");
  EXPECT_EQ(words_of(MakeColoured(0), {1}),
            "f.jsonl:3: it shows 1 picture, and the task is trained on words alone; leave them out");
  EXPECT_EQ(words_of(MakeColoured(2), {1, 2, 3, 4}), "");
  EXPECT_EQ(words_of(MakeColoured(2), {1, 2, 3, 4, 5}),
            "f.jsonl:3: it shows 5 pictures; a conversation has 4 at most");
  EXPECT_THROW(MakeColoured(1).Ask({.lines = {ColouredLine({1}), ColouredLine({})}}), Error);
  EXPECT_THROW(MakeTold().Ask({.lines = {{nlohmann::json{{"messages", {{{"role", "user"}, {"content", "q"}}}},
                                                         {"images", {"a.png"}}},
                                          "f.jsonl:3"}}}),
               InputError);
}

// Also one of the model's size, where the rule cuts the middle out of a larger one.
TEST(PlainAsker, PicturesGoByTheModelsRule) {
  Picture picture(8, 8);
  for (std::size_t i = 0; i < picture.pixels.size(); ++i)
    picture.pixels[i] = static_cast<std::uint8_t>(37 * i % 251);
  const testing::TempDirectory work;
  testing::WriteBytes(work / "a.png", EncodePng(picture));
  const PictureRule rule{.resizes = true, .shortest_edge = 12};
  const auto seen = [&](const ImageGeometry& geometry) {
    return PlainAsker(TalkBytes(), geometry)
        .Ask({.lines = {{nlohmann::json{{"prompt", "a"}, {"images", {"a.png"}}}, "here"}},
              .folder = work.path()})
        .inputs.at(0)
        .tensor;
  };
  EXPECT_TRUE(seen({.size = 8, .patch = 2}).equal(TensorOf(picture)));
  EXPECT_TRUE(seen({.size = 8, .patch = 2, .rule = rule}).equal(TensorOf(ResizePicture(picture, 8, rule))));
  EXPECT_FALSE(seen({.size = 8, .patch = 2, .rule = rule}).equal(TensorOf(picture)));
  EXPECT_THROW(seen({.size = 4, .patch = 2}), InputError);
}

}  // namespace
}  // namespace medley::tasks
