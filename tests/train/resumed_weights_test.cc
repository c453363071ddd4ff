// What a resume makes of weights.json and weights.jsonl, whatever became of them while the run rested.
#include <medley/train/resumed_weights.h>

#include <functional>

#include <medley/base/error.h>

#include "tests/train/resting_run.h"

namespace medley::testing_fixture {
namespace {

namespace fs = std::filesystem;
using Cause = WeightEntry::Cause;
using test::Has;
using test::MessageOf;
using test::SilentConsole;

// What a checkpoint of this step goes on with, and what then comes again.
const std::map<std::int64_t, std::string> kThen = {{0, kFirst}, {5, kFirst}, {10, kSecond}, {18, kFourth}};
const std::vector<std::pair<std::int64_t, std::string>> kEdits = {{9, kSecond}, {15, kThird}, {18, kFourth}};

std::vector<std::pair<std::int64_t, std::string>> DueOf(const ResumedWeights& weights) {
  std::vector<std::pair<std::int64_t, std::string>> due;
  for (const DueEdit& edit : weights.log.due()) due.emplace_back(edit.step, edit.text);
  return due;
}

std::vector<std::pair<std::int64_t, std::string>> DueAfter(std::int64_t step) {
  std::vector<std::pair<std::int64_t, std::string>> due;
  for (const auto& edit : kEdits) {
    if (edit.first > step || (step == 0)) due.push_back(edit);
  }
  return due;
}

bool BeginsThem(const std::vector<std::pair<std::int64_t, std::string>>& some,
                const std::vector<std::pair<std::int64_t, std::string>>& all) {
  return some.size() <= all.size() && std::equal(some.begin(), some.end(), all.begin());
}

TEST(ResumedWeights, AWholeLogIsGoneOnWithWithoutAWord) {
  for (const auto age : {RestingRun::Age::kNew, RestingRun::Age::kOld}) {
    const RestingRun run(age);
    for (const auto& [step, then] : kThen) {
      SilentConsole ear;
      const ResumedWeights weights = ResumeWeights(run.path(), run.At(step), *ear);
      EXPECT_FALSE(weights.damaged) << step;
      EXPECT_FALSE(weights.edited) << step;
      EXPECT_EQ(weights.then->text, then) << step;
      EXPECT_EQ(DueOf(weights), DueAfter(step)) << step;
      EXPECT_EQ(Has(ear.words(), "is of an older medley"), age == RestingRun::Age::kOld) << ear.words();
      EXPECT_FALSE(Has(ear.words(), "warning")) << ear.words();
      ReplaceDamagedLog(run.path(), weights, *ear);
      EXPECT_EQ(ReadText(run.file()), run.text());
    }
  }
}

TEST(ResumedWeights, AnEditedFileIsNoDamage) {
  const RestingRun run;
  WriteText(run.own(), kByHand);
  SilentConsole ear;
  const ResumedWeights weights = ResumeWeights(run.path(), run.At(10), *ear);
  EXPECT_TRUE(weights.edited);
  EXPECT_FALSE(weights.damaged);
  EXPECT_EQ(weights.text_of_file, kByHand);
  EXPECT_EQ(ear.words(), "");
}

// The checkpoint vouches for its own weights. What came later is all there, or the warning says that it is
// not.
void ExpectNothingSilent(const RestingRun& run, std::int64_t step, bool is_edited, const std::string& what) {
  SCOPED_TRACE(what + ", checkpoint of step " + std::to_string(step) + (is_edited ? ", edited" : ""));
  SilentConsole ear;
  const ResumedWeights weights = ResumeWeights(run.path(), run.At(step), *ear);
  const std::string words = ear.words();
  EXPECT_TRUE(weights.damaged);
  EXPECT_TRUE(Has(words, "warning: " + run.file().string() + " ")) << words;
  ASSERT_TRUE(weights.then || step == 0);
  EXPECT_TRUE(!weights.then || weights.then->text == kThen.at(step)) << weights.then->text;
  EXPECT_TRUE(BeginsThem(DueOf(weights), DueAfter(step)));
  const bool is_kept = Has(words, "nothing is lost");
  EXPECT_NE(is_kept, Has(words, " lost;") || Has(words, "are lost") || Has(words, "is not known")) << words;
  EXPECT_TRUE(!is_kept || DueOf(weights) == DueAfter(step));
  EXPECT_TRUE(!is_kept || weights.edited == is_edited) << "an edit and damage are told apart";
  const bool holds_at_once = Has(words, "has another text than the newest that can be read");
  EXPECT_EQ(holds_at_once, weights.edited && !is_kept) << words;
  EXPECT_TRUE(!holds_at_once || weights.log.due().empty());
}

struct Damage {
  std::string name;
  std::function<void(const fs::path&, std::vector<std::string>)> make;  // of the file, and its lines
};

std::string Together(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

void Change(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

// Lines: start, stage, edit of 9, stage, edit of 15, refusal, edit of 18, end.
std::vector<Damage> Damages() {
  return {
      {"a text of the past",
       [](const fs::path& f, auto l) {
         Change(l[0], "3}", "5}");
         WriteText(f, Together(l));
       }},
      {"a text that is due",
       [](const fs::path& f, auto l) {
         Change(l[4], ": 4,", ": 6,");
         WriteText(f, Together(l));
       }},
      {"a sum",
       [](const fs::path& f, auto l) {
         l[4].back() = ' ';
         WriteText(f, Together(l));
       }},
      {"a step",
       [](const fs::path& f, auto l) {
         Change(l[4], "\"step\":15", "\"step\":14");
         WriteText(f, Together(l));
       }},
      {"a share",
       [](const fs::path& f, auto l) {
         Change(l[1], "0.25", "0.26");
         WriteText(f, Together(l));
       }},
      {"cut in a line",
       [](const fs::path& f, auto l) { WriteText(f, Together(l).substr(0, Together(l).size() - 90)); }},
      {"cut behind a line",
       [](const fs::path& f, auto l) {
         l.resize(5);
         WriteText(f, Together(l));
       }},
      {"cut early",
       [](const fs::path& f, auto l) {
         l.resize(1);
         WriteText(f, Together(l));
       }},
      {"without an edit",
       [](const fs::path& f, auto l) {
         l.erase(l.begin() + 4);
         WriteText(f, Together(l));
       }},
      {"edits swapped",
       [](const fs::path& f, auto l) {
         std::swap(l[2], l[4]);
         WriteText(f, Together(l));
       }},
      {"an edit by hand",
       [](const fs::path& f, auto l) {
         std::string hand = l[6];
         Change(hand, ": 8,", ": 9,");
         l.push_back(hand);
         WriteText(f, Together(l));
       }},
      {"of another run",
       [](const fs::path& f, auto) {
         fs::remove(f);
         WeightLog log(f.parent_path());
         RestingRun::Add(log, 0, Cause::kStart, kByHand);
         RestingRun::Add(log, 12, Cause::kEdit, kByHand);
       }},
      {"empty", [](const fs::path& f, auto) { WriteText(f, ""); }},
      {"missing", [](const fs::path& f, auto) { fs::remove(f); }},
      {"a directory",
       [](const fs::path& f, auto) {
         fs::remove(f);
         fs::create_directories(f / "deep");
       }},
      {"a link",
       [](const fs::path& f, auto) {
         fs::rename(f, f.parent_path() / "elsewhere");
         fs::create_symlink("elsewhere", f);
       }},
  };
}

std::vector<std::string> PiecesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(text.substr(at, text.find('\n', at) + 1 - at));
  return lines;
}

TEST(ResumedWeights, EveryDamageIsNamedAndNoOtherTextIsGoneOnWith) {
  for (const Damage& damage : Damages()) {
    for (const auto& [step, then] : kThen) {
      if (step == 0 && damage.name == "of another run") continue;  // nothing tells whose it is
      for (const bool is_edited : {false, true}) {
        const RestingRun run;
        if (is_edited) WriteText(run.own(), kByHand);
        damage.make(run.file(), PiecesOf(run.text()));
        ExpectNothingSilent(run, step, is_edited, damage.name);
      }
    }
  }
}

TEST(ResumedWeights, EveryFlippedByteIsNamedAndNoOtherTextIsGoneOnWith) {
  const RestingRun run;
  for (const std::int64_t step : {0, 10}) {
    for (std::size_t byte = 0; byte < run.text().size(); byte += 3) {
      std::string damaged = run.text();
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << (byte % 7)));
      WriteText(run.file(), damaged);
      ExpectNothingSilent(run, step, false, "byte " + std::to_string(byte));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// A second resume finds a whole log, and what it comes to is the same.
TEST(ResumedWeights, TheDamagedLogIsSetAsideAndAWholeOneLiesInItsPlace) {
  for (const Damage& damage : Damages()) {
    SCOPED_TRACE(damage.name);
    const RestingRun run;
    damage.make(run.file(), PiecesOf(run.text()));
    const auto read = [](const fs::path& file) { return fs::is_directory(file) ? "" : ReadText(file); };
    const std::string found = read(run.file());
    SilentConsole ear;
    const ResumedWeights first = ResumeWeights(run.path(), run.At(10), *ear);
    EXPECT_EQ(read(run.file()), found) << "all else of the resume may yet be wrong";
    ReplaceDamagedLog(run.path(), first, *ear);
    const fs::path aside = run.path() / "weights.jsonl.damaged-1";
    EXPECT_EQ(fs::exists(fs::symlink_status(aside)), damage.name != "missing");
    EXPECT_EQ(Has(ear.words(), "weights.jsonl.damaged-1"), damage.name != "missing") << ear.words();
    EXPECT_EQ(read(aside), found);
    SilentConsole again;
    const ResumedWeights second = ResumeWeights(run.path(), run.At(10), *again);
    EXPECT_FALSE(second.damaged) << again.words();
    EXPECT_EQ(again.words(), "");
    EXPECT_EQ(second.then->text, kSecond);
    EXPECT_EQ(DueOf(second), DueOf(first));
    EXPECT_EQ(second.edited, first.edited);
  }
}

// One bit in the newest edit: the run's own file has the same text, and the sum of it.
TEST(ResumedWeights, ADueTextThatTheOwnFileStillHasComesAgain) {
  const RestingRun run;
  std::vector<std::string> lines = PiecesOf(run.text());
  Change(lines[6], ": 8,", ": 0,");
  WriteText(run.file(), Together(lines));
  SilentConsole ear;
  const ResumedWeights weights = ResumeWeights(run.path(), run.At(10), *ear);
  EXPECT_TRUE(weights.damaged);
  EXPECT_EQ(DueOf(weights), DueAfter(10));
  EXPECT_TRUE(Has(ear.words(), "nothing is lost")) << ear.words();
}

// Without a checkpoint the log alone tells, and the file that it was last taken from.
TEST(ResumedWeights, AStartWhoseTextTheOwnFileStillHasIsMended) {
  const ScratchDirectory scratch;
  WeightLog log(scratch.path());
  RestingRun::Add(log, 0, Cause::kStart, kFirst);
  std::string damaged = log.FileText();
  Change(damaged, ": 1,", ": 7,");
  WriteText(scratch / kWeightLog, damaged);
  for (const std::string own : {kFirst, kByHand}) {
    WriteText(scratch / kRunWeights, own);
    SilentConsole ear;
    const ResumedWeights weights = ResumeWeights(scratch.path(), std::nullopt, *ear);
    EXPECT_TRUE(weights.damaged);
    EXPECT_EQ(weights.then.has_value(), own == kFirst) << "the sum is of another text";
    EXPECT_TRUE(Has(ear.words(), own == kFirst ? "nothing is lost" : "were is not known")) << ear.words();
  }
}

TEST(ResumedWeights, AFileThatIsGoneIsWrittenAnewAndNoEdit) {
  for (const auto age : {RestingRun::Age::kNew, RestingRun::Age::kOld}) {
    for (const auto& [step, then] : kThen) {
      const RestingRun run(age);
      fs::remove(run.own());
      SilentConsole ear;
      const ResumedWeights weights = ResumeWeights(run.path(), run.At(step), *ear);
      EXPECT_EQ(ReadText(run.own()), kFourth);
      EXPECT_TRUE(Has(ear.words(), "weights.json is missing; it is written anew, as it was taken over last"))
          << ear.words();
      EXPECT_FALSE(weights.edited);
      EXPECT_EQ(weights.then->text, then);
      EXPECT_EQ(DueOf(weights), DueAfter(step));
    }
  }
}

TEST(ResumedWeights, BothGoneTheCheckpointTells) {
  const RestingRun run;
  fs::remove(run.own());
  fs::remove(run.file());
  SilentConsole ear;
  const ResumedWeights weights = ResumeWeights(run.path(), run.At(10), *ear);
  EXPECT_EQ(ReadText(run.own()), kSecond);
  EXPECT_EQ(weights.then->text, kSecond);
  EXPECT_TRUE(Has(ear.words(), "weights.jsonl is missing; ")) << ear.words();
}

// Its checkpoints know a number alone.
TEST(ResumedWeights, OfAnOlderRunWhatCanBeCheckedIs) {
  for (const Damage& damage : Damages()) {
    for (const std::int64_t step : {5, 10, 18}) {
      SCOPED_TRACE(damage.name + ", step " + std::to_string(step));
      const RestingRun run(RestingRun::Age::kOld);
      damage.make(run.file(), PiecesOf(run.text()));
      SilentConsole ear;
      const ResumedWeights weights = ResumeWeights(run.path(), run.At(step), *ear);
      EXPECT_NE(ear.words(), "") << "be it that it cannot be told";
      if (!weights.then) {
        EXPECT_TRUE(Has(ear.words(), "is not known: from there on the run has those of weights.json"));
        EXPECT_TRUE(weights.log.entries().empty());
      } else if (damage.name != "of another run") {
        EXPECT_EQ(weights.then->text, kThen.at(step));
      }
      for (const auto& [at, text] : DueOf(weights))
        EXPECT_TRUE(text == kSecond || text == kThird || text == kFourth || damage.name == "of another run" ||
                    damage.name == "an edit by hand")
            << text;
    }
  }
}

TEST(ResumedWeights, OfAnOlderRunWithoutEitherNothingIsGuessed) {
  const RestingRun run(RestingRun::Age::kOld);
  fs::remove(run.own());
  fs::remove(run.file());
  SilentConsole ear;
  const std::string words = MessageOf<InputError>([&] { ResumeWeights(run.path(), run.At(10), *ear); });
  EXPECT_TRUE(Has(words, "does not tell what the weights of step 10 were either")) << words;
  EXPECT_FALSE(fs::exists(run.own()));
}

TEST(ResumedWeights, ACheckpointThatKeptOtherLinesThanItsOwnIsUnusable) {
  const RestingRun run;
  const fs::path other = run.path() / "other";
  fs::create_directory(other);
  const nlohmann::json progress = {{"step", 3}, {"weight_log", 1}, {"weight_lines", "{}\n"}};
  RestingRun::SaveProgress(other, 3, progress, {});
  WriteText(other / kRunWeights, kFirst);
  SilentConsole ear;
  const FoundCheckpoint from{other / CheckpointName(3), RestingRun::Facts(3, {})};
  EXPECT_TRUE(Has(MessageOf<InputError>([&] { ResumeWeights(other, from, *ear); }),
                  "does not say where the run is: what it kept of weights.jsonl was damaged"));
}

}  // namespace
}  // namespace medley::testing_fixture
