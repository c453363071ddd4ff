// Optimizer states of each kind as medley 0.1.0 saved them; see tests/old_runs/README.md.
#include <gtest/gtest.h>
#include <medley/base/durable_file.h>
#include <medley/checkpoint/checkpoint.h>
#include <medley/checkpoint/checkpoint_facts.h>
#include <medley/weights/safetensors.h>

#include <fstream>

#include "tests/report/scratch_directory.h"
#include "tests/update/optimizer_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;
namespace fs = std::filesystem;

struct Kind {
  const char* name;
  at::ScalarType dtype = at::kFloat;
  OptimizerConfig config = Plain();
  std::int64_t ranks = 1;
};

std::vector<Kind> Kinds() {
  std::vector<Kind> kinds = {{"plain"}, {"bf16"}, {"8bit"}, {"muon"}, {"phases"}, {"adapters"}, {"divided"}};
  kinds[1].config.moments = MomentsKind::kBf16;
  kinds[2].config.moments = kinds[6].config.moments = MomentsKind::k8Bit;
  for (const std::size_t i : {3U, 4U, 5U}) kinds[i].config.average = 0.9;
  kinds[3].config.name = RuleName::kMuon;
  kinds[3].config.trend = TrendConfig();
  kinds[3].dtype = kinds[5].dtype = at::kBFloat16;
  kinds[4].config.keeps_line = kinds[5].config.keeps_line = kinds[5].config.keeps_last_step = true;
  kinds[6].config.shard = true;
  kinds[6].ranks = 2;
  return kinds;
}

fs::path FolderOf(const Kind& kind) {
  return fs::path(MEDLEY_SOURCE_DIR) / "tests/old_runs/0.1.0" / kind.name / "step-00000004";
}

// Its tensors alone: what a run keeps beside them is not meant.
void LoadTensors(const Kind& kind, const TrainingState& state) {
  const ScratchDirectory scratch;
  for (const fs::path& file : ListDirectory(FolderOf(kind))) {
    if (file.extension() == ".safetensors") fs::copy(file, scratch / file.filename().string());
  }
  WriteText(scratch / "state.json", "{}");
  LoadCheckpoint(scratch.path(), state);
}

// A model of the parameters that it has: in its order, hidden what Muon has, and frozen what has no state.
ListedModel ModelOf(const Kind& kind) {
  const SavedTensors weights = MapSafetensors(FolderOf(kind) / kModelFile),
                     state = MapSafetensors(FolderOf(kind) / kOptimizerFile);
  std::vector<std::string> order;
  for (const auto& [name, tensor] : weights) order.push_back(name);
  if (kind.ranks > 1) {  // the model's own, by which the optimizer was divided
    order.clear();
    std::ifstream file(fs::path(MEDLEY_SOURCE_DIR) / "tests/update/parameter_order.txt");
    for (std::string name; std::getline(file, name);) order.push_back(name);
  }
  std::vector<Parameter> parameters;
  for (const std::string& name : order) {
    const bool hidden = state.count(name + ".momentum") > 0;
    parameters.push_back({.name = name,
                          .tensor = at::zeros_like(weights.at(name), kind.dtype),
                          .frozen = !hidden && state.count(name + ".step") == 0,
                          .hidden = hidden});
  }
  return ListedModel(std::move(parameters));
}

TrainingState StateOf(const Optimizer& optimizer) {
  TrainingState state{optimizer.weights().list(), optimizer.State(), {}};
  state.parts = optimizer.Parts();
  state.convert_optimizer = [&optimizer](SavedTensors& saved) {
    const std::vector<std::string> words = optimizer.ConvertState(saved);
    EXPECT_TRUE(words.empty()) << words.front();
  };
  return state;
}

void ExpectTheFile(const fs::path& file, std::vector<Parameter> own) {
  const SavedTensors saved = MapSafetensors(file);
  EXPECT_EQ(saved.size(), own.size()) << file;
  for (const Parameter& parameter : own) {
    const auto found = saved.find(parameter.name);
    ASSERT_NE(found, saved.end()) << file << " has no " << parameter.name;
    EXPECT_TRUE(at::equal(found->second, parameter.tensor.detach())) << parameter.name;
  }
}

TEST(SavedState, OfEveryKindIsReadAndSavedAgainUnderTheSameNames) {
  for (const Kind& kind : Kinds()) {
    SCOPED_TRACE(kind.name);
    for (std::int64_t rank = 0; rank < kind.ranks; ++rank) {
      const ListedModel model = ModelOf(kind);
      Optimizer optimizer(model, kind.config, {}, {rank, kind.ranks});
      LoadTensors(kind, StateOf(optimizer));
      ExpectTheFile(FolderOf(kind) / kOptimizerFile, optimizer.State());
      if (kind.ranks > 1) {
        ExpectTheFile(FolderOf(kind) / PartFile({rank, kind.ranks}), WithPlaces(optimizer.Parts()));
        continue;
      }
      const ScratchDirectory scratch;
      SaveCheckpoint(scratch.path(), StateOf(optimizer),
                     {.step = 4, .logs = {}, .evaluated = {}, .config_hash = ""});
      for (const char* file : {kModelFile, kOptimizerFile})
        EXPECT_EQ(ReadText(scratch / "step-00000004" / file), ReadText(FolderOf(kind) / file)) << file;
    }
  }
}

// As a whole, and divided among others.
TEST(SavedState, InPartsGoesOnByAnotherRule) {
  const Kind kind = Kinds().back();
  for (const std::int64_t ranks : {1, 3}) {
    for (const RuleName name : {RuleName::kSgd, RuleName::kAdamW}) {
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        OptimizerConfig config = Plain();
        config.name = name;
        config.shard = ranks > 1;
        const ListedModel model = ModelOf(kind);
        Optimizer optimizer(model, config, {}, {rank, ranks});
        TrainingState state = StateOf(optimizer);
        state.convert_optimizer = [&](SavedTensors& saved) {
          EXPECT_FALSE(optimizer.ConvertState(saved).empty());
        };
        LoadTensors(kind, state);
        for (const TensorPart& part : optimizer.Parts()) state.optimizer.push_back(part.tensor);
        for (const Parameter& tensor : state.optimizer)
          EXPECT_TRUE(tensor.tensor.numel() < 64 || tensor.tensor.any().item<bool>()) << tensor.name;
      }
    }
  }
}

}  // namespace
}  // namespace medley
