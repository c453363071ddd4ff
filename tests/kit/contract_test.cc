// The checks that the game's tasks pass, on those of the kit.
#include <fstream>

#include "tests/tasks/contract_checks.h"

namespace medley::tasks {
namespace {

TEST(KitTasks, AreWhatTheirSpecsDeclare) {
  EXPECT_EQ(AllTasks().size(), 8U);
  for (const TaskClass& any : AllTasks()) {
    ExpectConstantsAsDeclared(*any.spec);
    for (const VariantInfo& variant : any.spec->variants) {
      SCOPED_TRACE(any.spec->name + "/" + variant.name);
      ExpectPassesAsDeclared(*any.spec, variant);
      ExpectARowIsTheSameInWhateverRange(*any.spec, variant);
    }
  }
}

// A range that asks for the longest rows has one of the width, and one of as many items, that the spec says.
TEST(KitTasks, RowsAreAsLongAsTheSpecSaysWhereThatIsAskedFor) {
  for (const char* name : {"count_on", "first_letter", "lines"}) {
    const TaskUnderTest test(name);
    const Batch batch = test.task->Sample({.seed = 1, .begin = 0, .count = 3, .longest = true});
    const VariantInfo& variant = test.entry.spec->variants[0];
    EXPECT_TRUE(batch.Column("lengths").eq(variant.passes[0].text_width).all().item<bool>()) << name;
    EXPECT_TRUE(batch.items().at("reply").eq(variant.terms[0].max_items).all().item<bool>()) << name;
  }
}

TEST(KitTasks, HoldOutRowsThatTrainingNeverShows) {
  for (const char* name : {"first_letter", "lines"}) {
    const TaskUnderTest test(name, 128, "default",
                             name == std::string("lines") ? std::map<std::string, double>{{"held_out", 0.5}}
                                                          : std::map<std::string, double>{});
    std::set<std::string> shown[2];
    for (const Split split : {Split::kTraining, Split::kHeldOut}) {
      const Batch batch = test.task->Sample({.seed = 5, .begin = 0, .count = 200, .split = split});
      for (std::int64_t row = 0; row < batch.size(); ++row)
        shown[split == Split::kHeldOut].insert(test.TextOf(
            batch.Column("tokens")[row], 0, batch.Column("prompt_lengths")[row].item<std::int64_t>()));
    }
    EXPECT_GE(shown[0].size(), 3U) << name;
    EXPECT_GE(shown[1].size(), 3U) << name;
    for (const std::string& text : shown[1]) EXPECT_EQ(shown[0].count(text), 0U) << name << ": " << text;
  }
}

TEST(KitTasks, TextsAreThoseOfTheTasksOwnRowsAndLists) {
  const auto texts = [](const char* name) {
    const auto& all = TaskNamed(name).texts;
    return std::set<std::string>(all.begin(), all.end());
  };
  EXPECT_EQ(texts("count_on").size(), 7U);
  EXPECT_EQ(texts("count_on").count("two, three, four, five"), 1U);
  EXPECT_EQ(texts("lines").count("What number has the tree? two"), 1U) << "a path was needed to know it";
  EXPECT_EQ(texts("lines").size(), 12U);
  EXPECT_EQ(texts("repaint"), (std::set<std::string>{"Draw it blue.", "Draw it green."}));
  EXPECT_EQ(texts("discs").count("Which colour is large?"), 1U);
}

TEST(KitTasks, ALineOfAnotherKindIsNamedByItsPlace) {
  const std::string file = ::testing::TempDir() + "/kit_lines.jsonl";
  std::ofstream(file) << "{\"ask\": \"What?\", \"say\": \"that\"}\n{\"ask\": \"Who?\"}\n";
  const TaskUnderTest any("lines");
  const OptionValues options{{"data", file}, {"validation", ""}, {"held_out", 0.0}};
  const auto task = any.entry.make(GameContext(*any.tokenizer, any.lines, options));
  try {
    task->Sample({1, 0, 4});
    FAIL() << "the second line has no \"say\"";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("kit_lines.jsonl:2: \"say\" is missing"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace medley::tasks
