// A run whose project was moved, renamed or copied, all of it or a part, goes on.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <medley/run/run.h>

#include "tests/session/session_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using test::Ended;
using test::Has;

constexpr const char* kConfig = R"({
  "model": "../model.json", "tokenizer": "../texts/small.model", "control_text": "../texts/control.txt",
  "weights": "weights.json", "plan": false, "threads": 1, "seed": 3, "steps": 2,
  "tasks": {"lines": {"rows": 2, "options": {"data": "../data/lines.jsonl", "held_out": 0.3}}}
})";

std::string Lines(int count, const std::string& word) {
  std::string lines;
  for (int i = 0; i < count; ++i)
    lines += R"({"ask": "What is )" + std::to_string(i) + R"(?", "say": ")" + word + "\"}\n";
  return lines;
}

// A project with all that a run is made from in it, and the run.
class MovedRun : public ::testing::Test {
 protected:
  MovedRun() {
    MakeProject(project_);
    Train(project_);
  }
  ~MovedRun() override { fs::current_path(before_); }

  static void MakeProject(const fs::path& project) {
    const fs::path configs = MEDLEY_SOURCE_DIR "/configs", plugins = MEDLEY_GAME_PLUGIN_DIRECTORY;
    for (const char* folder : {"configs", "texts", "data", "plugins"})
      fs::create_directories(project / folder);
    fs::copy(configs / "models/agent-tiny.json", project / "model.json");
    fs::copy(configs / "tokenizers/small.model", project / "texts/small.model");
    fs::copy(configs / "texts/control.txt", project / "texts/control.txt");
    fs::copy(plugins / "lines.so", project / "plugins/lines.so");
    WriteText(project / "configs/run.json", kConfig);
    WriteText(project / "configs/weights.json", R"({"weights": {"lines": 1}})");
    WriteText(project / "data/lines.jsonl", Lines(20, "one"));
  }
  static BeginRequest RequestIn(const fs::path& project) {
    return {.config = project / "configs/run.json",
            .plugins = {.paths = {project / "plugins"}, .remember = false}};
  }
  static void Train(const fs::path& project) {
    const Ended trained = test::TrainToTheEnd(RequestIn(project), project / "runs/r");
    ASSERT_EQ(trained.code, ExitCode::kDone) << trained.out;
  }
  static Ended Resume(const fs::path& run, std::vector<std::string> overrides = {"steps=4"},
                      const std::vector<fs::path>& changed = {}) {
    return test::ResumeToTheEnd(run, {.overrides = std::move(overrides),
                                      .plugins = {.allow_config = true, .remember = false},
                                      .allow_changed = changed});
  }
  static ordered_json JsonAt(const fs::path& file) { return ordered_json::parse(ReadText(file)); }
  // What a run would have become that stayed where it began.
  std::map<std::string, std::string> WithoutAMove() {
    MakeProject(scratch_ / "other");
    Train(scratch_ / "other");
    const Ended resumed = Resume(scratch_ / "other/runs/r");
    EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
    EXPECT_FALSE(Has(resumed.out, " is now ")) << resumed.out;
    return test::EndState(scratch_ / "other/runs/r");
  }

  const fs::path before_ = fs::current_path();
  const ScratchDirectory scratch_;
  const fs::path project_ = scratch_ / "old/proj", run_ = project_ / "runs/r";
};

struct MovedCase {
  std::string name;
  // Moves the project, and returns where the run is then.
  std::function<fs::path(const fs::path& scratch, const fs::path& project)> move;
  std::set<std::string> elsewhere;  // keys of what is told to lie elsewhere
};

const std::set<std::string> kAll = {"model", "tokenizer", "control_text", "tasks.lines.options.data",
                                    "plugin_path"};

fs::path CopyTo(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy(from, to, fs::copy_options::recursive);
  return to;
}

