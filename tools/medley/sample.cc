#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/base/terminal.h>
#include <medley/eval/pictures.h>
#include <medley/plugin/loaded_task.h>
#include <medley/report/sheet.h>
#include <medley/run/run.h>
#include <medley/task/drawings.h>
#include <medley/task/pass_context.h>
#include <medley/task/pass_images.h>

#include "tools/medley/arguments.h"
#include "tools/medley/output.h"
#include "tools/medley/scratch.h"
#include "tools/medley/task_inputs.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

// Leaves the pass from inside its forward.
struct Recorded {};

// Runs a pass up to its forward and keeps what it hands to the model: a look at a task without a model.
class RecordingPass : public PassContext {
 public:
  // On the CPU. Keeps references.
  RecordingPass(LoadedTask& task, const Batch& batch)
      : task_(task), batch_(batch), images_(batch, at::kFloat) {}

  // The inputs of the pass's forward: keys are the names of pictures, carries of earlier passes are black.
  ModelInputs Record(const std::string& pass);

  const Batch& batch() const override { return batch_; }
  at::Tensor Constant(std::string_view name) override;
  at::Tensor Pixels(std::string_view column) override { return images_.Pixels(column); }
  ModelInput Image(std::string_view name) override;
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted) override;
  void Carry(std::string_view, at::Tensor) override {}
  at::Tensor Carried(std::string_view name) override;

 private:
  LoadedTask& task_;
  const Batch& batch_;
  PassImages images_;
  ModelInputs inputs_;
  bool recorded_ = false;
};

ModelInputs RecordingPass::Record(const std::string& pass) {
  recorded_ = false;
  try {
    task_.Run(pass, *this);
  } catch (...) {
    // The host wraps what leaves a task's code, so it is not the type that says whether this was ours.
    if (!recorded_) throw;
  }
  if (!recorded_)
    throw Error("task '" + task_.info().name + "', pass '" + Printable(pass) +
                "' made no forward of the model");
  return inputs_;
}

at::Tensor RecordingPass::Constant(std::string_view name) { return task_.Constant(name, at::kCPU); }

ModelInput RecordingPass::Image(std::string_view name) {
  if (!batch_.HasColumn(name)) images_.Carry(name, Carried(name));
  ModelInput image = images_.Image(name);
  image.key = name;
  return image;
}

ModelOutputs RecordingPass::Forward(const ModelInputs& inputs, const WantedOutputs&) {
  inputs_ = inputs;
  recorded_ = true;
  throw Recorded{};
}

at::Tensor RecordingPass::Carried(std::string_view) {
  for (const auto& [column, tensor] : batch_.columns()) {
    if (tensor.scalar_type() == at::kByte && tensor.dim() == 4) return at::zeros(tensor.sizes(), at::kFloat);
  }
  throw Error("task '" + task_.info().name +
              "' carries something into a pass and has no picture that shows its shape");
}

namespace fs = std::filesystem;

const ModelInput* Find(const ModelInputs& inputs, std::string_view name) {
  const auto found =
      std::find_if(inputs.begin(), inputs.end(), [&](const ModelInput& i) { return i.name == name; });
  return found == inputs.end() ? nullptr : &*found;
}

// What is learned: in green on a terminal, in [brackets] elsewhere.
void PrintLearned(const std::string& text) {
  static const bool in_colour = IsTerminal(stdout);
  if (!in_colour) {
    std::cout << '[' << text << ']';
    return;
  }
  // Past std::cout, which shows codes as text.
  const auto put = [](const char* code) {
    std::cout.flush();
    std::fputs(code, stdout);
    std::fflush(stdout);
  };
  put("\x1b[32m");
  std::cout << text;
  put("\x1b[0m");
}

