// What a user can hand to a task of the game and must hear about.

#include <set>

#include "tests/tasks/task_testing.h"
#include "tests/words.h"

namespace medley::tasks {
namespace {

using test::MessageOf;

void ExpectParts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << message;
}

// As a vocabulary of letters: every text is as long as it can be. `lengths` says otherwise.
class LetterTokenizer final : public Tokenizer {
 public:
  explicit LetterTokenizer(std::function<std::size_t(std::string_view)> lengths = {},
                           std::string missing = "")
      : lengths_(std::move(lengths)), missing_(std::move(missing)) {}

  std::vector<std::int64_t> Encode(std::string_view text) const override {
    return std::vector<std::int64_t>(lengths_ ? lengths_(text) : text.size(), 10);
  }
  std::string Decode(const std::vector<std::int64_t>& ids) const override {
    return std::string(ids.size(), 'a');
  }
  std::string Piece(std::int64_t) const override { return "a"; }
  std::int64_t Id(std::string_view special) const override {
    if (special == missing_) throw InputError("no token " + missing_);
    return special == "<pad>" ? 0 : special == "<eos>" ? 1 : static_cast<std::int64_t>(special.size());
  }
  bool Has(std::string_view special) const override { return special != missing_; }
  std::int64_t size() const override { return 20; }
  std::string hash() const override { return "letters"; }

 private:
  std::function<std::size_t(std::string_view)> lengths_;
  std::string missing_;
};

std::string MistakeOfMaking(const TaskClass& task, const Tokenizer& tokenizer,
                            const std::vector<std::string>& lines = {"a line"}) {
  OptionValues options;
  for (const OptionInfo& option : task.spec->options) options.emplace(option.name, option.Default());
  return MessageOf<InputError>([&] { task.make(GameContext(tokenizer, lines, options)); });
}

TEST(BadInput, TextsThatDoNotFitTheirTableNameTextAndWidth) {
  for (const TaskClass& task : AllTasks()) {
    const std::string mistake = MistakeOfMaking(task, LetterTokenizer());
    if (task.spec->name == "control") {
      EXPECT_EQ(mistake, "") << "its lines are cut";
      continue;
    }
    SCOPED_TRACE(task.spec->name);
    ExpectParts(mistake, {"table '", "text \"", "16 wide", "medley tokenizer train"});
    const auto named = std::find_if(task.texts.begin(), task.texts.end(), [&](const std::string& text) {
      const auto says = [&](std::size_t tokens) {
        return mistake.find("\"" + text + "\": " + std::to_string(tokens) + " tokens") != std::string::npos;
      };
      return says(text.size()) || says(text.size() + 1);  // with its eos
    });
    EXPECT_NE(named, task.texts.end()) << mistake;
  }
}

TEST(BadInput, APromptAndAReplyThatDoNotFitARowTogetherAreRefused) {
  const LetterTokenizer tokenizer([](std::string_view text) { return text.ends_with("?") ? 16U : 11U; });
  for (const char* name : {"near_gold_qa", "position_qa", "relposition_qa", "blue_line_qa", "comparison"}) {
    ExpectParts(MistakeOfMaking(TaskNamed(name), tokenizer), {"28 tokens together", "24", "tokenizer train"});
  }
}

TEST(BadInput, AControlTextWithoutLinesIsRefused) {
  const LetterTokenizer tokenizer([](std::string_view) { return 3U; });
  std::set<std::string> others;
  for (const TaskClass& task : AllTasks()) {
    const std::string mistake = MistakeOfMaking(task, tokenizer, {});
    const bool reads_it = std::any_of(task.terms().begin(), task.terms().end(), [](const TermInfo& term) {
      return term.name.find("control_text") != std::string::npos || term.name.starts_with("step1");
    });
    if (!reads_it) {
      others.insert(task.spec->name);
      continue;
    }
    ExpectParts(mistake, {"control text", "no lines"});
  }
  EXPECT_EQ(others, (std::set<std::string>{"comparison", "complex_loss"}));
}

TEST(BadInput, DirectionNamesNeedsItsActionTokens) {
  for (const char* token : {"<forward>", "<clock>", "<anticlock>"}) {
    ExpectParts(MistakeOfMaking(TaskNamed("direction_names"),
                                LetterTokenizer([](std::string_view) { return 3U; }, token)),
                {token});
  }
  // It has them, but no sentence is written with one.
  ExpectParts(
      MistakeOfMaking(TaskNamed("direction_names"), LetterTokenizer([](std::string_view) { return 3U; })),
      {"Forward is written <forward>", "no action token", "medley tokenizer train"});
}

TEST(BadInput, ImagesTooSmallForTheGoldAreRefused) {
  for (const TaskClass& any : AllTasks()) {
    for (const std::int64_t size : {16, 112, 127}) {
      ExpectParts(MessageOf<InputError>([&] { TaskUnderTest(any.spec->name, size); }),
                  {"images of " + std::to_string(size) + " pixels", "below 128", "model config"});
    }
    EXPECT_EQ(MessageOf<InputError>([&] { TaskUnderTest(any.spec->name, 128); }), "");
  }
}

}  // namespace
}  // namespace medley::tasks