std::vector<MovedCase> MovedCases() {
  return {
      {"renamed",
       [](const fs::path& scratch, const fs::path& project) {
         fs::rename(project, scratch / "old/called anew");
         return scratch / "old/called anew/runs/r";
       },
       kAll},
      {"deeper, with the run called anew",
       [](const fs::path& scratch, const fs::path& project) {
         fs::create_directories(scratch / "a/b/c d");
         fs::rename(project, scratch / "a/b/c d/proj");
         fs::rename(scratch / "a/b/c d/proj/runs/r", scratch / "a/b/c d/proj/runs/best one");
         return scratch / "a/b/c d/proj/runs/best one";
       },
       kAll},
      {"copied, and what was copied is changed since",
       [](const fs::path& scratch, const fs::path& project) {
         CopyTo(project, scratch / "copy");
         for (const char* file : {"data/lines.jsonl", "texts/control.txt"})
           WriteText(project / file, ReadText(project / file) + ReadText(project / file));
         return scratch / "copy/runs/r";
       },
       {"control_text", "tasks.lines.options.data"}},
      {"the run alone is copied",
       [](const fs::path& scratch, const fs::path& project) {
         return CopyTo(project / "runs/r", scratch / "elsewhere/r");
       },
       {}},
      {"all but the run moves, and a link leads there",
       [](const fs::path& scratch, const fs::path& project) {
         CopyTo(project / "runs/r", scratch / "runs/r");
         fs::rename(project, scratch / "big disk");
         fs::create_directory_symlink(scratch / "big disk", scratch / "runs/proj");
         return scratch / "runs/r";
       },
       kAll},
      {"its files lie flat beside it",
       [](const fs::path& scratch, const fs::path& project) {
         const fs::path flat = scratch / "flat";
         CopyTo(project / "runs/r", flat / "r");
         for (const char* file : {"model.json", "texts/small.model", "texts/control.txt", "data/lines.jsonl"})
           fs::copy(project / file, flat / fs::path(file).filename());
         fs::copy(project / "plugins", flat / "plugins", fs::copy_options::recursive);
         fs::remove_all(project);
         return flat / "r";
       },
       kAll},
      {"its data moves, and its config says so",
       [](const fs::path&, const fs::path& project) {
         fs::rename(project / "data", project / "corpus");
         fs::rename(project / "corpus/lines.jsonl", project / "corpus/first.jsonl");
         ordered_json config = ordered_json::parse(kConfig);
         config["tasks"]["lines"]["options"]["data"] = "../corpus/first.jsonl";
         WriteText(project / "configs/run.json", config.dump());
         return project / "runs/r";
       },
       {"tasks.lines.options.data"}},
  };
}

// To the bytes of one that stayed; and each file that lies elsewhere is told once.
TEST_F(MovedRun, EndsAsOneThatStayed) {
  const auto expected = WithoutAMove();
  for (const MovedCase& moved : MovedCases()) {
    SCOPED_TRACE(moved.name);
    const ScratchDirectory scratch;
    const fs::path project = scratch / "old/proj";
    MakeProject(project);
    Train(project);
    const fs::path run = moved.move(scratch.path(), project);
    const Ended resumed = Resume(run);
    ASSERT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
    EXPECT_EQ(test::EndState(run), expected);
    for (const std::string& key : kAll) {
      const std::size_t first = resumed.out.find(key + ": " + project.string());
      EXPECT_EQ(first != std::string::npos, moved.elsewhere.contains(key)) << key << "\n" << resumed.out;
      EXPECT_EQ(resumed.out.find(key + ": " + project.string(), first + 1), std::string::npos) << resumed.out;
    }
    EXPECT_FALSE(Has(resumed.out, "changed: ") && Has(resumed.out, "options.data: \"")) << resumed.out;
    // Known from then on.
    const Ended again = Resume(run, {"steps=5"});
    EXPECT_EQ(again.code, ExitCode::kDone) << again.out;
    EXPECT_FALSE(Has(again.out, " is now ")) << again.out;
  }
}