// One row of tokens as text, what is learned marked.
void PrintRow(const Tokenizer& tokenizer, const at::Tensor& tokens, std::int64_t length,
              const std::set<std::int64_t>& learned) {
  const auto* ids = tokens.const_data_ptr<std::int64_t>();
  for (std::int64_t begin = 0; begin < length;) {
    const bool is_learned = learned.count(begin) != 0;
    std::int64_t end = begin;
    while (end < length && (learned.count(end) != 0) == is_learned) ++end;
    const std::string part = Printable(tokenizer.Decode(std::vector<std::int64_t>(ids + begin, ids + end)));
    if (is_learned) {
      PrintLearned(part);
    } else {
      std::cout << part;
    }
    begin = end;
  }
}

// `is_learned`: what it names is, where it names something.
void PrintTexts(const Tokenizer& tokenizer, const ModelInputs& inputs, bool is_learned) {
  const ModelInput* input = Find(inputs, "tokens");
  if (input == nullptr || input->tensor.dim() != 2) return;
  const at::Tensor tokens = input->tensor.contiguous();
  const std::int64_t width = tokens.size(1);
  const ModelInput* lengths = Find(inputs, "lengths");
  std::vector<std::set<std::int64_t>> learned(static_cast<std::size_t>(tokens.size(0)));
  if (const ModelInput* supervised = Find(inputs, "supervised"); is_learned && supervised != nullptr) {
    const at::Tensor flat = supervised->tensor.contiguous();
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      const std::int64_t index = flat.const_data_ptr<std::int64_t>()[i];
      learned.at(static_cast<std::size_t>(index / width)).insert(index % width);
    }
  }
  for (std::int64_t row = 0; row < tokens.size(0); ++row) {
    const std::int64_t length = lengths == nullptr ? width : lengths->tensor[row].item<std::int64_t>();
    std::cout << "  " << row + 1 << ": ";
    PrintRow(tokenizer, tokens[row], length, learned[static_cast<std::size_t>(row)]);
    std::cout << '\n';
  }
}

// `tokenizer` null: there is no text.
void PrintPass(const Tokenizer* tokenizer, const PassInfo& pass, const ModelInputs& inputs) {
  std::string images;
  for (const ModelInput& input : inputs) {
    if (input.name == "images") images += (images.empty() ? "" : ", ") + input.key;
  }
  std::cout << "pass " << pass.name << ", looks at: " << (images.empty() ? "no picture" : images)
            << (pass.decodes_image ? ", draws a picture" : "")
            << (pass.HasGradient() ? "" : ", learns nothing") << '\n';
  if (tokenizer != nullptr) return PrintTexts(*tokenizer, inputs, pass.HasGradient());
  for (const ModelInput& input : inputs)
    std::cout << "  " << input.name << ": " << c10::str(input.tensor.sizes()) << ' '
              << c10::toString(input.tensor.scalar_type()) << '\n';
}

// By column name, in rows.
std::map<std::string, std::vector<Picture>> PictureColumns(const Batch& batch) {
  std::map<std::string, std::vector<Picture>> columns;
  for (const auto& [name, column] : batch.columns()) {
    const at::Tensor pictures = DrawColumn(batch, column);
    if (pictures.defined()) columns[name] = PicturesOf(pictures, batch.size());
  }
  return columns;
}

// A device, a FIFO or a link has the name that it has.
fs::path AsPng(fs::path file) {
  std::error_code ignored;
  const fs::file_type type = fs::symlink_status(file, ignored).type();
  const bool is_named_so = type != fs::file_type::not_found && type != fs::file_type::regular;
  const bool is_another = IsNamedAsAnother(OutputKind::kSheet, file);  // which is refused
  if (!is_named_so && !is_another && file.extension() != ".png") file += ".png";
  return file;
}

// A row of the sheet is a row of the batch.
void WriteSheet(const std::map<std::string, std::vector<Picture>>& columns, std::int64_t rows,
                const OutputFileOption& out) {
  std::vector<std::vector<Picture>> cells(static_cast<std::size_t>(rows));
  std::vector<std::string> names;
  for (const auto& [name, pictures] : columns) {
    names.push_back(name);
    for (std::size_t row = 0; row < pictures.size(); ++row) cells[row].push_back(pictures[row]);
  }
  out.Write(EncodePng(MakeSheet(cells, names)));
  (out.is_stream() ? std::cerr : std::cout)
      << "wrote " << out.path().string() << " (columns: " << JoinNames(names) << ")\n";
}

