// What the arguments of a sweep ask for, and how its folders are called.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/runs/job_share.h>
#include <medley/runs/sweep_grid.h>

#include "tests/words.h"

namespace medley {
namespace {

using test::Has;
using test::MessageOf;
using Texts = std::vector<std::string>;

Texts ValuesOf(const std::string& text) {
  const SweepArguments parsed = ParseSweep({"key=" + text});
  if (!parsed.keys.empty()) return parsed.keys.front().values;
  return {parsed.fixed.front().substr(4)};
}

std::string Refusal(const std::vector<std::string>& arguments) {
  return MessageOf<InputError>([&] { ParseSweep(arguments); });
}

TEST(SweepGrid, CommasPartValuesAndQuotesOrBracketsHoldThemTogether) {
  EXPECT_EQ(ValuesOf("1e-3,3e-4"), Texts({"1e-3", "3e-4"}));
  EXPECT_EQ(ValuesOf("auto"), Texts({"auto"}));
  EXPECT_EQ(ValuesOf("'a,b',c"), Texts({"a,b", "c"}));
  EXPECT_EQ(ValuesOf("\"a,b\",c"), Texts({"a,b", "c"}));
  EXPECT_EQ(ValuesOf("a\\,b,c"), Texts({"a,b", "c"}));
  EXPECT_EQ(ValuesOf("[1,2],[3,4]"), Texts({"[1,2]", "[3,4]"}));
  EXPECT_EQ(ValuesOf("{\"a\":[1,2],\"b\":3},4"), Texts({"{\"a\":[1,2],\"b\":3}", "4"}));
  EXPECT_EQ(ValuesOf("[\"a,]\",\"b\"],2"), Texts({"[\"a,]\",\"b\"]", "2"}));
  EXPECT_EQ(ValuesOf("[\"a\\\",\"],2"), Texts({"[\"a\\\",\"]", "2"}));
  EXPECT_EQ(ValuesOf("'',x"), Texts({"", "x"}));
  EXPECT_EQ(ValuesOf("a=b,c\\d"), Texts({"a=b", "c\\d"}));
}

TEST(SweepGrid, OneValueIsForAllRunsAndSeedsAreApart) {
  const SweepArguments parsed = ParseSweep({"steps=10", "optimizer.learning_rate=1,2", "seed=5,1"});
  EXPECT_EQ(parsed.fixed, Texts({"steps=10"}));
  ASSERT_EQ(parsed.keys.size(), 1U);
  EXPECT_EQ(parsed.keys[0].key, "optimizer.learning_rate");
  EXPECT_EQ(parsed.seeds, std::vector<std::int64_t>({5, 1}));
}

TEST(SweepGrid, AllThatIsWrongIsToldAtOnce) {
  const std::string words =
      Refusal({"steps", "=3", "a=1,", "b='x", "c=[1,2", "d=1,1.0", "seed=1,x", "e=1", "e=2"});
  for (const char* part :
       {"8 mistakes", "found 'steps'", "found '=3'", "a: a value is missing", "b: the quote ' is not closed",
        "c: the bracket [ is not closed", "d: the value 1.0 is there twice",
        "seed: expected whole numbers from 0, found 'x'", "e: it is there twice"})
    EXPECT_TRUE(Has(words, part)) << part << "\n" << words;
  EXPECT_EQ(Refusal({"a=\x1b[2J,b", "a=1"}).find('\x1b'), std::string::npos);
}

std::vector<std::string> Folders(const std::vector<SweptKey>& keys,
                                 const std::vector<SweepGroup>& known = {}) {
  std::vector<std::string> folders;
  for (const SweepGroup& group : GroupsOf(keys, known)) folders.push_back(group.folder);
  return folders;
}

TEST(SweepGrid, AFolderSaysWhatDiffers) {
  EXPECT_EQ(Folders({}), Texts({""}));
  EXPECT_EQ(Folders({{"optimizer.learning_rate", {"1e-3", "0.1"}}, {"tasks.control.rows", {"8", "auto"}}}),
            Texts({"learning_rate=1e-3,rows=8", "learning_rate=1e-3,rows=auto", "learning_rate=0.1,rows=8",
                   "learning_rate=0.1,rows=auto"}));
  EXPECT_EQ(Folders({{"tasks.a.rows", {"1"}}, {"tasks.b.rows", {"2"}}}),
            Texts({"tasks.a.rows=1,tasks.b.rows=2"}));
  EXPECT_EQ(SeedFolder(12), "seed-12");
}

// Whatever a stranger's value has in it: one folder, below the sweep's, that no shell cuts in two.
TEST(SweepGrid, NoNameLeavesTheFolderAndNoTwoAreOne) {
  const std::string far(300, 'x');
  const std::vector<std::string> folders = Folders(
      {{"k", {"../../a", "a/b", "a b", "a$b", "A_B", "x\x1b\n", "[1,2]", far + "1", far + "2", "\xc3\xa4"}}});
  std::set<std::string> different;
  for (const std::string& folder : folders) {
    EXPECT_EQ(folder.find_first_of("/ $\\'\"\x1b\n[]"), std::string::npos) << folder;
    EXPECT_LE(folder.size(), 100U);
    EXPECT_TRUE(folder.starts_with("k=")) << folder;
    different.insert(folder);
  }
  EXPECT_EQ(different.size(), folders.size());
}

TEST(SweepGrid, AGroupKeepsItsFolderWhateverComesBesideIt) {
  const std::vector<SweepGroup> known = GroupsOf({{"k", {"a b", "0.001"}}});
  const std::vector<SweepGroup> more = GroupsOf({{"k", {"a/b", "1e-3", "a b"}}}, known);
  EXPECT_EQ(more[2].folder, known[0].folder);
  EXPECT_EQ(more[1].folder, known[1].folder) << "the same number";
  EXPECT_NE(more[0].folder, known[0].folder);
}

Texts Share(std::int64_t threads, const std::string& budget, std::int64_t jobs,
            const std::string& device = "cpu") {
  RunConfig config;
  config.threads = threads;
  config.budget = budget;
  config.device = device;
  return ShareOfJobs(config, jobs);
}

TEST(SweepGrid, EachOfSeveralJobsHasItsPartOfWhatTheConfigSays) {
  EXPECT_EQ(Share(3, "6GiB", 1), Texts());
  const Texts bytes = Share(3, "6GiB", 2);
  EXPECT_EQ(bytes, Texts({"budget=3072MiB", "threads=1"}));
  EXPECT_EQ(ShareWords(2, bytes), "2 jobs: 3 GiB and one thread each");
  EXPECT_EQ(Share(8, "50%", 3), Texts({"budget=0.1666", "threads=2"}));
  const Texts gpu = Share(4, "", 2, "cuda");
  EXPECT_EQ(gpu, Texts({"budget=0.45", "threads=2"}));
  EXPECT_EQ(ShareWords(2, gpu), "2 jobs: 45.0 % of the device's memory and 2 threads each");
  const Texts free = Share(1, "", 1000);
  ASSERT_EQ(free.size(), 2U);
  EXPECT_TRUE(free[0].starts_with("budget=")) << free[0];
  EXPECT_EQ(free[1], "threads=1");
}

}  // namespace
}  // namespace medley