// What asks a run: each finds the same files, and changes nothing.
TEST_F(MovedRun, AnswersWhereverItLies) {
  const std::string record = ReadText(run_ / "run.json");
  const fs::path moved = scratch_ / "new/proj", run = moved / "runs/r";
  fs::create_directories(moved.parent_path());
  fs::rename(project_, moved);
  const NamedPlugins plugins = {.allow_config = true, .remember = false};
  for (const auto& open : std::vector<std::function<TrainedRun(Console&)>>{
           [&](Console& console) { return OpenTrainedRun(run, console, "cpu", plugins); },
           [&](Console& console) { return OpenForExport(run, console, plugins); },
           [&](Console& console) { return OpenForExport(run / "step-00000002", console, plugins); }}) {
    test::SilentConsole console;
    EXPECT_EQ(open(*console).step, 2);
    EXPECT_TRUE(Has(console.words(), "tasks.lines.options.data: " + (project_ / "data/lines.jsonl").string() +
                                         " is now " + (moved / "data/lines.jsonl").string() +
                                         ", with the same contents"))
        << console.words();
  }
  EXPECT_EQ(ReadText(run / "run.json"), record);

  // The config has paths of its own, and the run is repeated from there.
  BeginRequest again = RequestIn(moved);
  const Ended replayed = test::ReplayToTheEnd(run, again, scratch_ / "again");
  EXPECT_EQ(replayed.code, ExitCode::kDone) << replayed.out;
  EXPECT_EQ(ReadText(scratch_ / "again/metrics.jsonl"), ReadText(run / "metrics.jsonl"));
  // As a report says that it is repeated.
  again.config = run / "config.resolved.json";
  const Ended own = test::ReplayToTheEnd(run, again, scratch_ / "own");
  EXPECT_EQ(own.code, ExitCode::kDone) << own.out;
  // Its weights are taken, and what they were not trained on stays held out.
  BeginRequest from = RequestIn(moved);
  from.overrides = {"init_from.run=" + run.string()};
  const Ended taken = test::TrainToTheEnd(from, scratch_ / "from");
  EXPECT_EQ(taken.code, ExitCode::kDone) << taken.out;
  EXPECT_EQ(JsonAt(scratch_ / "from/run.json").at("data_rules"), JsonAt(run / "run.json").at("data_rules"));
  // After a resume there the record knows more than the config that the run began with.
  ASSERT_EQ(Resume(run).code, ExitCode::kDone);
  RunFiles files(run / "config.resolved.json", {});
  const Registry registry = ScanPlugins(run / "config.resolved.json", plugins, files).registry;
  EXPECT_EQ(CheckRun(run / "config.resolved.json", files.overrides(), registry).run.tokenizer,
            moved / "texts/small.model");
  EXPECT_TRUE(Has(files.moved().same.front(), "model: " + (project_ / "model.json").string() + " is now "))
      << files.moved().same.front();
  again.plugins = plugins;
  const Ended whole = test::ReplayToTheEnd(run, again, scratch_ / "whole");
  EXPECT_EQ(whole.code, ExitCode::kDone) << whole.out;
  EXPECT_EQ(ReadText(scratch_ / "whole/metrics.jsonl"), ReadText(run / "metrics.jsonl"));
  // Another config is another run.
  from.overrides = {"tasks.lines.options.data=" + (scratch_ / "other.jsonl").string()};
  WriteText(scratch_ / "other.jsonl", Lines(20, "two"));
  const Ended other = test::ReplayToTheEnd(run, from, scratch_ / "no");
  EXPECT_EQ(other.code, ExitCode::kBadInput) << other.out;
  EXPECT_TRUE(Has(other.out, "tasks.lines.options.data: ")) << other.out;
}

TEST_F(MovedRun, NamesWhatIsNowhereWhereItLookedAndHowToNameIt) {
  const fs::path data = scratch_ / "far/away.jsonl", gone = project_ / "texts/small.model";
  fs::create_directories(data.parent_path());
  fs::rename(project_ / "data/lines.jsonl", data);
  fs::rename(gone, scratch_ / "far/words.model");
  WriteText(project_ / "lines.jsonl", Lines(20, "two"));
  ASSERT_EQ(::mkfifo((project_ / "small.model").c_str(), 0600), 0);
  const Ended refused = Resume(run_);
  EXPECT_EQ(refused.code, ExitCode::kBadInput);
  for (const std::string& words :
       {"tokenizer: " + gone.string() + " is not there",
        "tasks.lines.options.data: " + (project_ / "data/lines.jsonl").string() + " is not there",
        (project_ / "lines.jsonl").string() + " is there, with other contents",
        (project_ / "small.model").string() + " is a FIFO; expected a file", std::string("lines.jsonl in "),
        run_.string() + ", " + (project_ / "runs").string() + ", " + project_.string(),
        "medley resume " + run_.string() + " KEY=FILE"})
    EXPECT_TRUE(Has(refused.out, words)) << words << "\n" << refused.out;

  std::vector<std::string> named = {"steps=4", "tasks.lines.options.data=" + data.string(),
                                    "tokenizer=" + (scratch_ / "far/words.model").string()};
  WriteText(data, Lines(20, "six"));  // as long as before
  const Ended other = Resume(run_, named);
  EXPECT_EQ(other.code, ExitCode::kBadInput);
  EXPECT_TRUE(Has(other.out, data.string() + " (tasks.lines.options.data) is not what the run began with"))
      << other.out;
  WriteText(data, Lines(20, "one"));
  const auto expected = WithoutAMove();
  const Ended resumed = Resume(run_, named);
  ASSERT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_EQ(test::EndState(run_), expected);
}

// Other contents are taken where the user says so, at the place where they are.
TEST_F(MovedRun, TakesMendedContentsElsewhereWhereTheyAreNamed) {
  const fs::path moved = scratch_ / "moved", data = moved / "data/lines.jsonl";
  fs::rename(project_, moved);
  WriteText(data, Lines(21, "one"));
  EXPECT_EQ(Resume(moved / "runs/r").code, ExitCode::kBadInput);
  const Ended taken = Resume(moved / "runs/r", {"steps=4"}, {data});
  EXPECT_EQ(taken.code, ExitCode::kDone) << taken.out;
  EXPECT_TRUE(Has(taken.out, "changed, as --allow-changed allows: " + data.string())) << taken.out;
}

