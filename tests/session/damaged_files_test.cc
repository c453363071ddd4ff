// A file of a run that is damaged, lost, or something else: what is not needed stops nothing.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <functional>

#include <medley/page/run_data.h>
#include <medley/run/run.h>

#include "tests/session/session_runs.h"
#include "tests/sweep.h"
#include "tests/tools/small_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::Has;

struct Damage {
  std::string name;
  std::function<void(const fs::path& file)> act;
};
const std::vector<Damage> kDamages = {
    {"removed", [](const fs::path& file) { fs::remove(file); }},
    {"empty", [](const fs::path& file) { WriteText(file, ""); }},
    {"cut", [](const fs::path& file) { fs::resize_file(file, fs::file_size(file) / 2); }},
    {"other bytes",
     [](const fs::path& file) {
       std::string text = ReadText(file);
       for (std::size_t i = text.size() / 3; i < text.size() / 3 + 9 && i < text.size(); ++i)
         text[i] = '\x07';
       WriteText(file, text);
     }},
    {"a folder",
     [](const fs::path& file) {
       fs::remove(file);
       fs::create_directory(file);
     }},
    {"a link to nothing",
     [](const fs::path& file) {
       fs::remove(file);
       fs::create_symlink("nowhere", file);
     }},
};

// A run with all that a run may leave, and the files of it below its directory.
class DamagedFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteText(scratch_ / "weights.json", test::kOneTaskWeights);
    const Ended trained = test::TrainToTheEnd(
        test::RequestOf("quickstart.json", test::kOneTask + (scratch_ / "weights.json").string() +
                                               " plan=true budget=1GiB steps=2 checkpoint.every=1 "
                                               "eval.every=2 eval.rows=2 tensorboard=true"),
        run_);
    ASSERT_EQ(trained.code, ExitCode::kDone) << trained.out;
    ASSERT_EQ(test::ResumeToTheEnd(run_, "steps=3").code, ExitCode::kDone);
    fs::create_directory(run_ / "rank-1");
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(run_)) {
      const fs::path name = entry.path().lexically_relative(run_);
      if (entry.is_regular_file() && name != "run.lock") names_.push_back(name);
    }
    std::sort(names_.begin(), names_.end());
  }
  static Ended Report(const fs::path& run) {
    return test::EndOf([&](Console&) {
      RunData(run);
      return ExitCode::kDone;
    });
  }
  static Ended Open(const fs::path& run) {
    return test::EndOf([&](Console& console) {
      OpenTrainedRun(run, console, "cpu");
      return ExitCode::kDone;
    });
  }

  const ScratchDirectory scratch_;
  const fs::path run_ = scratch_ / "run";
  std::vector<fs::path> names_;
};

// What says what to do.
bool NamesAWayOn(const std::string& words) {
  for (const char* way : {"estore", "ove it", "medley resume ", "write the weights", "s a directory"}) {
    if (Has(words, way)) return true;
  }
  return false;
}

TEST_F(DamagedFiles, StopNothingOrSayWhatToDo) {
  struct Case {
    fs::path name;
    const Damage* damage;
  };
  std::vector<Case> cases;
  for (const fs::path& name : names_) {
    for (const Damage& damage : kDamages) cases.push_back({name, &damage});
  }
  for (const Case& one : test::Slice("DamagedFiles", cases, 30)) {
    SCOPED_TRACE(one.name.string() + ": " + one.damage->name);
    const ScratchDirectory scratch;
    const fs::path run = scratch / "run", file = run / one.name;
    fs::copy(run_, run, fs::copy_options::recursive);
    one.damage->act(file);
    const Ended reported = Report(run), opened = Open(run), resumed = test::ResumeToTheEnd(run, "steps=4");
    if (std::getenv("SHOW") != nullptr)
      for (const auto& [verb, ended] : {std::pair("report", reported), {"open", opened}, {"resume", resumed}})
        std::printf(
            "## %s %s %s: %d %s\n", one.name.c_str(), one.damage->name.c_str(), verb,
            static_cast<int>(ended.code),
            ended.code == ExitCode::kDone ? "" : ended.out.substr(ended.out.rfind("medley: ")).c_str());
    for (const Ended& ended : {reported, opened, resumed}) {
      if (ended.code == ExitCode::kDone) continue;
      const std::string words = ended.out.substr(ended.out.rfind("medley: "));
      EXPECT_TRUE(Has(words, one.name.filename().string()) || Has(words, one.name.begin()->string()))
          << words;
      EXPECT_TRUE(NamesAWayOn(words)) << words;
    }
    if (resumed.code == ExitCode::kDone) continue;
    fs::remove_all(file);
    fs::copy(run_ / one.name, file);  // nothing else was lost
    EXPECT_EQ(test::ResumeToTheEnd(run, "steps=4").code, ExitCode::kDone);
  }
}

}  // namespace
}  // namespace medley
