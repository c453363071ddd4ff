// One draw of a task as tools/bench/eager needs it: what its passes hand to the model and what came of it, in
// files; then a step over it whenever a line says so.
#include <ATen/core/grad_mode.h>
#include <torch/headeronly/version.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/checkpoint/checkpoint_search.h>
#include <medley/checkpoint/load_weights.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/model/agent/agent_inputs.h>
#include <medley/model/asked_losses.h>
#include <medley/run/run.h>
#include <medley/step/passes/pass_runner.h>
#include <medley/task/pass_images.h>
#include <medley/text/special_tokens.h>
#include <medley/weights/model_config_file.h>
#include <medley/weights/safetensors.h>

#include "tools/bench/bench.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Forwarded {
  ModelInputs inputs;
  WantedOutputs wanted;
  ModelOutputs outputs;
};

// The same model; what it was last given and gave is kept: of losses the logits that they are of.
class Recorder : public bench::ModelView {
 public:
  Recorder(const Model& model, Forwarded& last) : ModelView(model), last_(last) {}

  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const override {
    const AskedLosses asked(spec(), wanted, /*of_logits=*/true);
    last_ = {inputs, asked.wanted(), model().Forward(inputs, asked.wanted(), context)};
    ModelOutputs outputs = last_.outputs;
    asked.AddTo(outputs, inputs);
    return outputs;
  }

 private:
  Forwarded& last_;
};

struct Draw {
  LoadedTask& task;
  Batch batch;
  Execution execution;
};

struct Files {
  std::vector<Parameter> tensors;
  Json facts;
};

// The pictures' errors differ in what they look at, which only the tasks' code says.
Json TermFacts(const Draw& draw, const TermInfo& term, const TermLoss& loss, const TaskConfig& config) {
  Json facts{{"weight", loss.weight}, {"count", loss.count}, {"sum", loss.sum}};
  if (term.name == "control_image") {
    facts["target"] = "image", facts["output"] = "drawing", facts["region_share"] = 0;
  } else if (term.name == "image") {
    facts["target"] = "target", facts["output"] = "image";
    for (const OptionInfo& option : draw.task.info().options) {
      if (option.name != "region_share") continue;
      const auto given = config.options.find(option.name);
      facts["region_share"] = given == config.options.end() ? option.value : std::get<double>(given->second);
    }
  }
  return facts;
}

void AddPictures(const Batch& batch, Files& files) {
  for (const auto& [name, column] : batch.columns()) {
    if (column.scalar_type() == at::kByte && column.dim() == 4)
      files.tensors.push_back({"picture." + name, batch.Picture(name, at::kFloat)});
  }
}

void AddLabels(const Tokenizer& tokenizer, Json& facts) {
  for (std::size_t i = 1; i <= AgentInputs::kMaxImages; ++i)
    facts["labels"].push_back(tokenizer.Encode(ImageLabel(i)));
  facts["closing"] = tokenizer.Encode(kImageEnd);
}

void AddPasses(const Run& run, const Draw& draw, Files& files) {
  const at::NoGradGuard no_grad;
  Forwarded last;
  const Recorder recorder(*run.model, last);
  MicroBatch micro({.task = draw.task, .model = recorder, .device = run.device}, draw.batch);
  for (const PassInfo& pass : draw.task.variant().passes) {
    Json facts{{"name", pass.name}, {"images", Json::array()}};
    for (const auto& [term, sum] : micro.RunPass(pass)) facts["sums"][term] = sum.item<double>();
    for (const ModelInput& input : last.inputs) {
      if (input.name == "images") {
        facts["images"].push_back(NameOfKey(input.key));
      } else {
        files.tensors.push_back({pass.name + "." + input.name, input.tensor});
      }
    }
    for (const std::string_view wanted : last.wanted) {
      facts["wanted"].push_back(wanted);
      files.tensors.push_back({pass.name + "." + std::string(wanted), last.outputs.find(wanted)->second});
    }
    files.facts["passes"].push_back(facts);
  }
}

void AddStep(Run& run, const Draw& draw, Files& files) {
  const std::string& name = draw.task.info().name;
  const StepLosses losses = run.executor->Run({{&draw.task, &draw.batch, &draw.execution}});
  for (const TermInfo& term : draw.task.variant().terms) {
    files.facts["terms"][term.name] =
        TermFacts(draw, term, losses.at(name).at(term.name), run.forms.Own(name).settings);
  }
  for (const Parameter& parameter : run.model->parameters()) {
    if (parameter.tensor.grad().defined())
      files.tensors.push_back({"gradient." + parameter.name, parameter.tensor.grad()});
  }
}

void Write(const fs::path& folder, const Files& files) {
  std::ofstream tensors(folder / "draw.safetensors", std::ios::binary);
  WriteSafetensors(files.tensors, {}, [&](const void* bytes, std::size_t size) {
    tensors.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  });
  std::ofstream facts(folder / "draw.json");
  facts << files.facts.dump(1) << '\n';
  if (!tensors.flush() || !facts.flush()) throw Error("cannot write to " + folder.string());
}

fs::path LoadNewest(const fs::path& checkpoint_or_run, const fs::path& directory, const Run& run) {
  Console console(stderr);
  fs::path checkpoint = checkpoint_or_run;
  if (checkpoint_or_run == directory) {
    const auto found = FindCheckpoint(directory, OnDamage::kSkip, console);
    if (!found) throw InputError(directory.string() + " holds no checkpoint");
    checkpoint = found->path;
  }
  LoadWeights(checkpoint, run.model->parameters(), {"*"}, run.Adapted());
  return checkpoint;
}

void Serve(const std::string& from, const std::string& name, const fs::path& folder,
           const std::vector<std::string>& overrides) {
  const fs::path given = fs::canonical(from);
  const bool is_checkpoint = fs::exists(given / kManifestFile);
  const fs::path directory = is_checkpoint ? given.parent_path() : given;
  const auto run =
      BuildRun(CheckInputs(NewestConfig(directory), overrides, {}, RunAge::kBegun), Purpose::kTrain);
  const fs::path checkpoint = LoadNewest(given, directory, *run);

  const Form form = run->forms.Own(name);
  LoadedTask& task = run->host->Get(form);
  const std::uint64_t seed = TaskSeed(static_cast<std::uint64_t>(run->config.seed), name);
  const Draw draw{task, task.Sample({seed, 0, form.settings.rows}), run->Configured(form)};
  Files files{.tensors = {},
              .facts = {{"torch", TORCH_VERSION},
                        {"model", ToJson(run->model_file->config, run->model_file->info)},
                        {"checkpoint", checkpoint.string()},
                        {"rows", draw.batch.size()},
                        {"mode", ModeName(draw.execution.way.mode)}}};
  AddLabels(*run->tokenizer, files.facts);
  AddPictures(draw.batch, files);
  AddPasses(*run, draw, files);
  AddStep(*run, draw, files);
  Write(folder, files);

  std::printf("ready\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line) && line == "step";) {
    const bench::Cost cost =
        bench::Step(run->device, *run->model, *run->executor, {&draw.task, &draw.batch, &draw.execution});
    std::printf("%.6f %lld\n", cost.milliseconds, static_cast<long long>(cost.peak));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: medley_bench_step RUN|CHECKPOINT TASK FOLDER [key=value...]\n"
                 "writes FOLDER/draw.json and draw.safetensors; then runs a step for each line \"step\"\n");
    return 2;
  }
  try {
    medley::Serve(argv[1], argv[2], argv[3], {argv + 4, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "medley_bench_step: %s\n", error.what());
    return 1;
  }
  return 0;
}
