// docs/embedding.md, followed by a reader: its program, built with the package alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/plugin/test_files.h"
#include "tests/tools/installed.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Embedding = test::InstalledTest;

std::vector<json> LinesOf(const fs::path& file) {
  std::vector<json> lines;
  std::istringstream text(ReadText(file));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

TEST_F(Embedding, AProgramBeginsARunEditsItsWeightsAndResumesIt) {
  fs::copy(fs::path(MEDLEY_GUIDE) / "embedding", directory_ / "project");
  ASSERT_NO_FATAL_FAILURE(Build());
  const std::string shared = Prefix() + "/share/medley/configs/";
  Write("weights.json", R"({"weights": {"control": 1, "zoom_gold": 0}})");
  Write("edit.json", R"({"weights": {"control": 0, "zoom_gold": 1}})");
  Write("run.json", json{{"model", shared + "models/agent-tiny.json"},
                         {"tokenizer", shared + "tokenizers/small.model"},
                         {"control_text", shared + "texts/control.txt"},
                         {"weights", "weights.json"},
                         {"steps", 40},
                         {"threads", 1},
                         {"plan", false},
                         {"tasks", {{"control", {{"rows", 2}}}, {"zoom_gold", {{"rows", 2}}}}}}
                        .dump());
  const auto ran = test::Shell("cd " + directory_.string() + " && " + Prefix() +
                               "/../project/build/embedding run.json run edit.json 2>&1");
  ASSERT_EQ(ran.code, 0) << ran.out;
  EXPECT_TRUE(test::Has(ran.out, "after step 10 of 40")) << ran.out;
  EXPECT_TRUE(test::Has(ran.out, "after step 20 of 20")) << ran.out;
  const std::vector<json> steps = LinesOf(directory_ / "run/metrics.jsonl");
  ASSERT_EQ(steps.size(), 20U);
  for (std::size_t step = 0; step < steps.size(); ++step)
    EXPECT_EQ(steps[step].at("draws").at(0).at("task"), step < 10 ? "control" : "zoom_gold") << step;
  const std::vector<json> changes = LinesOf(directory_ / "run/weights.jsonl");
  ASSERT_EQ(changes.size(), 3U);  // the start, the edit, and the line that ends it
  EXPECT_EQ(changes[1].at("cause"), "edit");
  EXPECT_EQ(changes[1].at("step"), 10);
}

}  // namespace
}  // namespace medley