// Of a run that is over it is noted where its files are, for who asks it.
TEST_F(MovedRun, ARunThatIsOverLearnsWhereItsFilesAre) {
  const fs::path data = scratch_ / "far/away.jsonl";
  fs::create_directories(data.parent_path());
  fs::rename(project_ / "data/lines.jsonl", data);
  const auto open = [&] {
    return test::EndOf([&](Console& console) {
      OpenTrainedRun(run_, console, "cpu", {.allow_config = true, .remember = false});
      return ExitCode::kDone;
    });
  };
  const Ended lost = open();
  EXPECT_EQ(lost.code, ExitCode::kBadInput);
  EXPECT_TRUE(Has(lost.out, "medley resume " + run_.string() + " KEY=FILE")) << lost.out;
  const Ended named = Resume(run_, {"tasks.lines.options.data=" + data.string()});
  EXPECT_EQ(named.code, ExitCode::kDone) << named.out;
  EXPECT_TRUE(Has(named.out, "all 2 steps are done")) << named.out;
  const Ended found = open();
  EXPECT_EQ(found.code, ExitCode::kDone) << found.out;
  EXPECT_FALSE(Has(found.out, " is now ")) << found.out;
}

// An older medley recorded no sums, nor where the run lay.
TEST_F(MovedRun, WhatNoRecordTellsIsTakenAndSaid) {
  ordered_json record = JsonAt(run_ / "run.json");
  record.erase("inputs");
  record.erase("places");
  WriteText(run_ / "run.json", record.dump());
  const fs::path moved = scratch_ / "moved", data = moved / "data/lines.jsonl";
  fs::rename(project_, moved);
  const Ended resumed = Resume(moved / "runs/r");
  ASSERT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "tasks.lines.options.data: " + (project_ / "data/lines.jsonl").string() +
                                   " is not there; " + data.string() +
                                   " is taken for it, and no record tells what was in it"))
      << resumed.out;
}

// A library is code: it is found, and used where the user trusts its place.
TEST_F(MovedRun, FindsPluginsAndTrustsNoNewPlaceByItself) {
  const fs::path moved = scratch_ / "moved", run = moved / "runs/r";
  fs::rename(project_, moved);
  const auto resume = [&](const NamedPlugins& plugins, const std::string& steps) {
    return test::ResumeToTheEnd(run, {.overrides = {steps}, .plugins = plugins});
  };
  const Ended strange = resume({.remember = false}, "steps=3");
  EXPECT_EQ(strange.code, ExitCode::kBadInput);
  EXPECT_TRUE(Has(strange.out, "--plugin-path " + (moved / "plugins").string())) << strange.out;
  const Ended trusted = resume({.paths = {moved / "plugins"}, .remember = false}, "steps=3");
  EXPECT_EQ(trusted.code, ExitCode::kDone) << trusted.out;

  fs::rename(moved / "plugins/lines.so", moved / "plugins/gone.so");
  fs::rename(moved / "plugins", scratch_ / "elsewhere");
  fs::current_path("/");  // which is looked in too, and a test's own has a folder of plugins
  const Ended lost = resume({.allow_config = true, .remember = false}, "steps=4");
  EXPECT_EQ(lost.code, ExitCode::kBadInput);
  EXPECT_TRUE(Has(lost.out, "is not there; looked ") &&
              Has(lost.out, "Name where its plugins are now: --plugin-path DIR"))
      << lost.out;
  fs::rename(scratch_ / "elsewhere/gone.so", scratch_ / "elsewhere/lines.so");
  const Ended named = resume({.paths = {scratch_ / "elsewhere"}, .remember = false}, "steps=4");
  EXPECT_EQ(named.code, ExitCode::kDone) << named.out;
}

// Each looks from a folder of its own, and finds what the first one does.
TEST_F(MovedRun, EveryProcessOfARunFindsTheSame) {
  const fs::path moved = scratch_ / "moved", run = moved / "runs/r", own = run / "rank-1";
  fs::rename(project_, moved);
  fs::create_directory(own);
  for (const char* file : {"run.json", "config.resolved.json"}) fs::copy(run / file, own / file);
  const Registry registry = Registry::Scan({.paths = {moved / "plugins"}});
  RunFiles first(run / "config.resolved.json", {}), second(own / "config.resolved.json", {});
  first.Find(registry);
  second.Find(registry);
  EXPECT_EQ(first.overrides(), second.overrides());
  EXPECT_EQ(first.overrides().size(), 5U) << "model, tokenizer, control text, weights, data";
  EXPECT_EQ(first.moved().config, second.moved().config);
  EXPECT_EQ(first.moved().config, moved / "configs/run.json");
}

}  // namespace
}  // namespace medley
