// A run's page as a browser shows it.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/page/run_page.h>
#include <medley/report/event_file.h>
#include <medley/report/tensorboard.h>

#include "tests/report/made_picture.h"
#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"
#include "tests/words.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Has;
using test::Shell;

// "" where there is none.
std::string Browser() {
  for (const char* name : {"chromium-headless-shell", "chromium"}) {
    if (Shell("command -v " + std::string(name) + " 2>&1").code == 0) return name;
  }
  return "";
}

constexpr int kTasks = 22;

std::string TaskName(int task) { return "imagine_after_move_" + std::to_string(task); }

json ScoreOf(int task, double value) {
  return {{"metric", "found"},
          {"better", task % 2 == 0 ? "higher" : "lower"},
          {"value", value},
          {"low", value - .05},
          {"high", value + .05},
          {"chance", .1},
          {"trivial", {{"input", .3}}},
          {"rows", 512},
          {"loss", 1 - value}};
}

// The logs of a run of so many steps: a draw of one task a step, an evaluation every thousand, predictions.
void WriteLogs(const fs::path& run, int steps) {
  std::ofstream metrics(run / "metrics.jsonl"), timing(run / "timing.jsonl");
  for (int step = 1; step <= steps; ++step) {
    const int task = step % kTasks;
    const double wave = 2 + std::sin(.01 * step) + (step == steps / 2 ? 7 : 0);
    json line = {{"step", step},
                 {"draws", {{{"task", TaskName(task)}, {"begin", 0}, {"rows", 8}}}},
                 {"terms", {{TaskName(task), {{"picture", {{"mean", wave}, {"weighted", wave}}}}}}},
                 {"grad_norm", wave},
                 {"lr", .001}};
    if (step % 1000 == 0) {
      for (int scored = 0; scored < kTasks; ++scored)
        line["eval"][TaskName(scored)] = ScoreOf(scored, .5 + .3 * std::sin(step));
    }
    metrics << line << '\n';
    timing << json{{"step", step},
                   {"rows_per_second", 80 + wave},
                   {"memory_now", 1000000},
                   {"memory_peak", 5000000 * wave}}
           << '\n';
    if (step % 5000 != 0) continue;
    const json change = {{"from", "full"}, {"to", "predict"}, {"why", "its time"}};
    metrics << json{{"step", step},
                    {"transition", change},
                    {"jump",
                     {{"direction", "line"},
                      {"steps", 20},
                      {"gain", -.1},
                      {"standard_error", .02},
                      {"row_forwards", 64},
                      {"taken", false},
                      {"why", "it gains nothing"}}}}
            << '\n';
    timing << json{{"step", step},
                   {"transition", change},
                   {"memory_before", 900000},
                   {"memory_after", 1000000},
                   {"memory_peak", 1500000},
                   {"memory_held", 2000000},
                   {"weight_copies", 1}}
           << '\n';
  }
}

void WriteRun(const fs::path& run, int steps) {
  WriteText(run / "run.json", R"({"medley": "0.1.0", "seed": 7, "device": "cpu", "cpu": "one"})");
  WriteText(run / "config.resolved.json", json{{"steps", steps}, {"note", "</script><b>"}}.dump());
  WriteLogs(run, steps);
  json plan = {{"budget", 9000000},
               {"floor", {{"weights", 400000}, {"optimizer", 800000}, {"other", 0}}},
               {"tasks", json::array()}};
  json receipt = {{"tasks", json::object()}, {"stages", {{{"tasks", json::object()}}}}};
  for (int task = 0; task < kTasks; ++task) {
    plan["tasks"].push_back({{"task", TaskName(task)},
                             {"mode", "joint"},
                             {"rows", 8},
                             {"micro_rows", 4},
                             {"gradients", 400000},
                             {"saved", 2000000 + 100000 * task},
                             {"transient", 300000},
                             {"margin", 0},
                             {"predicted_peak", 5000000}});
    receipt["tasks"][TaskName(task)] = {{{"mode", "joint"},
                                         {"micro_rows", 4},
                                         {"measured_peak", {{"largest", 4800000}}},
                                         {"overflows", {{"count", 0}}}}};
    receipt["stages"][0]["tasks"][TaskName(task)] = {{"asked", 1. / kTasks}, {"delivered", 1. / kTasks},
                                                     {"rows", 8000},         {"steps", 1000},
                                                     {"seconds", 60},        {"items", 500}};
  }
  WriteText(run / "plan.json", plan.dump());
  WriteText(run / "receipt.json", receipt.dump());
  WriteText(
      run / "weights.jsonl",
      json{
          {"step", 2}, {"cause", "edit"}, {"name", ""}, {"words", "a 1 -> 2"}, {"after", {{TaskName(0), .6}}}}
              .dump() +
          "\n");
  WriteText(run / "eval.json", json{{"step", steps}}.dump());
  EventFile events(run / kTensorBoardLog, 0);
  for (const int step : {1000, 2000}) {
    for (int task = 0; task < kTasks; ++task) {
      events.Scalar("score/" + TaskName(task), step, .5);
      events.Image("sheet/" + TaskName(task), step, MadePicture(120, 200 + step / 1000));
    }
  }
  events.Sync();
  WriteText(run / ("sheet-" + TaskName(0) + ".png"), EncodePng(MadePicture(120, 300)));
  WriteText(run / ("sheet-" + TaskName(0) + ".txt"), "row 1\n  question  \"left?\"\n");
}

