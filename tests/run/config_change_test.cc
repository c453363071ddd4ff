#include <medley/run/config_change.h>

#include <gtest/gtest.h>

#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/json_text.h>
#include <medley/config/run_config.h>

#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

using nlohmann::ordered_json;
using Changes = std::vector<std::string>;

ordered_json Config() {
  RunConfig config;
  config.seed = 5;
  config.tasks["zoom"].rows = 8;
  return ToJson(config);
}

std::string Refusal(const ordered_json& now, const std::set<std::string>& trained) {
  try {
    CompareConfigs(Config(), now, trained);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

// A receipt has numbers for every epoch: what a save accepts, a resume reads.
TEST(ConfigChange, TheTrainedTasksAreReadOfAVeryLargeStateToo) {
  const ScratchDirectory scratch;
  std::string numbers = "0";
  for (int i = 0; i < 1'100'000; ++i) numbers += ",0";
  WriteText(scratch / "state.json",
            R"({"mixer": {"state": {"tasks": [{"name": "a", "draws": 2}, {"name": "b", "draws": 0}]}},)"
            R"( "receipt": {"state": [)" +
                numbers + "]}}");
  EXPECT_EQ(TrainedTasks(scratch.path()), std::set<std::string>{"a"});
}

TEST(ConfigChange, EveryKeyThatChangedIsSaid) {
  ordered_json now = Config();
  EXPECT_EQ(CompareConfigs(Config(), now, {"zoom"}), Changes());
  now["optimizer"]["learning_rate"] = 0.5;
  now["tasks"]["zoom"]["mode"] = "joint";
  now["budget"] = "1GiB";
  EXPECT_EQ(CompareConfigs(Config(), now, {"zoom"}),
            (Changes{R"(budget: not given -> "1GiB")", "optimizer.learning_rate: 0.001 -> 0.5",
                     R"(tasks.zoom.mode: not given -> "joint")"}));
}

TEST(ConfigChange, WhatOneOfThemLacksHasItsDefault) {
  ordered_json older = Config();
  older.erase("tensorboard");
  older["tasks"].erase("zoom");
  ordered_json now = Config();
  now["tasks"]["zoom"]["rows"] = 16;
  EXPECT_EQ(CompareConfigs(older, now, {"zoom"}), Changes());
}

TEST(ConfigChange, WhatDecidesRowsIsRefusedForTasksThatWereTrained) {
  const std::map<std::string, ordered_json> changes = {{"/seed", 6},
                                                       {"/draws_per_step", 2},
                                                       {"/init_from/run", "elsewhere"},
                                                       {"/tasks/zoom/rows", 4},
                                                       {"/tasks/zoom/variant", "other"},
                                                       {"/tasks/zoom/options/share", 0.5}};
  for (const auto& [pointer, value] : changes) {
    ordered_json now = Config();
    now[ordered_json::json_pointer(pointer)] = value;
    EXPECT_NE(Refusal(now, {"zoom"}).find(" -> " + value.dump()), std::string::npos) << pointer;
    const bool of_the_task = pointer.starts_with("/tasks");
    EXPECT_EQ(Refusal(now, {"zoom_gold"}).empty(), of_the_task) << "nothing was trained on it: " << pointer;
  }
}

TEST(ConfigChange, AnOlderCheckpointsConfigIsTheFileWithItsSum) {
  const ScratchDirectory scratch;
  ordered_json other = Config();
  other["steps"] = 77;
  WriteText(scratch / "config.resolved.json", Config().dump(2));
  WriteText(scratch / "config.resolved.1.json", other.dump(2));
  WriteText(scratch / "config.resolved.2.json", "damaged");
  CheckpointFacts facts;
  facts.config_hash = HashText(JsonText(Config()));
  EXPECT_EQ(TrainedConfig(scratch.path(), facts), Config());
  facts.config_hash = "of none";
  EXPECT_TRUE(TrainedConfig(scratch.path(), facts).is_null());
  facts.config = other;
  EXPECT_EQ(TrainedConfig(scratch.path(), facts), other);
}

TEST(ConfigChange, WhatAdaptersAreCannotChangeAndTheirDropoutCan) {
  ordered_json now = Config();
  now["lora"] = {{"rank", 4}, {"dropout", 0.1}};
  EXPECT_NE(Refusal(now, {}).find("lora.rank: not given -> 4"), std::string::npos);
  ordered_json before = now;
  before["lora"]["dropout"] = 0.2;
  EXPECT_EQ(CompareConfigs(before, now, {}), (Changes{"lora.dropout: 0.2 -> 0.1"}));
  const std::map<std::string, ordered_json> changes = {{"rank", 8},      {"alpha", 3.5},
                                                       {"rslora", true}, {"targets", {"q_proj"}},
                                                       {"tokens", {7}},  {"new_tokens", true}};
  for (const auto& [key, value] : changes) {
    ordered_json other = now;
    other["lora"][key] = value;
    EXPECT_THROW(CompareConfigs(other, now, {}), InputError) << key;
  }
  before["lora"]["pretrained"] = "elsewhere";
  EXPECT_EQ(CompareConfigs(before, now, {}).size(), 2u) << "where they came from";
}

TEST(ConfigChange, PhasesAreThereFromTheStartOrNever) {
  const ordered_json phases = {
      {"warmup_steps", 100}, {"full_steps", 20}, {"correct_steps", 5}, {"allowance", 0.03}};
  ordered_json with = Config(), longer = Config();
  with["phases"] = phases;
  longer["phases"] = phases, longer["phases"]["full_steps"] = 30;
  EXPECT_EQ(CompareConfigs(with, longer, {"zoom"}).size(), 1u) << "a number of theirs";
  for (const auto& [before, now] : {std::pair(Config(), with), std::pair(with, Config())}) {
    try {
      CompareConfigs(before, now, {"zoom"});
      ADD_FAILURE() << "not refused";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("cannot change phases."), std::string::npos) << error.what();
    }
  }
}

// A checkpoint has other tensors then.
TEST(ConfigChange, WhatDecidesTheOptimizersTensorsIsRefusedInWords) {
  const auto refusal = [](const ordered_json& was, const ordered_json& is) {
    ordered_json before = Config(), now = Config();
    before["optimizer"].update(was), now["optimizer"].update(is);
    try {
      CompareConfigs(before, now, {"zoom"});
      return std::string();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  const auto has = [](const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  };
  const ordered_json plain = ordered_json::object();
  EXPECT_TRUE(has(refusal(plain, {{"average", 0.9}}), "cannot change optimizer.average: 0.0 -> 0.9. Put"));
  EXPECT_TRUE(has(refusal({{"average", 0.9}}, plain), "optimizer.average: 0.9 -> 0.0"));
  EXPECT_EQ(refusal({{"average", 0.9}}, {{"average", 0.99}}), "");
  EXPECT_EQ(refusal(plain, {{"moments", "8bit"}}), "") << "which are converted";
  EXPECT_EQ(refusal(plain, {{"name", "sgd"}}), "") << "likewise";
  EXPECT_EQ(refusal(plain, {{"groups", {{{"match", "a*"}, {"rule", "muon"}}}}}), "") << "likewise";
  const ordered_json trend = {{"trend", {{"beta", 0.5}, {"gamma", 0.9}}}};
  EXPECT_TRUE(has(refusal(plain, trend), "optimizer.trend.beta: not given -> 0.5"));
  EXPECT_TRUE(has(refusal(trend, plain), "optimizer.trend.beta: 0.5 -> not given"));
  EXPECT_EQ(refusal(trend, {{"trend", {{"beta", 0.25}, {"gamma", 0.9}}}}), "");
}

}  // namespace
}  // namespace medley