// Each by itself, as `medley generate --image` takes them.
void WritePictures(const std::map<std::string, std::vector<Picture>>& columns,
                   const OutputFolderOption& folder) {
  for (const auto& [name, pictures] : columns) {
    for (std::size_t row = 0; row < pictures.size(); ++row) {
      folder.Write(OutputKind::kPicture, name + "-" + std::to_string(row + 1) + ".png",
                   EncodePng(pictures[row]));
    }
  }
  std::cout << "wrote the pictures one by one into " << folder.path().string() << '\n';
}

RunInputs WithoutConfig(const std::string& task, const fs::path& scratch, const NamedPlugins& plugins,
                        const std::vector<std::string>& overrides) {
  const Registry registry = Registry::Scan({.paths = plugins.paths});
  registry.RequireNamed();
  try {
    return InputsOfTask(task, registry, scratch, plugins, overrides);
  } catch (const NeedsConfig& needs) {
    throw InputError("task '" + Printable(task) + "': " + needs.why + "; name a run config: --config RUN");
  }
}

}  // namespace

int RunSample(int argc, char** argv) {
  CLI::App app(
      "Looks at a task's examples before training it: what each pass shows to the model, with what is "
      "learned in colour on a terminal and in [brackets] elsewhere, and a sheet of the pictures.",
      "medley sample");
  std::string task_name, variant;
  fs::path config;
  OutputFileOption out(OutputKind::kSheet);
  OutputFolderOption pictures;
  NamedPlugins plugins;
  std::int64_t rows = 8;
  app.add_option("TASK", task_name, "the task")->required();
  app.add_option("--config", config,
                 "the run config with model, tokenizer and options (default: a model that the task fits)");
  app.add_option("--rows", rows, "examples")->check(WholeNumber(1, 1000))->capture_default_str();
  app.add_option("--variant", variant, "of the task (default: the config's)");
  out.AddTo(app, "--out", "the picture sheet, a .png (default: sample-TASK.png)");
  pictures.AddTo(app, "--pictures", "a directory for the pictures one by one, as medley generate takes them");
  AddPlugins(app, plugins);
  if (!ParseArguments(app, argc, argv)) return 0;

  out.Name(AsPng(out.is_named() ? out.path() : fs::path("sample-" + task_name)));
  out.Check();
  if (pictures.is_named()) pictures.Check();
  std::vector<std::string> overrides;
  if (!variant.empty()) overrides.push_back("tasks." + task_name + ".variant=" + variant);
  const Scratch scratch;
  RunInputs inputs = config.empty() ? WithoutConfig(task_name, scratch.path(), plugins, overrides)
                                    : CheckInputs(config, overrides, plugins);
  for (const std::string& words : inputs.moved.AllWords()) std::cerr << words << '\n';
  inputs.registry.Require(task_name);
  for (const std::string& line : inputs.registry.Choices({task_name})) std::cerr << line << '\n';
  const auto run = BuildRun(std::move(inputs), Purpose::kSample);
  LoadedTask& task = run->host->Get(run->forms.Own(task_name));
  const auto seed = TaskSeed(static_cast<std::uint64_t>(run->config.seed), task_name);
  const Batch batch = task.Sample({seed, 0, rows}).To(at::kCPU);  // as a pass sees it
  RecordingPass pass(task, batch);
  for (const PassInfo& info : task.variant().passes)
    PrintPass(run->tokenizer.get(), info, pass.Record(info.name));
  const auto columns = PictureColumns(batch);
  if (columns.empty()) return 0;
  WriteSheet(columns, rows, out);
  if (pictures.is_named()) WritePictures(columns, pictures);
  return 0;
}

}  // namespace medley