// What is told of the page from inside: errors first, before any of its own scripts.
constexpr const char* kErrors =
    R"js(window.wrong = []; addEventListener("error", event => wrong.push(event.message));
console.error = (...words) => wrong.push(words.join(" "));)js";
constexpr const char* kSeen = R"js(
const slider = document.getElementById("evaluation"), image = () => document.querySelector("#sheets img").src.length;
const last = image(), count = which => document.querySelectorAll(which).length;
slider.value = 0;
slider.dispatchEvent(new Event("input"));
document.documentElement.dataset.seen = JSON.stringify({
  wrong, window: innerWidth, wide: document.documentElement.scrollWidth, ground: getComputedStyle(document.body).backgroundColor,
  parts: [...document.querySelectorAll("main > section")].map(one => one.id), charts: count("svg[role=img]"),
  nameless: count("svg[role=img]:not([aria-label]), img:not([alt])"), tables: count("table"), headings: count("h1, h2, h3"),
  over: [...document.querySelectorAll("main *, header *")].filter(one => !one.closest(".wide, .large, pre") && one.getBoundingClientRect().right > innerWidth)
    .slice(0, 5).map(one => one.tagName + " " + one.textContent.slice(0, 40)), evaluations: +slider.max + 1, moved: last !== image()});)js";

std::string WithProbe(std::string page) {
  const auto put = [&](const std::string& before, const std::string& script) {
    page.insert(page.find(before), "<script>" + script + "</script>");
  };
  put("<style>", kErrors);
  put("</body>", kSeen);
  return page;
}

class BrowserPage : public ::testing::Test {
 protected:
  void SetUp() override {
    browser_ = Browser();
    if (browser_.empty()) GTEST_SKIP() << "no Chromium is here: tools/setup --tests";
  }
  json Look(const fs::path& page, int width, bool dark) const {
    const std::string profile = (scratch_ / "profile").string();
    const test::CommandResult shown =
        Shell(browser_ + " --headless --no-sandbox --disable-gpu --user-data-dir=" + profile +
              " --enable-logging=stderr" + " --window-size=" + std::to_string(width) +
              ",900 --blink-settings=preferredColorScheme=" + (dark ? "0" : "1") + " --dump-dom file://" +
              page.string() + " 2>" + (scratch_ / "said").string());
    EXPECT_EQ(shown.code, 0) << ReadText(scratch_ / "said");
    EXPECT_FALSE(Has(ReadText(scratch_ / "said"), "CONSOLE")) << ReadText(scratch_ / "said");
    const std::string mark = "data-seen=\"";
    const std::size_t begin = shown.out.find(mark);
    if (begin == std::string::npos) return nullptr;
    std::string seen = shown.out.substr(begin + mark.size());
    seen.resize(seen.find('"'));
    for (std::size_t at; (at = seen.find("&quot;")) != std::string::npos;) seen.replace(at, 6, "\"");
    return json::parse(seen);
  }

  std::string browser_;
  ScratchDirectory scratch_;
};

TEST_F(BrowserPage, OfTheGamesLengthIsSmallAndShowsAllItsPartsAtEveryWidthLightAndDark) {
  const fs::path run = scratch_ / "game";
  fs::create_directory(run);
  WriteRun(run, 45000);
  const std::string page = MakeRunPage({.runs = {run}, .refresh_seconds = 0}).text;
  EXPECT_LT(page.size(), 3u << 20);
  WriteText(scratch_ / "page.html", WithProbe(page));
  std::vector<std::string> grounds;
  for (const auto& [width, dark] : {std::pair{1280, false}, {1280, true}, {400, false}, {400, true}}) {
    const json seen = Look(scratch_ / "page.html", width, dark);
    const std::string what = std::to_string(width) + (dark ? " dark: " : " light: ") + seen.dump();
    ASSERT_TRUE(seen.is_object()) << what;
    EXPECT_EQ(seen.at("wrong"), json::array()) << what;
    EXPECT_EQ(seen.at("parts"), json({"result", "memory", "losses", "scores", "mixture", "phases", "sheets"}))
        << what;
    EXPECT_EQ(seen.at("window"), width) << what;
    EXPECT_LE(seen.at("wide"), width) << what << ": it scrolls sideways";
    EXPECT_EQ(seen.at("nameless"), 0) << what;
    EXPECT_GT(seen.at("charts"), 2 * kTasks) << what;
    EXPECT_GT(seen.at("tables"), kTasks) << what;
    EXPECT_EQ(seen.at("evaluations"), 3) << what;
    EXPECT_TRUE(seen.at("moved")) << what << ": the slider shows another evaluation";
    grounds.push_back(seen.at("ground"));
  }
  EXPECT_NE(grounds[0], grounds[1]);
  EXPECT_EQ(grounds[0], grounds[2]);
}

TEST_F(BrowserPage, OfTwoShortRunsSideBySideHasNoError) {
  std::vector<fs::path> runs;
  for (const char* name : {"one", "other"}) {
    runs.push_back(scratch_ / name);
    fs::create_directory(runs.back());
    WriteRun(runs.back(), 2000);
  }
  WriteText(scratch_ / "page.html", WithProbe(MakeRunPage({.runs = runs, .refresh_seconds = 0}).text));
  const json seen = Look(scratch_ / "page.html", 1280, false);
  ASSERT_TRUE(seen.is_object());
  EXPECT_EQ(seen.at("wrong"), json::array());
  EXPECT_LE(seen.at("wide"), 1280);
}

}  // namespace
}  // namespace medley
