// What an author can get wrong and no compiler sees is told on the first draw:
// tests/bad_plugins/wrong_author.cc.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;

// Six steps of two rows in which the task is wrong in this way.
CommandResult TrainWrong(const std::string& options) {
  const ScratchDirectory scratch;
  WriteText(scratch / "weights.json", R"({"unit": "rows", "weights": {"wrong_author": 1}})");
  return Shell(Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --plugin-path " +
               MEDLEY_PLUGIN_FIXTURES "/wrong_author --out " + (scratch / "run").string() +
               " weights=" + (scratch / "weights.json").string() +
               " threads=1 hours=0 plan=false tensorboard=false eval.every=0 steps=6"
               " tasks.wrong_author.rows=2 tasks.wrong_author.options." +
               options + " 2>&1");
}

void ExpectRefused(const std::string& options, const std::vector<std::string>& parts) {
  const CommandResult run = TrainWrong(options);
  EXPECT_NE(run.code, 0) << run.out;
  for (const std::string& part : parts) EXPECT_TRUE(Has(run.out, part)) << part << '\n' << run.out;
}

TEST(WrongAuthor, AnAuthorWhoGotNothingWrongTrains) {
  const CommandResult run = TrainWrong("wrong=nothing");
  EXPECT_EQ(run.code, 0) << run.out;
}

TEST(WrongAuthor, AMeanForASumIsTold) {
  ExpectRefused("wrong=mean", {"task 'wrong_author'", "pass 'say' gave for the term 'reply' ",
                               " over the rows ", " together, but ", "Run returns sums, never means"});
}

TEST(WrongAuthor, ASampleThatCountsItsCallsIsTold) {
  ExpectRefused("wrong=counter",
                {"task 'wrong_author': Sample gave another row ",
                 "when it was asked for again, in the same range: Sample depends on earlier calls",
                 "make a row from rows.seed and its number alone, with rows.Random(row)"});
}

TEST(WrongAuthor, ARowThatCountsItsCallsIsToldWhereverItIs) {
  ExpectRefused("wrong=counts_row_3",
                {"task 'wrong_author': Sample gave another row 3,", "Sample depends on earlier calls"});
}

TEST(WrongAuthor, ASampleThatDrawsFromStdRandIsTold) {
  ExpectRefused("wrong=rand", {"task 'wrong_author': Sample gave another row ", "std::rand"});
}

TEST(WrongAuthor, ASampleThatDependsOnItsRangeIsTold) {
  ExpectRefused("wrong=range",
                {"task 'wrong_author': Sample gave another row 1, in the column 'lengths', in another "
                 "range: Sample depends on rows.begin, rows.count"});
}

TEST(WrongAuthor, ItemsThatAreNotWhatIsLearnedAreTold) {
  ExpectRefused("items=1", {"term 'reply': Sample counted 1 items in row ",
                            "but Run (pass 'say', 'repeat') learns from ", "items of the model's 'logits'",
                            "SetItems, AddLearned"});
  ExpectRefused("items=31", {"term 'reply': Sample counted 31 items in row "});
}

TEST(WrongAuthor, AKeptTensorIsToldHoweverSmallItsEffect) {
  ExpectRefused("wrong=kept",
                {"pass 'repeat' gave another value for the term 'reply'", "Carry and Carried: look at Run"});
}

// What a check could not look at is no fault, but nobody should take it for looked at.
TEST(WrongAuthor, WhatCouldNotBeJudgedIsSaid) {
  const std::string missed =
      "not judged: what it makes of the model's outputs: on outputs that were made up its passes do not run";
  const CommandResult run = TrainWrong("wants_a_model=true");
  EXPECT_EQ(run.code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "task 'wrong_author' passed the check of its first draw; " + missed)) << run.out;
  EXPECT_TRUE(Has(run.out, "no model made this")) << run.out;
  EXPECT_EQ(run.out.find(missed, run.out.find(missed) + 1), std::string::npos) << "once\n" << run.out;
  const ScratchDirectory scratch;
  const std::string configs = MEDLEY_SOURCE_DIR "/configs/";
  WriteText(scratch / "weights.json", R"({"weights": {"wrong_author": 1}})");
  for (const std::string wants_a_model : {"false", "true"}) {
    WriteText(scratch / "run.json", R"({"model": ")" + configs +
                                        R"(models/agent-tiny.json", "tokenizer": ")" + configs +
                                        R"(tokenizers/small.model", "control_text": ")" + configs +
                                        R"(texts/control.txt", "weights": "weights.json",
                  "tasks": {"wrong_author": {"options": {"wants_a_model": )" +
                                        wants_a_model + "}}}}");
    const CommandResult check =
        Shell(Medley() + "plugins check " MEDLEY_PLUGIN_FIXTURES "/wrong_author/wrong_author.so --config " +
              (scratch / "run.json").string() + " 2>&1");
    EXPECT_EQ(check.code, 0) << check.out;
    EXPECT_EQ(Has(check.out, missed), wants_a_model == "true") << check.out;
  }
}

TEST(WrongAuthor, ASampleThatIgnoresLongestIsTold) {
  ExpectRefused("wrong=longest", {"task 'wrong_author': row ",
                                  "but each of 32 rows is the same, byte for byte, where it "
                                  "is asked for as long as can be; honour RowRange::longest in Sample"});
}

}  // namespace
}  // namespace medley
